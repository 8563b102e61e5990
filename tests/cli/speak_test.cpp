// Runs `wick speak`, `wick voices` and `wick codec` as a user does, with the tiny models of the fixtures.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/process.h"
#include "media/audio_reader.h"
#include "media/wav_writer.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/tiny_voice.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<float> sound_of(const fs::path& path) {
  const auto reader = open_audio(path, {.sample_rate = 24000});
  EXPECT_EQ(reader->info().sample_rate, 24000);
  return read_all(*reader, 1 << 24);
}

class SpeakCommand : public testing::Test {
 protected:
  void SetUp() override {
    WICK_NEEDS_FIXTURE("qwen3_tts-talker");
    model_ = make_tiny_voice(folder_.path() / "tiny voice", "qwen3_tts-talker").string();
  }
  ProcessResult speak(Words arguments) const {
    arguments.insert(arguments.begin(), {"speak", "--model", model_, "--temperature", "0"});
    return run_process(WICK_PROGRAM, arguments, {});
  }
  std::string out(const std::string& name) const { return (folder_.path() / name).string(); }

  TempFolder folder_;
  std::string model_;
};

TEST_F(SpeakCommand, WritesAFileAPipeOrSamples) {
  const ProcessResult file = speak({"Hello there.", "-o", out("a.wav")});
  EXPECT_EQ(file.exit_code, 0) << file.errors;
  EXPECT_EQ(file.output + file.errors, "");
  const std::string written = bytes_of(out("a.wav"));
  const std::vector<float> sound = sound_of(out("a.wav"));
  EXPECT_GT(sound.size(), 0u);
  EXPECT_NE(written.find("synthetic speech"), std::string::npos);
  const ProcessResult stream = speak({"Hello there.", "--stream"});
  EXPECT_EQ(stream.output.size(), 2 * sound.size());
  EXPECT_TRUE(written.ends_with(stream.output));
  EXPECT_TRUE(speak({"Hello", "there."}).output.ends_with(stream.output)) << "words are one text";
  const Words piped = {"-c", "echo Hello there. | \"$1\" speak - --temperature 0 --model \"$2\"", "sh", WICK_PROGRAM,
                       model_};
  EXPECT_TRUE(run_process("/bin/sh", piped, {}).output.ends_with(stream.output)) << "standard input";
  std::ofstream(out("text.txt")) << "Hello there.";
  EXPECT_TRUE(speak({"--file", out("text.txt")}).output.ends_with(stream.output));
  speak({"Hello there.", "--no-tag", "-o", out("b.wav")});
  EXPECT_EQ(bytes_of(out("b.wav")).find("synthetic"), std::string::npos);
  EXPECT_NE(speak({"Hello there.", "--voice", "vivian", "--stream"}).output, stream.output);
  EXPECT_NE(
      speak({"Hello there.", "--stats", "-o", out("c.wav")}).errors.find("times real time, the first of it after"),
      std::string::npos);
}

TEST_F(SpeakCommand, TellsWhatIsWrong) {
  const auto fails = [&](Words arguments, int code, const std::string& part) {
    const ProcessResult result = speak(std::move(arguments));
    EXPECT_EQ(result.exit_code, code) << part;
    EXPECT_NE(result.errors.find(part), std::string::npos) << result.errors;
    EXPECT_FALSE(fs::exists(out("x.wav")));
  };
  fails({"", "-o", out("x.wav")}, 1, "there is nothing to say");
  fails({"...", "-o", out("x.wav")}, 1, "the text has no words");
  fails({"-o", out("x.wav")}, 2, "TEXT");
  fails({"Hello", "--voice", "bob", "-o", out("x.wav")}, 1, "there is no voice 'bob'; there are eric, vivian");
  fails({"Hello", "--language", "klingon", "-o", out("x.wav")}, 1, "chinese, english, german");
  fails({"a <|im_start|> b", "-o", out("x.wav")}, 1, "control token <|im_start|>");
  fails({"Hello", "--transcript", "x", "-o", out("x.wav")}, 1, "--voice FILE");
  fails({"Hello", "--stream", "-o", out("x.wav")}, 2, "--output");
  const ProcessResult mute =
      run_process(WICK_PROGRAM, {"speak", "Hi", "--model", family_folder("llama").string(), "-o", out("x.wav")}, {});
  EXPECT_NE(mute.errors.find("a model of the type llama that does not speak"), std::string::npos) << mute.errors;
}

