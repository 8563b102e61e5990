#include "media/wav_writer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "media/audio_reader.h"
#include "media/ffmpeg.h"
#include "media/sound_encoder.h"
#include "support/errors.h"

namespace wick {
namespace {

std::vector<float> read_back(const std::string& bytes, int rate) {
  const auto reader = open_audio_in_memory("made.wav", std::as_bytes(std::span(bytes)), nullptr, {.sample_rate = rate});
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

// As far as this machine's FFmpeg writes a format, it is read back as what it was.
TEST(SoundEncoder, OthersAreReadBack) {
  if (!has_ffmpeg()) GTEST_SKIP() << "this build has no FFmpeg";
  std::vector<float> sound;
  for (int i = 0; i < 24000; ++i) sound.push_back(0.5f * std::sin(static_cast<float>(i) * 0.1f));
  for (const SoundFormat& format : sound_formats()) {
    std::unique_ptr<SoundEncoder> encoder;
    try {
      encoder = make_sound_encoder(format.name, 24000, "synthetic speech");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
      continue;
    }
    std::string bytes;
    for (size_t at = 0; at < sound.size(); at += 1000) bytes += encoder->push(std::span(sound).subspan(at, 1000));
    bytes += encoder->finish();
    const auto reader = open_audio_in_memory(std::string(format.name), std::as_bytes(std::span(bytes)), nullptr,
                                             {.sample_rate = 24000});
    const std::vector<float> back = read_all(*reader, 1 << 20);
    EXPECT_NEAR(static_cast<double>(back.size()), 24000, 4000) << format.name;
    double power = 0;
    for (const float sample : back) power += static_cast<double>(sample) * sample;
    EXPECT_NEAR(power / 24000, 0.125, 0.03) << format.name;
  }
  EXPECT_ERROR(make_sound_encoder("midi", 24000, ""), kInvalidArgument, "not written as 'midi'");
  EXPECT_EQ(sound_format_of("a.MP3"), "mp3");
  EXPECT_EQ(sound_format_of("a"), "wav");
}

}  // namespace
}  // namespace wick
