// Text to speech over real connections.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "media/audio_reader.h"
#include "media/wav_writer.h"
#include "support/api_server.h"
#include "support/temp_folder.h"
#include "support/tiny_voice.h"

namespace wick {
namespace {

class SpeechTest : public testing::Test {
 protected:
  void SetUp() override {
    WICK_NEEDS_FIXTURE("qwen3_tts-talker");
    const auto path = make_tiny_voice(folder_.path() / "voice", "qwen3_tts-talker");
    voices_ = make_voice_host({{"talker", path, {}}}, 2, 3);
    server_ =
        std::make_unique<ApiServer>(std::vector<ModelEntry>{{"none", folder_.path() / "none", {}, {}}},
                                    HttpServerOptions(), nullptr, nullptr, nullptr, nullptr, nullptr, "", voices_);
  }
  static std::string body(const std::string& more, const std::string& input = "Hello there.") {
    return cat(R"({"input": ")", input, R"(", "temperature": 0)", more.empty() ? "" : ", ", more, "}");
  }
  // What the model says when asked without a server.
  std::string pcm(const std::string& text, const std::string& voice = "") {
    SpeakOptions options;
    options.temperature = 0;
    options.voice = voice;
    const auto model = voices_->use("talker");
    const auto speech = model->speak(text, options);
    std::string bytes;
    while (true) {
      const std::vector<float> part = speech->read(1000);
      if (part.empty()) return bytes;
      bytes += pcm16_bytes(part);
    }
  }

  TempFolder folder_;
  std::shared_ptr<VoiceHost> voices_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(SpeechTest, SpeaksAsTheLibraryDoes) {
  const HttpAnswer plain = server_->post("/v1/audio/speech", body(R"("response_format": "pcm")"));
  EXPECT_EQ(plain.status, 200) << plain.body;
  EXPECT_EQ(plain.field("content-type"), "audio/L16;rate=24000");
  EXPECT_EQ(plain.body, pcm("Hello there."));
  const HttpAnswer wav = server_->post("/v1/audio/speech", body(R"("voice": "Vivian", "model": "talker")"));
  EXPECT_EQ(wav.field("content-type"), "audio/wav");
  const std::string sound = pcm("Hello there.", "vivian");
  EXPECT_NE(sound, plain.body);
  EXPECT_TRUE(wav.body.ends_with(sound));
  EXPECT_NE(wav.body.find("synthetic speech"), std::string::npos);
  const auto reader =
      open_audio_in_memory("answer", std::as_bytes(std::span(wav.body)), nullptr, {.sample_rate = 24000});
  EXPECT_EQ(read_all(*reader, 1 << 24).size(), sound.size() / 2);
}

TEST_F(SpeechTest, ComesAsEvents) {
  const auto events = server_->stream("/v1/audio/speech", body(R"("stream_format": "sse", "response_format": "pcm")"));
  std::string sound;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const OrderedJson event = OrderedJson::parse(events[i].data);
    EXPECT_EQ(event["type"], "speech.audio.delta");
    const auto bytes = decode_base64(event["audio"].get<std::string>());
    ASSERT_TRUE(bytes);
    sound += *bytes;
  }
  EXPECT_EQ(sound, pcm("Hello there."));
  const OrderedJson last = OrderedJson::parse(events.back().data);
  EXPECT_EQ(last["type"], "speech.audio.done");
  EXPECT_DOUBLE_EQ(last["seconds"].get<double>(), static_cast<double>(sound.size()) / 2 / 24000);
}

TEST_F(SpeechTest, TellsWhatIsWrong) {
  const auto refused = [&](const std::string& body, int status, const std::string& part) {
    const HttpAnswer answer = server_->post("/v1/audio/speech", body);
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find(part), std::string::npos) << answer.body;
  };
  refused("{}", 400, "input is missing");
  refused(R"({"input": "  "})", 400, "there is nothing to say");
  refused(R"({"input": " ... "})", 400, "the text has no words");
  refused(R"({"input": 5})", 400, "input");
  refused(R"({"input": "a <|im_end|> b"})", 400, "spells the control token <|im_end|>");
  refused(cat(R"({"input": ")", std::string(16385, 'a'), R"("})"), 400, "the most are 16384");
  refused(body(R"("voice": "bob")"), 400, "there is no voice 'bob'; there are eric, vivian");
  refused(body(R"("language": "klingon")"), 400, "klingon");
  refused(body(R"("response_format": "midi")"), 400, "response_format");
  refused(body(R"("speed": 2)"), 400, "speed");
  refused(body(R"("model": "whisper")"), 404, "there is no voice model 'whisper'; known are: 'talker'");
  const ApiServer silent(std::vector<ModelEntry>{{"none", folder_.path() / "none", {}, {}}});
  EXPECT_EQ(silent.post("/v1/audio/speech", body("")).status, 404);
}

TEST_F(SpeechTest, ListsVoices) {
  const OrderedJson list = OrderedJson::parse(server_->get("/v1/audio/voices").body);
  ASSERT_EQ(list["data"].size(), 2u);
  EXPECT_EQ(list["data"][0]["id"], "eric");
  EXPECT_EQ(list["data"][1]["model"], "talker");
  EXPECT_NE(server_->get("/v1/models").body.find(R"("task":"speech")"), std::string::npos);
}

// Whoever goes away stops what is spoken for him; others are answered meanwhile, and too many are turned away.
TEST_F(SpeechTest, WhoLeavesIsForgotten) {
  std::string story;
  for (int i = 0; i < 100; ++i)
    story += "This is one of a hundred sentences, each of which takes its time to be said. ";
  const std::string right = pcm("Hello there.");
  for (int round = 0; round < 3; ++round) {
    std::vector<HttpClient> open;
    for (int i = 0; i < 2; ++i) open.push_back(server_->begin_stream("/v1/audio/speech", body("", story)));
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  HttpAnswer answer;
  do {
    answer = server_->post("/v1/audio/speech", body(R"("response_format": "pcm")"));
  } while (answer.status == 429 && std::chrono::steady_clock::now() < until);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, right);
}

}  // namespace
}  // namespace wick
