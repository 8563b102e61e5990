// Audio codecs against what PyTorch computes, and streams against wholes.
#include "models/codecs/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/view.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

Checkpoint reference_of(const std::string& name) {
  return Checkpoint::open(family_folder(name) / "reference.safetensors");
}

// [..., books, frames] as frames of codes one behind the other.
std::vector<int32_t> by_frame(const Tensor& codes) {
  const Tensor last = reshape(codes, {codes.dim(codes.rank() - 2), codes.dim(codes.rank() - 1)});
  return transpose(last, 0, 1).to_vector<int32_t>();
}

double worst(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
  return worst;
}

struct CodecCase {
  const char* folder;
  bool books_first;  // codes are [books, frames] in the reference
  bool encodes;
  const char* audio = "audio";
  const char* encoded = "codes";
  const char* samples = "decoded";
};

std::ostream& operator<<(std::ostream& out, const CodecCase& test) { return out << test.folder; }

class CodecTest : public testing::TestWithParam<CodecCase> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam().folder); }
  std::unique_ptr<Codec> load() const { return load_codec(family_folder(GetParam().folder)); }
  std::vector<int32_t> codes(const char* name = "codes") const {
    const Tensor codes = reference_of(GetParam().folder).get(name);
    return GetParam().books_first ? by_frame(codes) : codes.to_vector<int32_t>();
  }
  std::vector<float> floats(const char* name) const {
    return reference_of(GetParam().folder).get(name).to_vector<float>();
  }
};

TEST_P(CodecTest, DecodesLikePyTorch) {
  const auto codec = load();
  const auto books = static_cast<int64_t>(codes().size()) * codec->facts().frame_samples /
                     static_cast<int64_t>(floats(GetParam().samples).size());
  EXPECT_LT(worst(codec->decode(codes(), books), floats(GetParam().samples)), 5e-5);
}

TEST_P(CodecTest, EncodesLikePyTorch) {
  const auto codec = load();
  EXPECT_EQ(codec->facts().encodes, GetParam().encodes);
  if (!GetParam().encodes) {
    EXPECT_ERROR(codec->encoder(), kUnsupported, "makes sound of codes");
    return;
  }
  const Tensor expected = reference_of(GetParam().folder).get(GetParam().encoded);
  const std::vector<int32_t> right = codes(GetParam().encoded);
  const auto sound = floats(GetParam().audio);
  const int64_t frames =
      (static_cast<int64_t>(sound.size()) + codec->facts().frame_samples - 1) / codec->facts().frame_samples;
  EXPECT_EQ(codec->encode(sound, static_cast<int64_t>(right.size()) / frames), right);
}

TEST_P(CodecTest, PiecesAreTheWholeBitForBit) {
  const auto codec = load();
  const std::vector<int32_t> all = codes();
  const auto whole_size = static_cast<int64_t>(floats(GetParam().samples).size());
  const auto books = static_cast<size_t>(static_cast<int64_t>(all.size()) * codec->facts().frame_samples / whole_size);
  const std::vector<float> whole = codec->decode(all, static_cast<int64_t>(books));
  for (const size_t piece : {1, 3, 7}) {
    const auto stream = codec->decoder(static_cast<int64_t>(books));
    std::vector<float> samples;
    for (size_t at = 0; at < all.size(); at += piece * books) {
      const auto part = stream->push(std::span(all).subspan(at, std::min(piece * books, all.size() - at)));
      samples.insert(samples.end(), part.begin(), part.end());
    }
    const auto rest = stream->finish();
    samples.insert(samples.end(), rest.begin(), rest.end());
    EXPECT_EQ(samples, whole) << piece;
  }
  if (!GetParam().encodes) return;
  const std::vector<float> sound = floats(GetParam().audio);
  const std::vector<int32_t> encoded = codec->encode(sound);
  for (const size_t piece : {1, 61, 500}) {
    if (piece == 1 && sound.size() > 1000) continue;
    const auto stream = codec->encoder();
    std::vector<int32_t> made;
    for (size_t at = 0; at < sound.size(); at += piece) {
      const auto part = stream->push(std::span(sound).subspan(at, std::min(piece, sound.size() - at)));
      made.insert(made.end(), part.begin(), part.end());
    }
    const auto rest = stream->finish();
    made.insert(made.end(), rest.begin(), rest.end());
    EXPECT_EQ(made, encoded) << piece;
  }
}

TEST_P(CodecTest, ThreadsChangeNoBit) {
  const auto codec = load();
  const std::vector<int32_t> all = codes();
  const std::vector<int32_t> few(all.begin(), all.begin() + static_cast<ptrdiff_t>(codec->facts().codebooks * 6));
  const std::vector<float> once = codec->decode(few);
  const ThreadCount threads(3);
  EXPECT_EQ(codec->decode(few), once);
}

TEST_P(CodecTest, RefusesCodesThatThereAreNot) {
  const auto codec = load();
  const auto books = static_cast<size_t>(codec->facts().codebooks);
  std::vector<int32_t> bad(2 * books);
  bad[books] = static_cast<int32_t>(codec->facts().codebook_size);
  EXPECT_ERROR(codec->decode(bad), kInvalidArgument, "of frame 1 is");
  bad[books] = -1;
  EXPECT_ERROR(codec->decode(bad), kInvalidArgument, "is -1, expected 0 to");
  EXPECT_ERROR(codec->decode(std::vector<int32_t>(books + 1)), kInvalidArgument, "no whole number of frames");
  EXPECT_ERROR(codec->decoder(codec->facts().codebooks + 1), kInvalidArgument, "codebooks");
  EXPECT_TRUE(codec->decode({}).size() <= static_cast<size_t>(codec->facts().frame_samples));
}