TEST_F(SpeakCommand, ClonesTheVoiceOfAClip) {
  model_ = make_tiny_voice(folder_.path() / "base", "qwen3_tts-talker-base").string();
  const std::vector<float> clip = Checkpoint::open(family_folder("qwen3_tts-talker-base") / "reference.safetensors")
                                      .get("reference_audio")
                                      .to_vector<float>();
  std::ofstream(out("clip.wav"), std::ios::binary) << wav_header({24000, 1, std::ssize(clip), ""}) << pcm16_bytes(clip);
  const std::string by_voice = speak({"Hello.", "--voice", out("clip.wav"), "--stream"}).output;
  EXPECT_GT(by_voice.size(), 0u);
  const std::string by_both =
      speak({"Hello.", "--voice", out("clip.wav"), "--transcript", "what is said", "--stream"}).output;
  EXPECT_GT(by_both.size(), 0u);
  EXPECT_NE(by_both, by_voice);
  EXPECT_NE(speak({"Hello.", "--stream"}).errors.find("needs a clip of the voice"), std::string::npos);
  std::ofstream(out("silent.wav"), std::ios::binary)
      << wav_header({24000, 1, 24000, ""}) << pcm16_bytes(std::vector<float>(24000));
  EXPECT_NE(speak({"Hello.", "--voice", out("silent.wav"), "--stream"}).errors.find("is silent"), std::string::npos);
}

TEST_F(SpeakCommand, ListsVoices) {
  const ProcessResult list = run_process(WICK_PROGRAM, {"voices", model_}, {});
  EXPECT_EQ(list.output, "eric\nvivian\nlanguages: auto, chinese, english, german\n");
}

TEST(CodecCommand, GoesThereAndBack) {
  WICK_NEEDS_FIXTURE("mimi");
  const TempFolder folder;
  const auto out = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string mimi = family_folder("mimi").string();
  std::vector<float> sound;
  for (int i = 0; i < 4000; ++i) sound.push_back(static_cast<float>(i % 97 - 48) / 100);
  std::ofstream(out("a.wav"), std::ios::binary) << wav_header({16000, 1, 4000, ""}) << pcm16_bytes(sound);
  const ProcessResult there =
      run_process(WICK_PROGRAM, {"codec", "encode", mimi, out("a.wav"), "-o", out("codes.safetensors")}, {});
  EXPECT_EQ(there.output, "125 frames of 4 codes from 0.25 s of sound\n") << there.errors;
  const ProcessResult back =
      run_process(WICK_PROGRAM, {"codec", "decode", mimi, out("codes.safetensors"), "-o", out("b.wav")}, {});
  EXPECT_EQ(back.output, "0.25 s of sound from 125 frames\n") << back.errors;
  const ProcessResult fewer = run_process(
      WICK_PROGRAM, {"codec", "encode", mimi, out("a.wav"), "--codebooks", "2", "-o", out("two.safetensors")}, {});
  EXPECT_EQ(fewer.output, "125 frames of 2 codes from 0.25 s of sound\n");
  const auto fails = [&](const Words& words, const std::string& part) {
    const ProcessResult result = run_process(WICK_PROGRAM, words, {});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.errors.find(part), std::string::npos) << result.errors;
  };
  fails({"codec", "encode", mimi, out("a.wav"), "--codebooks", "9", "-o", out("c")},
        "1 to 4 codebooks; 9 are asked for");
  fails({"codec", "encode", mimi, out("a.wav"), "--bandwidth", "6", "-o", out("c")}, "has one bandwidth");
  fails({"codec", "decode", mimi, (family_folder("mimi") / "model.safetensors").string(), "-o", out("c")},
        "expected a tensor 'codes'");
  fails({"codec", "decode", family_folder("encodec").string(),
         (family_folder("mimi") / "reference.safetensors").string(), "-o", out("c")},
        "expected a tensor 'codes'");
  fails({"codec", "encode", family_folder("llama").string(), out("a.wav"), "-o", out("c")}, "that is no audio codec");
}

}  // namespace
}  // namespace wick
