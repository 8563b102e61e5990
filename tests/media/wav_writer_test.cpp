#include "media/wav_writer.h"

#include <gtest/gtest.h>

#include "media/audio_reader.h"
#include "support/errors.h"

namespace wick {
namespace {

std::vector<float> read_back(const std::string& bytes, int rate) {
  const auto reader =
      open_audio_in_memory("made.wav", std::as_bytes(std::span(bytes)), nullptr, {.sample_rate = rate});
  EXPECT_EQ(reader->info().sample_rate, rate);
  return read_all(*reader, 1 << 20);
}

TEST(WavWriter, IsReadBack) {
  std::vector<float> sound;
  for (int i = 0; i < 999; ++i) sound.push_back(static_cast<float>(i % 201 - 100) / 100);
  for (const std::string comment : {"", "odd", "even"}) {
    for (const int64_t samples : {int64_t{-1}, int64_t{999}}) {
      const std::string bytes = wav_header({24000, 1, samples, comment}) + pcm16_bytes(sound);
      const std::vector<float> back = read_back(bytes, 24000);
      ASSERT_EQ(back.size(), sound.size()) << comment;
      for (size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], sound[i], 1.0 / 16000);
    }
  }
}

TEST(WavWriter, ClipsAndRefuses) {
  const float loud[] = {2, -2, 0};
  EXPECT_EQ(pcm16_bytes(loud), std::string("\xff\x7f\x01\x80\0\0", 6));
  EXPECT_ERROR(wav_header({24000, 1, int64_t{1} << 31, ""}), kInvalidArgument, "does not hold 2147483648 samples");
}

}  // namespace
}  // namespace wick
