#include "media/ffmpeg_program.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "media/audio_files.h"
#include "media/mono_reader.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<AudioReader> open_by(const fs::path& program, ByteInput input, const AudioOptions& options = {}) {
  std::string name = input.name();
  return mono_reader(open_with_ffmpeg_program(program, std::move(input), options.is_cancelled), name, options);
}

ByteInput in_memory(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return ByteInput::in_memory("sound", std::as_bytes(std::span(*owner)), owner);
}

// The real program, where it is installed.
class FfmpegProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!program_) GTEST_SKIP() << "there is no ffmpeg on the PATH";
  }
  std::unique_ptr<AudioReader> open(ByteInput input, const AudioOptions& options = {}) {
    return open_by(*program_, std::move(input), options);
  }
  std::optional<fs::path> program_ = find_ffmpeg_program();
};

TEST_F(FfmpegProgram, ReadsEveryCommonKind) {
  for (const char* name :
       {"tone.flac", "tone.mp3", "tone.m4a", "tone.ogg", "tone.opus", "tone.webm", "video.mp4", "alaw.wav"}) {
    SCOPED_TRACE(name);
    const auto samples = read_all(*open(ByteInput::open(sound_file(name))), 1 << 20);
    EXPECT_GE(samples.size(), 7900u);
    EXPECT_LE(samples.size(), 9200u);
    const auto tone = tone_in(samples);
    EXPECT_NEAR(std::abs(tone), 0.5, 0.03);
    EXPECT_NEAR(std::arg(tone), 0, 0.06);
    EXPECT_NEAR(energy(samples), std::norm(tone) / 2, 1e-3);
    // From memory, from which the program can go to and fro as in a file: the same.
    EXPECT_EQ(read_all(*open(in_memory(bytes_in(sound_file(name)))), 1 << 20), samples);
  }
}

TEST_F(FfmpegProgram, SaysWhatIsWrong) {
  EXPECT_ERROR(open(ByteInput::open(sound_file("silent-video.mp4"))), kBadFile,
               "silent-video.mp4: there is no sound in this file");
  EXPECT_ERROR(open(in_memory("just a few words")), kBadFile, "sound: ffmpeg cannot read it: 'Invalid data found");
}

// A playlist must not make the program open files or addresses.
TEST_F(FfmpegProgram, OpensNothingElse) {
  const TempFolder folder;
  fs::copy_file(sound_file("tone.mp3"), folder.path() / "inner.mp3");
  const std::string inner = (folder.path() / "inner.mp3").string();
  for (const std::string& text : {"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + inner + "\n#EXT-X-ENDLIST\n",
                                  "ffconcat version 1.0\nfile " + inner + "\n"}) {
    const auto list = folder.path() / "list.m3u8";
    std::ofstream(list) << text;
    EXPECT_ERROR(open(ByteInput::open(list)), kBadFile, "list.m3u8: ffmpeg cannot read it");
  }
}

// Programs that behave in other ways.
class FakeFfmpeg : public testing::Test {
 protected:
  fs::path fake(const std::string& script) {
    const fs::path path = folder_.path() / "ffmpeg";
    fs::remove(path);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // What `process.txt` says was started has ended.
  void expect_ended() {
    pid_t process = 0;
    std::ifstream(folder_.path() / "process.txt") >> process;
    ASSERT_GT(process, 0);
    EXPECT_EQ(kill(process, 0), -1);
    EXPECT_EQ(errno, ESRCH);
  }
  std::string note_process() const { return "echo $$ > " + (folder_.path() / "process.txt").string(); }
  TempFolder folder_;
};

TEST_F(FakeFfmpeg, GetsTheFileAndNoShellSeesItsName) {
  const fs::path odd = folder_.path() / "a $(touch x); b.wav";
  fs::copy_file(sound_file("jfk.wav"), odd);
  const auto samples = read_all(*open_by(fake("exec cat"), ByteInput::open(odd)), 1 << 24);
  EXPECT_EQ(samples, read_all(*open_audio(odd), 1 << 24));
  EXPECT_EQ(read_all(*open_by(fake("exec cat"), in_memory(bytes_in(odd))), 1 << 24), samples);
}

TEST_F(FakeFfmpeg, ItsComplaintIsTheMessage) {
  const auto program = fake("echo first >&2; echo 'file:/dev/fd/0: it is too loud' >&2; exit 1");
  EXPECT_ERROR(open_by(program, in_memory("x")), kBadFile, "sound: ffmpeg cannot read it: 'it is too loud'");
  EXPECT_ERROR(open_by(fake("exit 0"), in_memory("x")), kBadFile, "sound: ffmpeg cannot read it");
  EXPECT_ERROR(open_by(fake("echo no sound"), in_memory("x")), kBadFile, "sound: ");
  EXPECT_ERROR(open_by(folder_.path() / "none", in_memory("x")), kIo, "cannot start");
}

TEST_F(FakeFfmpeg, EndsWhenItIsCancelled) {
  bool is_cancelled = false;
  AudioOptions options;
  options.is_cancelled = [&] { return is_cancelled || fs::exists(folder_.path() / "process.txt"); };
  EXPECT_ERROR(open_by(fake(note_process() + "; exec sleep 100"), in_memory("x"), options), kIo,
               "sound: reading it was cancelled");
  expect_ended();
}

TEST_F(FakeFfmpeg, EndsWithItsReader) {
  const fs::path wav = folder_.path() / "head.wav";
  std::ofstream(wav, std::ios::binary) << WavBytes().format(1, 1, 16000, 16).chunk("data", "", 0xFFFFFFFF).bytes();
  const auto program = fake(note_process() + "; cat " + wav.string() + "; exec cat /dev/zero");
  {
    const auto reader = open_by(program, in_memory("x"));
    std::vector<float> some(100'000);
    EXPECT_EQ(reader->read(some), 100'000);
  }
  expect_ended();
  AudioOptions options;
  options.longest_seconds = 2;
  EXPECT_ERROR(read_all(*open_by(program, in_memory("x"), options), 1 << 24), kBadFile, "longer than 2 seconds");
  expect_ended();
}

TEST_F(FakeFfmpeg, IsFoundInAbsoluteFoldersOnly) {
  const std::string before = std::getenv("PATH");
  const fs::path program = fake("exit 0");
  setenv("PATH", (":.:relative:/no/such/folder:" + folder_.path().string()).c_str(), 1);
  EXPECT_EQ(find_ffmpeg_program(), program);
  fs::permissions(program, fs::perms::owner_read);
  const bool is_root = access(program.c_str(), X_OK) == 0;
  EXPECT_EQ(find_ffmpeg_program().has_value(), is_root);
  fs::remove(program);
  EXPECT_EQ(find_ffmpeg_program(), std::nullopt);
  setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace wick
