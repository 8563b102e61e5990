// The audio encoder of Qwen3-ASR against what PyTorch computes, alone and among other clips.
#include <gtest/gtest.h>

#include "ops/view.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/speech_fixtures.h"

namespace wick {
namespace {

class AudioEncoderTest : public testing::TestWithParam<SpeechFixture> {
 protected:
  void SetUp() override {
    if (GetParam().folders().empty()) GTEST_SKIP() << GetParam().name << " is not here";
  }
};

TEST_P(AudioEncoderTest, AgreesWithPyTorch) {
  for (const auto& folder : GetParam().folders()) {
    SCOPED_TRACE(folder.string());
    const SpeechReference reference(GetParam(), folder);
    const auto model = Qwen3Asr::load(folder);
    const Tensor heard = model->encoder().encode(reference.mel);
    EXPECT_EQ(heard.dim(0), model->encoder().config().tokens_of(reference.mel.dim(1)));
    expect_close(heard, reference.file.get("audio_embeddings"), 2e-5, "audio embeddings");
  }
}

// Dtypes that files have and that people ask for: the errors are those of the weights.
TEST_P(AudioEncoderTest, TakesWeightsInOtherDtypes) {
  struct Case {
    const char* quantize;
    double tolerance;
  };
  for (const auto& folder : GetParam().folders()) {
    const SpeechReference reference(GetParam(), folder);
    for (const Case& wanted : {Case{"f32", 2e-5}, Case{"f16", 2e-5}, Case{"q8_0", 0.02}, Case{"q4_0", 0.3}}) {
      SCOPED_TRACE(cat(folder, " as ", wanted.quantize));
      ModelOptions options;
      options.quantize = wanted.quantize;
      const auto model = Qwen3Asr::load(folder, options);
      const Tensor heard = model->encoder().encode(reference.mel);
      EXPECT_LE(relative_error(heard, reference.file.get("audio_embeddings")), wanted.tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AudioEncoderTest, testing::ValuesIn(kSpeechFixtures), speech_fixture_name);

// Clips of every awkward length, some of several windows: none hears the others.
TEST(AudioEncoderBatchTest, AClipGetsWhatItGetsAlone) {
  const auto model = Qwen3Asr::load(family_folder("qwen3_asr"));
  const AudioEncoder& encoder = model->encoder();
  std::vector<Tensor> mels, alone;
  uint64_t seed = 0;
  for (const int64_t frames : {437, 1, 100, 8, 200, 650, 99, 101, 201, 3300, 9}) {
    mels.push_back(randn({encoder.config().bins, frames}, ++seed));
    alone.push_back(encoder.encode(mels.back()));
    EXPECT_EQ(alone.back().shape(), (Shape{encoder.config().tokens_of(frames), encoder.config().output}));
  }
  for (const int threads : {1, 3}) {
    const ThreadCount count(threads);
    const std::vector<Tensor> together = encoder.encode(mels);
    ASSERT_EQ(together.size(), mels.size());
    for (size_t i = 0; i < mels.size(); ++i) expect_identical(together[i], alone[i], cat("clip ", i));
  }
}

// What lies before and behind a window does not change it, so a stream need not encode full windows again.
TEST(AudioEncoderBatchTest, WindowsCanBeEncodedOneByOne) {
  const auto model = Qwen3Asr::load(family_folder("qwen3_asr"));
  const AudioEncoder& encoder = model->encoder();
  const int64_t window = encoder.config().window_frames();
  EXPECT_EQ(window, 200);
  const Tensor mel = randn({encoder.config().bins, 537}, 5);
  const Tensor whole = encoder.encode(mel);
  int64_t row = 0;
  for (int64_t first = 0; first < mel.dim(1); first += window) {
    const Tensor part = encoder.encode(narrow(mel, 1, first, std::min(window, mel.dim(1) - first)));
    expect_identical(part, narrow(whole, 0, row, part.dim(0)).contiguous(), cat("from frame ", first));
    row += part.dim(0);
  }
  EXPECT_EQ(row, whole.dim(0));
  const Tensor shorter = encoder.encode(narrow(mel, 1, 0, 530));
  EXPECT_NE(narrow(shorter, 0, shorter.dim(0) - 1, 1).to_vector<float>(),
            narrow(whole, 0, shorter.dim(0) - 1, 1).to_vector<float>());
}

// By hand: three times halved and rounded up, per chunk.
TEST(AudioEncoderConfigTest, CountsTokens) {
  AudioEncoderConfig config;
  config.chunk_frames = 100;
  EXPECT_EQ(config.tokens_of(0), 0);
  EXPECT_EQ(config.tokens_of(1), 1);
  EXPECT_EQ(config.tokens_of(8), 1);
  EXPECT_EQ(config.tokens_of(9), 2);
  EXPECT_EQ(config.tokens_of(99), 13);
  EXPECT_EQ(config.tokens_of(100), 13);
  EXPECT_EQ(config.tokens_of(101), 14);
  EXPECT_EQ(config.tokens_of(437), 57);
  EXPECT_EQ(config.tokens_of(120000), 15600);
}

TEST(AudioEncoderBatchTest, RefusesWhatIsNoSpectrogram) {
  const auto model = Qwen3Asr::load(family_folder("qwen3_asr"));
  const AudioEncoder& encoder = model->encoder();
  EXPECT_TRUE(encoder.encode(std::span<const Tensor>()).empty());
  EXPECT_ERROR(encoder.encode(zeros({80, 50})), kInvalidArgument,
               "a spectrogram is f32 [80, 50], expected f32 [128, frames]");
  EXPECT_ERROR(encoder.encode(zeros({128, 0})), kInvalidArgument, "a spectrogram is f32 [128, 0]");
  EXPECT_ERROR(encoder.encode(zeros({1, 128, 50})), kInvalidArgument, "a spectrogram is f32 [1, 128, 50]");
  EXPECT_ERROR(encoder.encode(zeros({128, 50}, DType::kI32)), kInvalidArgument, "a spectrogram is i32 [128, 50]");
  EXPECT_ERROR(encoder.encode(Tensor()), kInvalidArgument, "a spectrogram is undefined");
}

}  // namespace
}  // namespace wick
