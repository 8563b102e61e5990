// Runs `wick transcribe` as a user does, with Ember-ASR.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/speech_samples.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

using Words = std::vector<std::string>;

ProcessResult transcribe(Words arguments) {
  arguments.insert(arguments.begin(), "transcribe");
  return run_process(WICK_PROGRAM, arguments, {});
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class TranscribeCommand : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  std::string name(size_t sample) const { return samples_[sample].file.string(); }
  std::vector<SpeechSample> samples_ = speech_samples();
  TempFolder folder_;
};

TEST_F(TranscribeCommand, WritesTheTextAndNothingElse) {
  const ProcessResult result = transcribe({name(0)});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, samples_[0].heard + "\n");
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(transcribe({name(0), "--timestamps"}).output, "[00:00.000 --> 00:00.833]  " + samples_[0].heard + "\n");
  EXPECT_EQ(transcribe({name(0), "--stream"}).output, samples_[0].heard + "\n");
  EXPECT_EQ(transcribe({name(0), "--format", "tsv"}).output, "start\tend\ttext\n0\t833\t" + samples_[0].heard + "\n");
  EXPECT_NE(transcribe({name(0), "--stats"}).errors.find("times real time (mel "), std::string::npos);
}

TEST_F(TranscribeCommand, ReadsStandardInput) {
  const Words piped = {"-c", "\"$1\" transcribe - < \"$2\"", "sh", WICK_PROGRAM, name(2)};
  EXPECT_EQ(run_process("/bin/sh", piped, {}).output, samples_[2].heard + "\n");
  // The samples alone, behind the header of 44 bytes.
  const Words raw = {"-c", "tail -c +45 \"$2\" | \"$1\" transcribe --raw s16 -", "sh", WICK_PROGRAM, name(2)};
  EXPECT_EQ(run_process("/bin/sh", raw, {}).output, samples_[2].heard + "\n");
  EXPECT_EQ(
      run_process("/bin/sh", {"-c", "head -c 64000 /dev/zero | \"$1\" transcribe --raw s16 -", "sh", WICK_PROGRAM}, {})
          .output,
      "");
}

TEST_F(TranscribeCommand, SeveralFilesKeepTheirOrder) {
  Words files;
  std::string expected;
  for (size_t i = 0; i < samples_.size(); ++i) {
    files.push_back(name(i));
    expected += name(i) + ": " + samples_[i].heard + "\n";
  }
  EXPECT_EQ(transcribe(files).output, expected);
  files.insert(files.end(), {"--format", "srt", "--output", folder_.path().string()});
  EXPECT_EQ(transcribe(files).output, "");
  EXPECT_NE(file_text(folder_.path() / "11.wav.srt").find(samples_[10].heard), std::string::npos);
  // One that is damaged does not keep the others from being written down.
  const auto broken = folder_.path() / "broken.wav";
  std::ofstream(broken) << "no sound at all";
  const ProcessResult result = transcribe({name(0), broken.string(), name(1)});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find(samples_[0].heard), std::string::npos);
  EXPECT_NE(result.output.find(samples_[1].heard), std::string::npos);
  EXPECT_NE(result.errors.find("broken.wav: "), std::string::npos);
}

TEST_F(TranscribeCommand, TellsEverythingAsJson) {
  const auto report = nlohmann::json::parse(transcribe({name(10), "--format", "json", "--language", "en"}).output);
  EXPECT_EQ(report["text"], samples_[10].heard);
  EXPECT_EQ(report["model"], "Ember-ASR");
  EXPECT_EQ(report["language"], "en");
  EXPECT_EQ(report["duration"], 4.223);
  ASSERT_EQ(report["segments"].size(), 1u);
  EXPECT_EQ(report["segments"][0]["end"], 4.223);
  EXPECT_GT(report["timings"]["tokens"], 10);
  EXPECT_GT(report["timings"]["times_real_time"], 0);
}

TEST_F(TranscribeCommand, SaysWhatIsWrong) {
  const auto complaint = [](Words arguments) {
    const ProcessResult result = transcribe(std::move(arguments));
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(result.output, "");
    return result.errors;
  };
  EXPECT_NE(complaint({"nowhere.wav"}).find("wick: nowhere.wav: "), std::string::npos);
  EXPECT_NE(complaint({name(0), "--model", "nowhere"}).find("nowhere"), std::string::npos);
  EXPECT_EQ(complaint({name(0), "--language", "de"}), "wick: Ember-ASR does not know the language 'de'; it knows en\n");
  EXPECT_NE(complaint({name(0), "--raw", "s17"}).find("--raw 's17': expected s16 or f32"), std::string::npos);
  EXPECT_NE(complaint({name(0), "--words", "--format", "json"}).find("needs a forced aligner"), std::string::npos);
  EXPECT_NE(complaint({name(0), name(1), "--format", "srt"}).find("needs --output FOLDER"), std::string::npos);
  EXPECT_NE(complaint({name(0), "--model", WICK_SOURCE_DIR "/models/ember"}).find("does not write down speech"),
            std::string::npos);
}

}  // namespace
}  // namespace wick
