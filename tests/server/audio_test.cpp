// Speech to text over HTTP, with Ember-ASR.
#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "support/api_server.h"
#include "support/needs_ember.h"
#include "support/speech_samples.h"

namespace wick {
namespace {

using Form = std::vector<std::pair<std::string, std::string>>;

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class AudioApi : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }

  HttpAnswer post(const std::string& path, const std::string& file, const Form& form = {}) const {
    std::string body;
    for (const auto& [name, value] : form) {
      body += cat("--edge\r\nContent-Disposition: form-data; name=\"", name, "\"\r\n\r\n", value, "\r\n");
    }
    body += cat("--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"talk.wav\"\r\n\r\n", file,
                "\r\n--edge--\r\n");
    return server_.post(path, body, {{"Content-Type", "multipart/form-data; boundary=edge"}});
  }
  HttpAnswer transcribe(const std::string& file, const Form& form = {}) const {
    return post("/v1/audio/transcriptions", file, form);
  }
  std::string complaint(const HttpAnswer& answer, int status = 400) const {
    EXPECT_EQ(answer.status, status) << answer.body;
    return OrderedJson::parse(answer.body)["error"]["message"].get<std::string>();
  }

  ApiServer server_;
  std::vector<SpeechSample> samples_ = speech_samples();
};

TEST_F(AudioApi, AnswersInEveryFormat) {
  const SpeechSample& sample = samples_[2];
  const std::string file = file_bytes(sample.file);
  const OrderedJson plain = OrderedJson::parse(transcribe(file, {{"model", "ember-asr"}}).body);
  EXPECT_EQ(plain["text"], sample.heard);
  EXPECT_EQ(plain["usage"]["seconds"], 4);
  const HttpAnswer text = transcribe(file, {{"response_format", "text"}});
  EXPECT_EQ(text.body, sample.heard + "\n");
  EXPECT_EQ(text.field("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(transcribe(file, {{"response_format", "srt"}}).body,
            "1\n00:00:00,000 --> 00:00:03,825\n" + sample.heard + "\n\n");
  EXPECT_EQ(transcribe(file, {{"response_format", "vtt"}}).body,
            "WEBVTT\n\n00:00:00.000 --> 00:00:03.825\n" + sample.heard + "\n\n");
  const OrderedJson verbose = OrderedJson::parse(transcribe(file, {{"response_format", "verbose_json"}}).body);
  EXPECT_EQ(verbose["text"], sample.heard);
  EXPECT_EQ(verbose["language"], "english");
  EXPECT_EQ(verbose["duration"], 3.825);
  ASSERT_EQ(verbose["segments"].size(), 1u);
  EXPECT_EQ(verbose["segments"][0]["text"], sample.heard);
  EXPECT_LT(verbose["segments"][0]["avg_logprob"], 0);
  EXPECT_FALSE(verbose.contains("words"));
}

TEST_F(AudioApi, StreamsTheText) {
  const SpeechSample& sample = samples_[10];
  const HttpAnswer answer =
      transcribe(file_bytes(sample.file), {{"stream", "true"}, {"response_format", "verbose_json"}});
  EXPECT_EQ(answer.field("content-type"), "text/event-stream");
  std::string text, done;
  int segments = 0;
  for (const ServerEvent& event : events_of(answer.body)) {
    const OrderedJson data = OrderedJson::parse(event.data);
    if (data["type"] == "transcript.text.delta") text += data["delta"].get<std::string>();
    if (data["type"] == "transcript.text.segment") ++segments;
    if (data["type"] == "transcript.text.done") done = data["text"];
  }
  EXPECT_EQ(text, sample.heard);
  EXPECT_EQ(done, sample.heard);
  EXPECT_EQ(segments, 1);
}

TEST_F(AudioApi, ManyAtOnceGetTheirOwnText) {
  std::vector<std::future<HttpAnswer>> answers;
  for (const SpeechSample& sample : samples_) {
    answers.push_back(std::async(std::launch::async, [&] {
      HttpAnswer answer = transcribe(file_bytes(sample.file), {{"response_format", "text"}});
      while (answer.status == 429) {  // two are written down at a time, four wait
        EXPECT_EQ(answer.field("retry-after"), "5");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        answer = transcribe(file_bytes(sample.file), {{"response_format", "text"}});
      }
      return answer;
    }));
  }
  for (size_t i = 0; i < samples_.size(); ++i) EXPECT_EQ(answers[i].get().body, samples_[i].heard + "\n");
}

TEST_F(AudioApi, SilenceIsAnEmptyText) {
  std::string wav = file_bytes(samples_[0].file).substr(0, 44);
  wav.resize(44 + 32000);
  EXPECT_EQ(OrderedJson::parse(transcribe(wav).body)["text"], "");
  EXPECT_EQ(transcribe(wav, {{"response_format", "srt"}}).body, "");
}

TEST_F(AudioApi, SaysWhatIsWrong) {
  const std::string file = file_bytes(samples_[0].file);
  EXPECT_EQ(complaint(transcribe("")), "talk.wav: the file is empty");
  EXPECT_NE(complaint(transcribe("this is no sound, whatever its name says")).find("talk.wav"), std::string::npos);
  EXPECT_EQ(complaint(transcribe(file, {{"model", "whisper-9"}}), 404),
            "there is no speech model 'whisper-9'; known are: 'ember-asr'");
  EXPECT_EQ(complaint(transcribe(file, {{"language", "tlh"}})),
            "Ember-ASR does not know the language 'tlh'; it knows en");
  EXPECT_EQ(complaint(transcribe(file, {{"temperature", "warm"}})), "temperature is text, expected a number");
  EXPECT_EQ(complaint(transcribe(file, {{"temperature", "7"}})), "temperature is 7, allowed is 0 to 1");
  for (const char* none : {"nan", "-nan", "inf", "1e999"}) {
    EXPECT_EQ(complaint(transcribe(file, {{"temperature", none}})), "temperature is text, expected a number") << none;
  }
  EXPECT_NE(complaint(transcribe(file, {{"response_format", "pdf"}})).find("response_format"), std::string::npos);
  EXPECT_EQ(complaint(transcribe(file, {{"file", "two"}})), "the form has two files, expected one");
  EXPECT_NE(complaint(post("/v1/audio/translations", file)).find("does not translate"), std::string::npos);
  EXPECT_EQ(complaint(server_.post("/v1/audio/transcriptions", "{}"), 415),
            "the body is to be a form (multipart/form-data) with the sound as its file");
  EXPECT_EQ(complaint(server_.post("/v1/audio/transcriptions", "--edge--",
                                   {{"Content-Type", "multipart/form-data; boundary=edge"}})),
            "file is missing");
  // After all that, it still listens.
  EXPECT_EQ(OrderedJson::parse(transcribe(file).body)["text"], samples_[0].heard);
}

}  // namespace
}  // namespace wick
