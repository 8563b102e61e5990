#include "media/wav.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "media/audio_files.h"
#include "media/ffmpeg.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

using Samples = std::vector<float>;
constexpr uint16_t kPcm = 1, kFloat = 3;

TEST(Wav, ReadsEverySampleFormat) {
  const auto wav = [](uint16_t codec, uint16_t bits, const std::string& data) {
    return samples_of(WavBytes().format(codec, 1, 16000, bits).chunk("data", data).bytes());
  };
  EXPECT_EQ(wav(kPcm, 8, bytes_of_values<uint8_t>({0, 128, 192, 255})), (Samples{-1, 0, 0.5f, 127 / 128.0f}));
  EXPECT_EQ(wav(kPcm, 16, bytes_of_values<int16_t>({-32768, 0, 1, 32767})),
            (Samples{-1, 0, 1 / 32768.0f, 32767 / 32768.0f}));
  EXPECT_EQ(wav(kPcm, 24, std::string("\0\0\x80\0\0\x40\xFF\xFF\xFF\x01\0\0", 12)),
            (Samples{-1, 0.5f, -1 / 8388608.0f, 1 / 8388608.0f}));
  EXPECT_EQ(wav(kPcm, 32, bytes_of_values<int32_t>({std::numeric_limits<int32_t>::min(), 1 << 30})),
            (Samples{-1, 0.5f}));
  EXPECT_EQ(wav(kPcm, 12, bytes_of_values<int16_t>({0x4000})), (Samples{0.5f}));  // upper bits of two bytes
  EXPECT_EQ(wav(kFloat, 32, bytes_of_values<float>({1.5f, -0.25f})), (Samples{1.5f, -0.25f}));
  EXPECT_EQ(wav(kFloat, 64, bytes_of_values<double>({0.1, -3})), (Samples{0.1f, -3}));
}

TEST(Wav, ReadsExtensibleFormats) {
  const auto data = bytes_of_values<int16_t>({16384, -16384});
  EXPECT_EQ(samples_of(WavBytes().extensible(kPcm, 1, 16000, 16).chunk("data", data).bytes()), (Samples{0.5f, -0.5f}));
  const auto floats = bytes_of_values<float>({0.125f});
  EXPECT_EQ(samples_of(WavBytes().extensible(kFloat, 1, 16000, 32).chunk("data", floats).bytes()), (Samples{0.125f}));
}

TEST(Wav, AveragesChannels) {
  EXPECT_EQ(samples_of(WavBytes()
                           .format(kPcm, 2, 16000, 16)
                           .chunk("data", bytes_of_values<int16_t>({16384, 0, -32768, -16384}))
                           .bytes()),
            (Samples{0.25f, -0.75f}));
  std::vector<float> many(64 * 3, 0.0f);
  for (size_t i = 0; i < 64; ++i) many[64 + i] = static_cast<float>(i);
  EXPECT_EQ(samples_of(WavBytes().format(kFloat, 64, 16000, 32).chunk("data", bytes_of_values(many)).bytes()),
            (Samples{0, 31.5f, 0}));
}

TEST(Wav, SkipsOtherChunksAndWhatFollows) {
  const auto data = bytes_of_values<int16_t>({16384});
  const std::string bytes = WavBytes()
                                .chunk("JUNK", "odd")
                                .chunk("bext", std::string(70000, 'x'))  // further than the codec is looked for
                                .format(kPcm, 1, 16000, 16)
                                .chunk("LIST", "")
                                .chunk("data", data)
                                .chunk("LIST", "INFOabcd")
                                .bytes();
  EXPECT_EQ(samples_of(bytes), (Samples{0.5f}));
}

// Recorders that stream or are killed leave sizes that are not true.
TEST(Wav, SizesThatAreNotTrue) {
  const auto data = bytes_of_values<int16_t>({16384, -16384, 8192});
  const Samples all = {0.5f, -0.5f, 0.25f};
  for (const size_t claimed : {size_t{0xFFFFFFFF}, size_t{0}, size_t{7000}}) {
    for (const uint32_t whole : {0u, 0xFFFFFFFFu, 36u}) {
      EXPECT_EQ(samples_of(WavBytes().format(kPcm, 1, 16000, 16).chunk("data", data, claimed).bytes(whole)), all)
          << claimed << " of " << whole;
    }
  }
  // Really empty: the file goes on behind it.
  const auto empty = WavBytes().format(kPcm, 1, 16000, 16).chunk("data", "").chunk("LIST", "INFOabcd").bytes();
  EXPECT_EQ(samples_of(empty), Samples{});
  EXPECT_EQ(samples_of(WavBytes().format(kPcm, 1, 16000, 16).chunk("data", "").bytes()), Samples{});
  // Cut inside a sample, and inside a frame.
  EXPECT_EQ(samples_of(WavBytes().format(kPcm, 1, 16000, 16).chunk("data", data.substr(0, 4), 6).bytes() + "x"),
            (Samples{0.5f, -0.5f}));
  EXPECT_EQ(samples_of(WavBytes().format(kPcm, 2, 16000, 16).chunk("data", data, 8).bytes()), (Samples{0}));
}

