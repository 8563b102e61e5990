#include "media/ffmpeg.h"

#include <gtest/gtest.h>

#include <complex>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "media/audio_files.h"
#include "support/errors.h"
#include "support/fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

// tests/fixtures/audio: half a second of 0.5 * sin(2 pi 440 t) in several containers.
std::filesystem::path file(const std::string& name) { return fixture_folders("audio").at(0) / name; }

std::string bytes_in(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// The amplitude and phase of 440 Hz between 0.1 and 0.4 s (132 periods) at 16 kHz, 0.5 and 0 in the original.
std::complex<double> tone_in(const std::vector<float>& samples) {
  std::complex<double> sum = 0;
  for (int i = 1600; i < 6400; ++i) {
    sum += double{samples.at(static_cast<size_t>(i))} * std::polar(1.0, -2 * std::numbers::pi * 440 * i / 16000);
  }
  return sum / 2400.0 * std::complex<double>(0, 1);
}

double energy(const std::vector<float>& samples) {
  double sum = 0;
  for (int i = 1600; i < 6400; ++i) sum += double{samples.at(static_cast<size_t>(i))} * samples[static_cast<size_t>(i)];
  return sum / 4800;
}

class Ffmpeg : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg";
  }
};

TEST_F(Ffmpeg, ReadsEveryCommonKind) {
  struct Row {
    const char* name;
    const char* format;
    double tolerance;  // of the amplitude: lossy codecs change it
  };
  for (const Row& row :
       {Row{"tone.flac", "flac", 1e-4}, Row{"tone.mp3", "mp3float", 0.03}, Row{"tone.m4a", "aac", 0.02},
        Row{"tone.ogg", "vorbis", 0.02}, Row{"tone.opus", "opus", 0.02}, Row{"tone.webm", "opus", 0.02},
        Row{"video.mp4", "aac", 0.02}, Row{"alaw.wav", "pcm_alaw", 0.02}}) {
    SCOPED_TRACE(row.name);
    const auto reader = open_audio(file(row.name));
    EXPECT_EQ(reader->info().format, row.format);
    const auto samples = read_all(*reader, 1 << 20);
    EXPECT_GE(samples.size(), 7900u);
    EXPECT_LE(samples.size(), 9200u);  // some encoders fill their last block
    const auto tone = tone_in(samples);
    EXPECT_NEAR(std::abs(tone), 0.5, row.tolerance);
    EXPECT_NEAR(std::arg(tone), 0, 0.06);                     // 1 ms would be 2.8
    EXPECT_NEAR(energy(samples), std::norm(tone) / 2, 1e-3);  // and nothing else
    // From memory, without a name that helps: the same.
    EXPECT_EQ(samples_of(bytes_in(file(row.name))), samples);
  }
}

TEST_F(Ffmpeg, NamesDecideNothing) {
  const TempFolder folder;
  const auto path = folder.path() / "music.wav";
  std::filesystem::copy_file(file("tone.mp3"), path);
  EXPECT_EQ(open_audio(path)->info().format, "mp3float");
}

TEST_F(Ffmpeg, ReadingIsCancelledWhileOpeningAndBetweenPackets) {
  bool is_cancelled = true;
  AudioOptions options;
  options.is_cancelled = [&] { return is_cancelled; };
  EXPECT_ERROR(open_audio(file("tone.ogg"), options), kIo, "tone.ogg: reading it was cancelled");
  is_cancelled = false;
  const auto reader = open_audio(file("tone.ogg"), options);
  std::vector<float> some(100);
  EXPECT_EQ(reader->read(some), 100);
  is_cancelled = true;
  EXPECT_ERROR(read_all(*reader, 1 << 20), kIo, "tone.ogg: reading it was cancelled");
}

TEST_F(Ffmpeg, AFileWithoutSound) {
  EXPECT_ERROR(open_audio(file("silent-video.mp4")), kBadFile, "silent-video.mp4: there is no sound in this file");
}

TEST_F(Ffmpeg, WhatIsNoSoundAtAll) {
  EXPECT_ERROR(open_bytes("just a few words"), kBadFile, "sound: FFmpeg cannot open this file");
  EXPECT_ERROR(open_bytes("x"), kBadFile, "sound: FFmpeg cannot open this file");
  EXPECT_ERROR(open_bytes("fLaC"), kBadFile, "which is FLAC");
}

// A playlist must not make the program open files or addresses.
TEST_F(Ffmpeg, OpensNothingElse) {
  const TempFolder folder;
  std::filesystem::copy_file(file("tone.mp3"), folder.path() / "inner.mp3");
  const auto list = folder.path() / "list.m3u8";
  std::ofstream(list) << "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n"
                      << (folder.path() / "inner.mp3").string() << "\n#EXT-X-ENDLIST\n";
  EXPECT_ERROR(open_audio(list), kBadFile, "list.m3u8");
  const auto concat = folder.path() / "list.txt";
  std::ofstream(concat) << "ffconcat version 1.0\nfile inner.mp3\n";
  EXPECT_ERROR(open_audio(concat), kBadFile, "list.txt");
}

// Any cut and any flipped bytes: an error, or sound that is not longer than it was.
TEST_F(Ffmpeg, DamagedFiles) {
  int opened = 0, refused = 0;
  for (const char* name : {"tone.flac", "tone.mp3", "tone.m4a", "tone.ogg", "tone.opus", "tone.webm", "video.mp4"}) {
    const std::string whole = bytes_in(file(name));
    const size_t all = samples_of(whole).size();
    uint64_t random = 99;
    for (int round = 0; round < 40; ++round) {
      std::string bytes = whole.substr(0, round % 2 ? whole.size() : whole.size() * static_cast<size_t>(round) / 40);
      for (int i = 0; round % 2 && i < 20; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        bytes[(random >> 20) % bytes.size()] = static_cast<char>(random >> 56);
      }
      try {
        const auto samples = samples_of(bytes);
        EXPECT_LT(samples.size(), 40 * all) << name;
        ++opened;
      } catch (const Error& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("sound: ")) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(opened, 20);
  EXPECT_GT(refused, 20);
}

TEST(WithoutFfmpeg, OtherFilesGetASentenceThatHelps) {
  if (has_ffmpeg()) GTEST_SKIP() << "built with FFmpeg";
  EXPECT_ERROR(open_audio(file("tone.mp3")), kUnsupported,
               "the file is MP3; convert it, or run tools/install-deps audio");
  EXPECT_ERROR(open_audio(file("alaw.wav")), kUnsupported, "WAV of codec 6 with 8 bits");
}

}  // namespace
}  // namespace wick