INSTANTIATE_TEST_SUITE_P(Codecs, CodecTest,
                         testing::Values(CodecCase{"mimi", true, true}, CodecCase{"encodec", true, true},
                                         CodecCase{"lfm2_audio-mimi", true, true, "audio", "encoded"},
                                         CodecCase{"qwen3_tts-tokenizer-12hz", false, true, "audio", "encoded_codes"},
                                         CodecCase{"lfm2_audio-detokenizer", true, false, "", "", "waveform"}),
                         [](const auto& test) {
                           std::string name = test.param.folder;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The makers cut long sound and see less before each cut: what is compared is the whole, and each clip of a batch.
TEST(Qwen3Codec, LongSoundIsNotCut) {
  WICK_NEEDS_FIXTURE("qwen3_tts-tokenizer-12hz");
  const auto codec = load_codec(family_folder("qwen3_tts-tokenizer-12hz"));
  const Checkpoint reference = reference_of("qwen3_tts-tokenizer-12hz");
  EXPECT_LT(worst(codec->decode(reference.get("long_codes").to_vector<int32_t>()),
                  reference.get("long_unchunked").to_vector<float>()),
            5e-5);
  const Tensor batch = reference.get("batch_codes");
  for (int64_t i = 0; i < 2; ++i) {
    const std::vector<float> expected = reference.get(cat("batch_decoded_", i)).to_vector<float>();
    std::vector<int32_t> codes = narrow(batch, 0, i, 1).to_vector<int32_t>();
    codes.resize(expected.size() / static_cast<size_t>(codec->facts().frame_samples) * 16);
    EXPECT_LT(worst(codec->decode(codes), expected), 5e-5) << i;
  }
  const std::vector<float> sound = reference.get("audio").to_vector<float>();
  EXPECT_LT(worst(codec->decode(codec->encode(sound)), reference.get("roundtrip").to_vector<float>()), 5e-5);
}

// Moshi's file beside a config.json that is another model's has the sizes of the one that was released.
TEST(Mimi, MoshisFileNeedsNoConfig) {
  WICK_NEEDS_FIXTURE("lfm2_audio-mimi");
  const TempFolder folder;
  std::filesystem::copy_file(family_folder("lfm2_audio-mimi") / "model.safetensors",
                             folder.path() / "tokenizer.safetensors");
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "lfm2_audio"})";
  EXPECT_ERROR(load_codec(folder.path() / "tokenizer.safetensors"), kBadFile, "[2048, 256] is missing");
}

TEST(Encodec, BandwidthsAreCodebooks) {
  WICK_NEEDS_FIXTURE("encodec");
  const auto codec = load_codec(family_folder("encodec"));
  EXPECT_EQ(codec->codebooks_for(20), 4);
  EXPECT_ERROR(codec->codebooks_for(3), kInvalidArgument, "has bandwidths of 20 kbit/s, not 3");
  const TempFolder folder;
  copy_model(family_folder("encodec"), folder.path() / "a", "\"target_bandwidths\": [\n  20.0\n ]",
             "\"target_bandwidths\": [5.0, 10.0, 20.0]");
  const auto several = load_codec(folder.path() / "a");
  EXPECT_EQ(several->codebooks_for(5), 1);
  EXPECT_EQ(several->codebooks_for(10), 2);
  const std::vector<float> sound = reference_of("encodec").get("audio").to_vector<float>();
  const std::vector<int32_t> all = several->encode(sound), two = several->encode(sound, 2);
  ASSERT_EQ(two.size() * 2, all.size());
  for (size_t i = 0; i < two.size(); ++i) EXPECT_EQ(two[i], all[i / 2 * 4 + i % 2]) << "books refine what is there";
}

TEST(Codecs, SettingsThatAreNotUnderstoodAreRefused) {
  WICK_NEEDS_FIXTURE("encodec");
  const TempFolder folder;
  const auto changed = [&](const char* name, const char* from, const char* to) {
    copy_model(family_folder(name), folder.path() / "changed", from, to);
    return folder.path() / "changed";
  };
  EXPECT_ERROR(load_codec(changed("encodec", "\"use_causal_conv\": true", "\"use_causal_conv\": false")), kUnsupported,
               "48 kHz");
  EXPECT_ERROR(load_codec(changed("encodec", "\"hidden_size\": 16", "\"hidden_size\": 17")), kUnsupported,
               "codebook_dim");
  EXPECT_ERROR(load_codec(changed("mimi", "\"num_filters\": 4", "\"num_filters\": -4")), kBadFile, "num_filters = -4");
  EXPECT_ERROR(load_codec(changed("mimi", "\"num_filters\": 4", "\"num_filters\": 8")), kBadFile,
               "but the settings make it");
  EXPECT_ERROR(load_codec(changed("mimi", "\"model_type\": \"mimi\"", "\"model_type\": \"dac\"")), kUnsupported,
               "that is no audio codec");
}

}  // namespace
}  // namespace wick