TEST(Wav, ReadsRf64) {
  const auto data = bytes_of_values<int16_t>({16384, 8192});
  std::string sizes(28, '\0');
  sizes[8] = 2;  // bytes of sound
  const auto bytes = WavBytes("RF64")
                         .chunk("ds64", sizes)
                         .format(kPcm, 1, 16000, 16)
                         .chunk("data", data, 0xFFFFFFFF)
                         .bytes(0xFFFFFFFF);
  EXPECT_EQ(samples_of(bytes), (Samples{0.5f}));
  sizes.assign(28, '\xFF');  // a size that is none
  EXPECT_EQ(
      samples_of(
          WavBytes("RF64").chunk("ds64", sizes).format(kPcm, 1, 16000, 16).chunk("data", data, 0xFFFFFFFF).bytes()),
      (Samples{0.5f, 0.25f}));
}

TEST(Wav, DamageGetsASentence) {
  const NoPrograms none;
  const auto data = bytes_of_values<int16_t>({1, 2});
  const auto with_format = [&](uint16_t channels, uint32_t rate) {
    return WavBytes().format(kPcm, channels, rate, 16).chunk("data", data).bytes();
  };
  EXPECT_ERROR(open_bytes(""), kBadFile, "sound: the file is empty");
  EXPECT_ERROR(open_bytes(WavBytes().bytes()), kBadFile, "the WAV file ends at byte 12 without sound in it");
  EXPECT_ERROR(open_bytes(WavBytes().format(kPcm, 1, 16000, 16).bytes()), kBadFile, "ends at byte 36 without sound");
  EXPECT_ERROR(open_bytes(WavBytes().chunk("data", data).bytes()), kBadFile, "'data' at byte 12 comes before 'fmt '");
  EXPECT_ERROR(open_bytes(WavBytes().chunk("fmt ", "abcd").chunk("data", data).bytes()), kBadFile,
               "'fmt ' has 4 bytes");
  EXPECT_ERROR(open_bytes(WavBytes().chunk("fmt ", "abcd", 16).bytes()), kBadFile, "16");
  EXPECT_ERROR(open_bytes(with_format(0, 16000)), kBadFile, "0 channels, outside 1 to 256");
  EXPECT_ERROR(open_bytes(with_format(257, 16000)), kBadFile, "257 channels");
  EXPECT_ERROR(open_bytes(with_format(1, 0)), kBadFile, "a sample rate of 0 Hz, outside 1000 to 768000");
  EXPECT_ERROR(open_bytes(with_format(1, 1)), kBadFile, "a sample rate of 1 Hz, outside 1000 to 768000");
  EXPECT_ERROR(open_bytes(with_format(1, 4'000'000'000)), kBadFile, "4000000000 Hz");
  std::string wrong_frame = with_format(1, 16000);
  wrong_frame[32] = 3;
  EXPECT_ERROR(open_bytes(wrong_frame), kBadFile, "frames of 3 bytes, but 1 channels of 16 bits take 2");
  EXPECT_ERROR(open_bytes(WavBytes().chunk("LIST", "a", 0xFFFFFFF0).bytes()), kBadFile, "without sound");
  // Every cut of a good file gives an error or the samples that are left.
  const std::string whole = WavBytes().extensible(kPcm, 1, 16000, 16).chunk("data", data).bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    try {
      const auto samples = samples_of(whole.substr(0, length));
      EXPECT_GE(length, 68u);
      EXPECT_EQ(samples.size(), (length - 68) / 2);
    } catch (const Error& error) {
      EXPECT_LT(length, 68u) << error.what();
    }
  }
}

// Any bytes in the place of others: a sentence, or samples as many as the bytes that are there can hold.
TEST(Wav, RandomDamage) {
  const NoPrograms none;
  const std::string whole = WavBytes("RF64")
                                .chunk("ds64", std::string(28, '\0'))
                                .extensible(kPcm, 2, 48000, 16)
                                .chunk("LIST", "abc")
                                .chunk("data", std::string(400, 'd'))
                                .bytes();
  constexpr int64_t kLimit = 100'000;
  uint64_t random = 5;
  int opened = 0, refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round % 4; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      bytes[12 + (random >> 20) % 120] = static_cast<char>(random >> 56);
    }
    try {
      const auto reader = open_bytes(bytes);
      const AudioInfo info = reader->info();
      const auto samples = read_all(*reader, kLimit);
      EXPECT_LE(std::ssize(samples), std::ssize(bytes) * 16000 / info.sample_rate + 1);
      ++opened;
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with("sound: ") || what == "the sound is longer than 100000 samples") << what;
      ++refused;
    }
  }
  EXPECT_GT(opened, 100);
  EXPECT_GT(refused, 100);
}

