#include "media/log_mel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "formats/checkpoint.h"
#include "media/mel_kernel.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/fixtures.h"
#include "support/targets.h"
#include "tensor/create.h"

namespace wick {
namespace {

Checkpoint reference() { return Checkpoint::open(fixture_folders("log-mel").at(0) / "reference.safetensors"); }

std::vector<float> noise(int64_t count, uint64_t seed, float loudness = 0.1f) {
  auto samples = randn({count}, seed).to_vector<float>();
  for (float& sample : samples) sample *= loudness;
  return samples;
}

// [rows, columns] from `begin` to `end` of the columns.
Tensor columns(const Tensor& x, int64_t begin, int64_t end) {
  const auto values = x.to_vector<float>();
  std::vector<float> out;
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const auto first = values.begin() + row * x.dim(1);
    out.insert(out.end(), first + begin, first + end);
  }
  return from_vector(out, {x.dim(0), end - begin});
}

TEST(MelFilters, AreThoseOfTheReference) {
  for (const int bins : {80, 128}) {
    std::vector<float> dense(static_cast<size_t>(kMelSpectrum * bins));
    const auto filters = mel_filters(bins);
    for (size_t bin = 0; bin < filters.size(); ++bin) {
      for (size_t i = 0; i < filters[bin].weights.size(); ++i) {
        dense[(static_cast<size_t>(filters[bin].first) + i) * filters.size() + bin] = filters[bin].weights[i];
      }
    }
    const std::string name = bins == 80 ? "mel80_filters" : "mel128_filters";
    expect_close(from_vector(dense, {kMelSpectrum, bins}), reference().get(name), 1e-8, name);
  }
  EXPECT_ERROR(mel_filters(0), kInvalidArgument, "0 bins, outside 1 to 512");
  EXPECT_ERROR(mel_filters(513), kInvalidArgument, "513 bins");
}

TEST(PowerSpectrum, IsThatOfTheDefinitionInF64) {
  on_every_target([](const std::string&) {
    const auto samples = noise(kMelWindow, 7, 1.0f);
    std::vector<float> power(kMelSpectrum);
    power_spectrum(samples.data(), power.data());
    double total = 0;
    for (const float sample : samples) total += double{sample} * sample;
    for (int k = 0; k < kMelSpectrum; ++k) {
      std::complex<double> sum = 0;
      for (int i = 0; i < kMelWindow; ++i) {
        sum += double{samples[static_cast<size_t>(i)]} *
               std::polar(1.0, -2 * std::numbers::pi * (i * k % kMelWindow) / kMelWindow);
      }
      EXPECT_NEAR(power[static_cast<size_t>(k)], std::norm(sum), 4e-6 * total) << k;
    }
  });
}

TEST(LogMel, IsWhispersAfterPaddingToThirtySeconds) {
  const Checkpoint expected = reference();
  const auto samples = expected.get("waveform").to_vector<float>();
  on_every_target([&](const std::string& target) {
    for (const int bins : {80, 128}) {
      const Tensor features = log_mel(samples, LogMelOptions::whisper(bins));
      ASSERT_EQ(features.shape(), Shape({bins, 3000}));
      const std::string name = bins == 80 ? "mel80_padded30s_first400" : "mel128_padded30s_first400";
      expect_close(columns(features, 0, 400), expected.get(name), 1e-4, name + " " + target);
    }
  });
}

TEST(LogMel, IsThatOfQwen3Asr) {
  const Checkpoint expected = reference();
  const auto samples = expected.get("waveform").to_vector<float>();
  const Tensor features = log_mel(samples, LogMelOptions::qwen3_asr());
  int64_t real = 0;
  for (const int32_t one : expected.get("qwen3asr_attention_mask").to_vector<int32_t>()) real += one;
  ASSERT_EQ(features.shape(), Shape({128, real}));
  const Tensor padded = pad_frames(features, 100);
  const Tensor all = expected.get("qwen3asr_input_features");
  expect_close(padded, from_vector(all.to_vector<float>(), {all.dim(1), all.dim(2)}), 1e-4, "qwen3-asr");
}

// At every cut, what a stream gives is what the sound so far gives at once.
TEST(LogMel, StreamsToTheSameBits) {
  const auto samples = noise(9000, 11);
  for (const int64_t min_samples : {int64_t{0}, int64_t{8000}}) {
    const LogMelOptions options{80, min_samples};
    for (const int64_t piece : {1, 37, 160, 401, 5000}) {
      LogMel stream(options);
      int64_t checked = 0;
      for (int64_t at = 0; at < std::ssize(samples); at += piece) {
        const int64_t end = std::min(at + piece, std::ssize(samples));
        stream.push(std::span(samples).subspan(static_cast<size_t>(at), static_cast<size_t>(end - at)));
        if (end < 201 && min_samples == 0) continue;
        if (piece < 100 && end % 1110 != 0 && end > 420) continue;  // a few of the many are enough
        expect_identical(stream.features(), log_mel(std::span(samples).first(static_cast<size_t>(end)), options),
                         cat("pieces of ", piece, ", ", end, " samples"));
        ++checked;
      }
      EXPECT_GT(checked, 1);
      EXPECT_EQ(stream.samples(), 9000);
      EXPECT_EQ(stream.frames(), 9000 / 160);
      EXPECT_EQ(stream.settled_frames(), (9000 - 200) / 160 + 1);
      expect_identical(stream.features(3, 20), columns(stream.features(), 3, 20), "a part");
    }
  }
}

TEST(LogMel, SilenceAndShortOrBadSound) {
  // The floor is the maximum here: (log10(1e-10) + 4) / 4.
  const Tensor silent = log_mel(std::vector<float>(1000), {80, 0});
  expect_close(silent, full({80, 6}, -1.5), 1e-6, "silence");
  EXPECT_ERROR(log_mel(std::vector<float>(200), {80, 0}), kInvalidArgument, "200 samples, but at least 201");
  EXPECT_EQ(log_mel({}, LogMelOptions::qwen3_asr()).shape(), Shape({128, 50}));
  EXPECT_EQ(log_mel(std::vector<float>(201), {80, 0}).shape(), Shape({80, 1}));

  LogMel stream({80, 0});
  stream.push(noise(500, 1));
  const Tensor before = stream.features();
  const std::vector<float> bad = {0.5f, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_ERROR(stream.push(bad), kBadFile, "sample 501");
  expect_identical(stream.features(), before, "after a bad piece");
  EXPECT_ERROR(stream.features(2, 4), kInvalidArgument, "frames 2 to 4 were asked for, of 3");
  EXPECT_ERROR(stream.features(-1, 1), kInvalidArgument, "frames -1");
}

// The loudest sound that is let through stays finite.
TEST(LogMel, ClippedAndAbsurdlyLoudSound) {
  std::vector<float> square(2000, 1e9f);
  for (size_t i = 0; i < square.size(); ++i) square[i] = i / 20 % 2 ? 1e9f : -1e9f;
  for (const float value : log_mel(square, {128, 0}).to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace wick
