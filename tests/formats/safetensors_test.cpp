#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "support/errors.h"
#include "support/fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

class SafetensorsTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& header, size_t data_bytes, int64_t claimed_length = -1) {
    const auto path = folder_.path() / "model.safetensors";
    const uint64_t length = claimed_length < 0 ? header.size() : static_cast<uint64_t>(claimed_length);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof(length));
    out << header << std::string(data_bytes, '\0');
    return path;
  }

 private:
  TempFolder folder_;
};

TEST_F(SafetensorsTest, ReadsTensorsAndMetadata) {
  const auto path = write(R"({"__metadata__": {"format": "pt"},
    "b": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [4, 16]},
    "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
    "none": {"dtype": "U8", "shape": [0, 7], "data_offsets": [16, 16]}})",
                          16);
  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b", "none"}));
  EXPECT_EQ(file.get("b").shape(), Shape({2, 3}));
  EXPECT_EQ(file.get("b").dtype(), DType::kBF16);
  EXPECT_EQ(file.get("a").item(), 0);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_ERROR(file.get("c"), kInvalidArgument, "there is no tensor 'c'");
}

TEST_F(SafetensorsTest, EveryLieIsNamed) {
  const auto open = [&](const std::string& header, size_t bytes, int64_t claimed = -1) {
    return SafetensorsFile::open(write(header, bytes, claimed));
  };
  EXPECT_ERROR(open("{}", 0, 1 << 30), kBadFile, "the header claims 1073741824 bytes but the file has 10");
  EXPECT_ERROR(open("{}", 0, INT64_MAX), kBadFile, "the header claims");
  EXPECT_ERROR(open("not json", 0), kBadFile, "not valid JSON");
  EXPECT_ERROR(open("[1]", 0), kBadFile, "is a list, expected an object");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", 4), kBadFile,
               "tensor 'a' of f32 [2] takes 4 bytes");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 3), kBadFile,
               "the tensors end at byte 4 of the data but it has 3");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 9), kBadFile, "but it has 9");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", 8), kBadFile, "(gap)");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                        "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
                    4),
               kBadFile, "(overlap)");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4), kBadFile, "negative size");
  EXPECT_ERROR(
      open(R"({"a": {"dtype": "F32", "shape": [4611686018427387904, 4611686018427387904], "data_offsets": [0, 0]}})",
           0),
      kBadFile, "63 bits");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [4611686018427387904], "data_offsets": [0, 0]}})", 0), kBadFile,
               "takes 0 bytes");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", 4), kBadFile, "data_offsets");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})", 4), kBadFile, "data_offsets");
  EXPECT_ERROR(open(R"({"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}})", 8), kUnsupported, "dtype C64");
  EXPECT_ERROR(open(R"({"a": {"dtype": "F32", "shape": [1]}})", 4), kBadFile, "'data_offsets' is missing");
  EXPECT_ERROR(open(R"({"a": 1, "a": 2})", 0), kBadFile, "given twice");
}

// Random damage to a real file gives an error or a readable file, never a crash.
TEST_F(SafetensorsTest, SurvivesRandomDamage) {
  const auto original = fixture_folders("ops").at(0) / "reference.safetensors";
  std::ifstream in(original, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  std::mt19937 random(3);
  const TempFolder folder;
  int refused = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::string bad = good.substr(0, trial % 3 == 0 ? random() % good.size() : good.size());
    for (int flips = 0; flips < 8 && !bad.empty(); ++flips)
      bad[random() % std::min<size_t>(bad.size(), 40000)] ^= 1 << (random() % 8);
    std::ofstream(folder.path() / "bad", std::ios::binary) << bad;
    try {
      const auto file = SafetensorsFile::open(folder.path() / "bad");
      for (const auto& name : file.names()) file.get(name).to_vector<double>();
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace wick