TEST(Wav, SamplesThatAreNoSound) {
  const auto with = [](float value) {
    std::vector<float> values(40000, 0.1f);
    values[32000] = value;
    return samples_of(WavBytes().format(kFloat, 1, 16000, 32).chunk("data", bytes_of_values(values)).bytes());
  };
  EXPECT_ERROR(with(std::numeric_limits<float>::quiet_NaN()), kBadFile,
               "sample 32000 (at 2 s) is nan, which is no sound");
  EXPECT_ERROR(with(-std::numeric_limits<float>::infinity()), kBadFile, "is -inf");
  EXPECT_ERROR(with(1e30f), kBadFile, "is 1e+30");
  EXPECT_EQ(with(7.5f)[32000], 7.5f);  // louder than full scale is sound
}

TEST(Wav, TheReaderIsTheSameWhateverIsAskedForAtOnce) {
  const auto samples = sine(700, 0.4, 0.5, 44100);
  const auto bytes = WavBytes().format(kFloat, 1, 44100, 32).chunk("data", bytes_of_values(samples)).bytes();
  const auto whole = samples_of(bytes);
  EXPECT_EQ(whole.size(), 6400u);
  for (const size_t piece : {1u, 33u, 5000u}) {
    const auto reader = open_bytes(bytes);
    Samples got, buffer(piece);
    int64_t count = 0;
    while ((count = reader->read(buffer)) == std::ssize(buffer)) got.insert(got.end(), buffer.begin(), buffer.end());
    got.insert(got.end(), buffer.begin(), buffer.begin() + count);
    EXPECT_EQ(got, whole);
    EXPECT_EQ(reader->read(buffer), 0);  // the end stays the end
  }
  const auto reader = open_bytes(bytes);
  EXPECT_EQ(reader->info().format, "wav f32");
  EXPECT_EQ(reader->info().sample_rate, 44100);
  EXPECT_DOUBLE_EQ(reader->info().seconds.value(), 0.4);
  EXPECT_ERROR(read_all(*reader, 6399), kInvalidArgument, "longer than 6399 samples");
}

TEST(Wav, ComesThroughAPipe) {
  const TempFolder folder;
  const auto pipe = folder.path() / "pipe";
  if (mkfifo(pipe.c_str(), 0600) != 0 || !std::filesystem::is_fifo(pipe)) {
    GTEST_SKIP() << "there are no named pipes here";
  }
  const auto values = sine(300, 3, 0.3);
  std::thread writer([&] {
    std::ofstream(pipe) << WavBytes()
                               .chunk("JUNK", std::string(100001, 'j'))
                               .format(kFloat, 1, 16000, 32)
                               .chunk("data", bytes_of_values(values), 0xFFFFFFFF)
                               .bytes(0xFFFFFFFF);
  });
  const auto reader = open_audio(pipe);
  EXPECT_FALSE(reader->info().seconds.has_value());
  EXPECT_EQ(read_all(*reader, 1 << 20), values);
  writer.join();
}

// Two hours of silence, which take no room on the disk.
TEST(Wav, LongFilesAreRead) {
  const TempFolder folder;
  const auto path = folder.path() / "long.wav";
  std::ofstream(path) << WavBytes().format(kPcm, 1, 8000, 8).chunk("data", "", 57'600'000).bytes();
  std::filesystem::resize_file(path, 44 + 57'600'000);
  const auto reader = open_audio(path, {.sample_rate = 8000});
  EXPECT_DOUBLE_EQ(reader->info().seconds.value(), 7200);
  std::vector<float> piece(1 << 16);
  int64_t total = 0;
  while (const int64_t got = reader->read(piece)) total += got;
  EXPECT_EQ(total, 57'600'000);
  EXPECT_EQ(piece[0], -1);
}

