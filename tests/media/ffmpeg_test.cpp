#include "media/ffmpeg.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "media/audio_files.h"
#include "media/ffmpeg_program.h"
#include "support/errors.h"
#include "support/fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

class Ffmpeg : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg's libraries";
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
    const auto reader = open_audio(sound_file(row.name));
    EXPECT_EQ(reader->info().format, row.format);
    const auto samples = read_all(*reader, 1 << 20);
    EXPECT_GE(samples.size(), 7900u);
    EXPECT_LE(samples.size(), 9200u);  // some encoders fill their last block
    const auto tone = tone_in(samples);
    EXPECT_NEAR(std::abs(tone), 0.5, row.tolerance);
    EXPECT_NEAR(std::arg(tone), 0, 0.06);                     // 1 ms would be 2.8
    EXPECT_NEAR(energy(samples), std::norm(tone) / 2, 1e-3);  // and nothing else
    // From memory, without a name that helps: the same.
    EXPECT_EQ(samples_of(bytes_in(sound_file(row.name))), samples);
  }
}

TEST_F(Ffmpeg, NamesDecideNothing) {
  const TempFolder folder;
  const auto path = folder.path() / "music.wav";
  std::filesystem::copy_file(sound_file("tone.mp3"), path);
  EXPECT_EQ(open_audio(path)->info().format, "mp3float");
}

TEST_F(Ffmpeg, ReadingIsCancelledWhileOpeningAndBetweenPackets) {
  bool is_cancelled = true;
  AudioOptions options;
  options.is_cancelled = [&] { return is_cancelled; };
  EXPECT_ERROR(open_audio(sound_file("tone.ogg"), options), kIo, "tone.ogg: reading it was cancelled");
  is_cancelled = false;
  const auto reader = open_audio(sound_file("tone.ogg"), options);
  std::vector<float> some(100);
  EXPECT_EQ(reader->read(some), 100);
  is_cancelled = true;
  EXPECT_ERROR(read_all(*reader, 1 << 20), kIo, "tone.ogg: reading it was cancelled");
}

TEST_F(Ffmpeg, AFileWithoutSound) {
  EXPECT_ERROR(open_audio(sound_file("silent-video.mp4")), kBadFile,
               "silent-video.mp4: there is no sound in this file");
}

TEST_F(Ffmpeg, WhatIsNoSoundAtAll) {
  EXPECT_ERROR(open_bytes("just a few words"), kBadFile, "sound: FFmpeg cannot open this file");
  EXPECT_ERROR(open_bytes("x"), kBadFile, "sound: FFmpeg cannot open this file");
  EXPECT_ERROR(open_bytes("fLaC"), kBadFile, "which is FLAC");
}

// A playlist must not make the program open files or addresses.
TEST_F(Ffmpeg, OpensNothingElse) {
  const TempFolder folder;
  std::filesystem::copy_file(sound_file("tone.mp3"), folder.path() / "inner.mp3");
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
    const std::string whole = bytes_in(sound_file(name));
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
  if (!ffmpeg_way().empty()) GTEST_SKIP() << "there is FFmpeg";
  EXPECT_ERROR(open_audio(sound_file("tone.mp3")), kUnsupported,
               "the file is MP3, and sound other than WAV is read with ffmpeg");
  EXPECT_ERROR(open_audio(sound_file("alaw.wav")), kUnsupported, "WAV of codec 6 with 8 bits");
}

}  // namespace
}  // namespace wick
