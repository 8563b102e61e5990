#include <gtest/gtest.h>

#include <random>
#include <set>

#include "formats/checkpoint.h"
#include "formats/safetensors/safetensors_index.h"
#include "fuzz/harness.h"
#include "support/damaged_files.h"
#include "support/file_bytes.h"

namespace wick {
namespace {

template <typename Open>
void expect_sentences(const std::vector<DamagedFile>& files, const Open& open) {
  for (const DamagedFile& file : files) {
    SCOPED_TRACE(file.what);
    try {
      open(file_in_memory(file.bytes, "bad"));
      ADD_FAILURE() << "no error, expected: " << file.sentence;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "bad: " + file.sentence);
      EXPECT_EQ(error.code(), ErrorCode::kBadFile);
    }
  }
}

Checkpoint parse(std::shared_ptr<const MappedFile> file) { return Checkpoint::parse(std::move(file)); }

TEST(Damage, EverySafetensorsFamilyGetsItsSentence) { expect_sentences(damaged_safetensors(), parse); }

TEST(Damage, EveryGgufFamilyGetsItsSentence) { expect_sentences(damaged_gguf(), parse); }

TEST(Damage, EveryGgmlFamilyGetsItsSentence) { expect_sentences(damaged_ggml(), parse); }

TEST(Damage, EveryIndexFamilyGetsItsSentence) {
  expect_sentences(damaged_indexes(), [](const auto& file) { return read_safetensors_index(*file); });
}

std::span<const std::byte> bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Damage, TruncationAtEveryByteIsRefused) {
  const std::string safetensors = good_safetensors();
  const std::string gguf = good_gguf();
  const std::string index = good_index();
  EXPECT_TRUE(fuzz_checkpoint(bytes_of_text(safetensors)));
  EXPECT_TRUE(fuzz_checkpoint(bytes_of_text(gguf)));
  EXPECT_TRUE(fuzz_index(bytes_of_text(index)));
  for (size_t size = 0; size < safetensors.size(); ++size) {
    EXPECT_FALSE(fuzz_checkpoint(bytes_of_text(safetensors.substr(0, size)))) << size;
  }
  for (size_t size = 0; size < gguf.size(); ++size) {
    EXPECT_FALSE(fuzz_checkpoint(bytes_of_text(gguf.substr(0, size)))) << size;
  }
  for (size_t size = 0; size < index.size(); ++size) {
    EXPECT_FALSE(fuzz_index(bytes_of_text(index.substr(0, size)))) << size;
  }
}

// A file that ends behind a tensor is whole as far as it can tell.
TEST(Damage, TruncatedGgmlIsRefusedButBetweenTensors) {
  const std::string ggml = good_ggml();
  const Checkpoint whole = Checkpoint::parse(file_in_memory(ggml, "good"));
  ASSERT_EQ(whole.entries().size(), 3u);
  std::set<int64_t> ends = {860 + 4 + 5 + 4 + 5};  // of the vocabulary
  for (const TensorEntry& entry : whole.entries()) ends.insert(entry.offset + entry.bytes);
  for (size_t size = 0; size <= ggml.size(); ++size) {
    EXPECT_EQ(fuzz_checkpoint(bytes_of_text(ggml.substr(0, size))), ends.contains(static_cast<int64_t>(size))) << size;
  }
}

// A short fixed run of what the fuzzers do at length: flipped bits, bytes and numbers set to limits, cut and repeated
// pieces. The harness aborts on a finding.
TEST(Damage, SurvivesMutations) {
  std::vector<std::string> seeds = {good_safetensors(), good_gguf(), good_ggml(), good_index()};
  for (const auto& files : {damaged_safetensors(), damaged_gguf(), damaged_ggml(), damaged_indexes()}) {
    for (const DamagedFile& file : files) seeds.push_back(file.bytes);
  }
  std::mt19937 random(7);
  for (const std::string& seed : seeds) {
    for (int trial = 0; trial < 300; ++trial) {
      std::string bytes = seed;
      for (unsigned change = 0; change <= random() % 4 && !bytes.empty(); ++change) {
        const size_t at = random() % bytes.size();
        switch (random() % 5) {
          case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
          case 1: bytes[at] = static_cast<char>(random()); break;
          case 2: bytes.replace(at, 8, std::string(8, random() % 2 ? '\xFF' : '\x7F')); break;
          case 3: bytes.erase(at, random() % 16); break;
          default: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 16));
        }
      }
      fuzz_checkpoint(bytes_of_text(bytes));
      fuzz_index(bytes_of_text(bytes));
      if (trial % 10 == 0) fuzz_tensor_data(bytes_of_text(bytes));
    }
  }
}

}  // namespace
}  // namespace wick