TEST(Raw, ReadingHasAnEnd) {
  AudioOptions options{.raw = RawAudio{SampleFormat::kF32, 8000, 1}};
  options.longest_seconds = 2;
  EXPECT_EQ(samples_of(std::string(16000 * sizeof(float), '\0'), options).size(), 32000u);
  EXPECT_ERROR(samples_of(std::string(16001 * sizeof(float), '\0'), options), kBadFile,
               "the sound is longer than 2 seconds");
  // Cancelled in the middle of one read, which asks again and again.
  int asked = 0;
  options.longest_seconds = 3600;
  options.is_cancelled = [&] { return ++asked > 10; };
  EXPECT_ERROR(samples_of(std::string(8000 * 60 * sizeof(float), '\0'), options), kIo, "reading it was cancelled");
  EXPECT_EQ(asked, 11);
}

TEST(Raw, SamplesWithoutAHeader) {
  const AudioOptions s16{.raw = RawAudio{SampleFormat::kS16, 16000, 1}};
  EXPECT_EQ(samples_of(bytes_of_values<int16_t>({16384, -8192}) + "x", s16), (Samples{0.5f, -0.25f}));
  const AudioOptions f32{.raw = RawAudio{SampleFormat::kF32, 16000, 2}};
  EXPECT_EQ(samples_of(bytes_of_values<float>({1, 0.5f, 2, 0}), f32), (Samples{0.75f, 1}));
  EXPECT_EQ(samples_of("", s16), Samples{});
  const AudioOptions slow{.raw = RawAudio{SampleFormat::kF32, 1000, 1}};
  EXPECT_EQ(samples_of(bytes_of_values<float>({0, 0, 0}), slow).size(), 48u);
  EXPECT_ERROR(samples_of("", {.raw = RawAudio{SampleFormat::kF32, 999, 1}}), kBadFile, "999 Hz, outside 1000 to");
  EXPECT_ERROR(samples_of("", {.raw = RawAudio{SampleFormat::kF32, 16000, 0}}), kBadFile, "0 channels");
  EXPECT_ERROR(samples_of("", {.sample_rate = 0}), kInvalidArgument, "0 Hz was asked for");
}

TEST(Raw, StandardInput) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto bytes = bytes_of_values<int16_t>({16384, -8192, 0});
  ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), std::ssize(bytes));
  close(ends[1]);
  const int before = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  const auto reader = open_audio("-", {.raw = RawAudio{SampleFormat::kS16, 16000, 1}});
  EXPECT_EQ(read_all(*reader, 100), (Samples{0.5f, -0.25f, 0}));
  dup2(before, STDIN_FILENO);
  close(before);
}

TEST(Raw, SoundIsReadAsItComes) {
  const TempFolder folder;
  const auto path = folder.path() / "pipe";
  if (mkfifo(path.c_str(), 0600) != 0 || !std::filesystem::is_fifo(path)) {
    GTEST_SKIP() << "there are no named pipes here";
  }
  const int end = open(path.c_str(), O_RDWR);  // open for writing, too: the reader would wait for more
  ASSERT_GE(end, 0);
  const auto reader = open_audio(path, {.raw = RawAudio{SampleFormat::kS16, 16000, 1}});
  const auto bytes = bytes_of_values<int16_t>({16384, -8192, 4096});
  Samples two(2), one(1);
  ASSERT_EQ(write(end, bytes.data(), 3), 3);  // a sample and a half
  ASSERT_EQ(write(end, bytes.data() + 3, 1), 1);
  EXPECT_EQ(reader->read(two), 2);
  EXPECT_EQ(two, (Samples{0.5f, -0.25f}));
  ASSERT_EQ(write(end, bytes.data() + 4, 2), 2);
  EXPECT_EQ(reader->read(one), 1);
  EXPECT_EQ(one, Samples{0.125f});
  close(end);
}

TEST(Raw, FilesThatCannotBeRead) {
  EXPECT_ERROR(open_audio("/nonexistent/sound.wav"), kIo, "/nonexistent/sound.wav: cannot open: No such file");
  EXPECT_ERROR(open_audio("/"), kIo, "/: cannot read: Is a directory");
}

}  // namespace
}  // namespace wick
