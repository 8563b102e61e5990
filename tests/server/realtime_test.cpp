// Sessions of /v1/realtime over real connections, with Ember-ASR listening and Ember answering.
#include <gtest/gtest.h>

#include "media/resampler.h"
#include "support/api_server.h"
#include "support/comes_true.h"
#include "support/for_all_tests.h"
#include "support/needs_ember.h"
#include "support/realtime_client.h"
#include "support/speech_samples.h"

namespace wick {
namespace {

constexpr char kPartial[] = "conversation.item.input_audio_transcription.partial";
constexpr char kDelta[] = "conversation.item.input_audio_transcription.delta";
constexpr char kCompleted[] = "conversation.item.input_audio_transcription.completed";
constexpr char kStarted[] = "input_audio_buffer.speech_started";
constexpr char kStopped[] = "input_audio_buffer.speech_stopped";
constexpr char kCommitted[] = "input_audio_buffer.committed";
constexpr char kText[] = "response.output_text.delta";

OrderedJson format(int rate) { return {{"type", "audio/pcm"}, {"rate", rate}}; }
OrderedJson input(OrderedJson fields) { return {{"audio", {{"input", std::move(fields)}}}}; }

class RealtimeSessions : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }

  // One for all tests, so that the model is loaded once.
  static const std::shared_ptr<SpeechHost>& speech() {
    return for_all_tests([] {
      return std::make_unique<std::shared_ptr<SpeechHost>>(std::make_shared<SpeechHost>(
          std::vector<SpeechEntry>{{"ember-asr", "", {}}, {"broken", "/no/such/model", {}}}));
    });
  }
  static std::string heard_offline(std::span<const float> samples) {
    return speech()->use("ember-asr")->recognize(*read_samples(samples)).text;
  }
  ApiServer& server() {
    if (!server_) server_ = std::make_unique<ApiServer>(EngineOptions(), HttpServerOptions(), nullptr, speech());
    return *server_;
  }
  // Past the greeting, at 16 kHz.
  RealtimeClient connect(OrderedJson turn_detection = {{"type", "server_vad"}}) {
    RealtimeClient client(server().port());
    EXPECT_EQ(client.next()["type"], "session.created");
    client.update(input({{"format", format(16000)}, {"turn_detection", std::move(turn_detection)}}));
    EXPECT_EQ(client.next()["type"], "session.updated");
    client.forget();
    return client;
  }
  void expect_idle() {
    const auto engine = server().host().loaded("ember");
    if (!engine) return;
    EXPECT_TRUE(comes_true([&] { return engine->is_idle(); }));
    const EngineSnapshot snapshot = engine->snapshot();
    EXPECT_EQ(snapshot.running + snapshot.waiting + snapshot.paused, 0);
  }

  std::unique_ptr<ApiServer> server_;
};

TEST_F(RealtimeSessions, HearInFramesWhatIsHeardInAFile) {
  RealtimeClient client = connect();
  std::vector<float> all;  // that was sent, with pauses that end the turns
  std::vector<std::string> turns;
  for (const SpeechSample& sample : speech_samples()) {
    client.forget();
    const std::vector<float> sound = sample.samples(), pause(24000);
    client.speak(sound);
    client.next(kPartial);
    client.speak(pause);
    all.insert(all.end(), sound.begin(), sound.end());
    all.insert(all.end(), pause.begin(), pause.end());
    const OrderedJson done = client.next(kCompleted);
    turns.push_back(done["transcript"]);
    const std::string item = done["item_id"];
    for (const OrderedJson& event : client.events()) {
      EXPECT_EQ(event.contains("item") ? event["item"]["id"] : event["item_id"], item) << event.dump();
    }
    EXPECT_EQ(client.find(kStarted), 0u);
    EXPECT_LT(client.find(kPartial), client.find(kStopped));
    EXPECT_LT(client.find(kStopped), client.find(kCommitted));
    EXPECT_LT(client.find(kCommitted), client.find("conversation.item.added"));
    EXPECT_LT(client.find("conversation.item.added"), client.find(kDelta));
    EXPECT_EQ(client.events()[client.find(kDelta)]["delta"], done["transcript"]);
  }
  std::vector<std::string> segments;
  const Recognition offline = speech()->use("ember-asr")->recognize(*read_samples(all));
  for (const RecognizedSegment& segment : offline.segments) segments.push_back(segment.text);
  EXPECT_EQ(turns, segments);
}

TEST_F(RealtimeSessions, TheSessionSaysWhatAPauseIs) {
  const std::vector<SpeechSample> samples = speech_samples();
  const std::vector<float> pause(11200);  // 0.7 s
  const auto speak = [&](RealtimeClient& client) {
    for (int i = 0; i < 2; ++i) {
      client.speak(samples[static_cast<size_t>(i)].samples());
      client.speak(pause);
    }
  };
  RealtimeClient patient = connect();
  speak(patient);
  patient.send({{"type", "input_audio_buffer.commit"}});
  patient.next(kCompleted);
  EXPECT_EQ(std::count_if(patient.events().begin(), patient.events().end(),
                          [](const OrderedJson& event) { return event["type"] == kStarted; }),
            1);

  RealtimeClient quick = connect({{"type", "server_vad"}, {"silence_duration_ms", 300}, {"prefix_padding_ms", 250}});
  speak(quick);
  EXPECT_EQ(quick.next(kCompleted)["transcript"], samples[0].heard);
  EXPECT_EQ(quick.next(kCompleted)["transcript"], samples[1].heard);
  quick.update(input({{"turn_detection", {{"type", "server_vad"}, {"threshold", 0.6}}}}));
  const OrderedJson turns = quick.next("session.updated")["session"]["audio"]["input"]["turn_detection"];
  EXPECT_EQ(turns["silence_duration_ms"], 300);
  EXPECT_NEAR(turns["threshold"].get<double>(), 0.6, 1e-6);
}

TEST_F(RealtimeSessions, TimesCountFromTheBeginningOfTheSession) {
  RealtimeClient client = connect();
  const SpeechSample sample = speech_samples()[1];
  const std::vector<float> sound = sample.samples();
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    client.speak(std::vector<float>(32000));
    client.speak(sound);
    client.send({{"type", "input_audio_buffer.commit"}});  // does not wait for a pause
    const double begin = client.next(kStarted)["audio_start_ms"], end = client.next(kStopped)["audio_end_ms"];
    EXPECT_NEAR(begin / 1000, seconds + 2, 0.6);
    seconds += 2 + static_cast<double>(sound.size()) / 16000;
    EXPECT_NEAR(end / 1000, seconds, 0.6);
    EXPECT_EQ(client.next(kCompleted)["transcript"], sample.heard);
  }
}

TEST_F(RealtimeSessions, ACommitAlwaysHasAnAnswer) {
  RealtimeClient client = connect();
  client.speak(std::vector<float>(20000));
  client.send({{"type", "input_audio_buffer.commit"}, {"event_id", "in silence"}});
  EXPECT_EQ(client.next_error("input_audio_buffer_commit_empty"), "there is no speech to commit");
  EXPECT_EQ(client.events().back()["error"]["event_id"], "in silence");
  client.speak(speech_samples()[0].samples());
  client.send({{"type", "input_audio_buffer.commit"}});
  const std::string item = client.next(kCommitted)["item_id"];
  EXPECT_EQ(client.next(kCompleted)["item_id"], item);
}

TEST_F(RealtimeSessions, SettingsMayChangeInTheMiddle) {
  const std::vector<SpeechSample> samples = speech_samples();
  RealtimeClient client = connect(nullptr);
  client.append(samples[0].samples());
  client.update(input({{"transcription", {{"language", "en"}}}}));  // between commits, the text goes on
  client.append(samples[1].samples());
  client.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_EQ(client.next(kCompleted)["transcript"], cat(samples[0].heard, " ", samples[1].heard));
  client.append(samples[2].samples());
  client.update(input({{"turn_detection", {{"type", "server_vad"}}}}));  // ends the turn
  EXPECT_EQ(client.next(kCompleted)["transcript"], samples[2].heard);
  client.append(samples[3].samples());
  client.update(input({{"turn_detection", nullptr}}));
  client.next(kStarted);
  EXPECT_EQ(client.next(kCompleted)["transcript"], samples[3].heard);
  client.send({{"type", "input_audio_buffer.commit"}});
  client.next_error("input_audio_buffer_commit_empty");
}

TEST_F(RealtimeSessions, SoundAt24kHzIsTheUsual) {
  RealtimeClient client(server().port(), "?intent=transcription");
  const OrderedJson created = client.next("session.created");
  EXPECT_EQ(created["session"]["type"], "transcription");
  EXPECT_EQ(created["session"]["audio"]["input"]["format"]["rate"], 24000);
  EXPECT_EQ(created["session"]["audio"]["input"]["transcription"]["model"], "ember-asr");
  client.send({{"type", "transcription_session.update"},
               {"session", {{"input_audio_format", "pcm16"}, {"turn_detection", nullptr}}}});
  EXPECT_TRUE(client.next("session.updated")["session"]["audio"]["input"]["turn_detection"].is_null());
  const SpeechSample sample = speech_samples()[2];
  client.speak(resample(sample.samples(), 16000, 24000), 24000);
  client.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_EQ(client.next(kCompleted)["transcript"], sample.heard);
}

TEST_F(RealtimeSessions, TheClientMayCommit) {
  RealtimeClient client = connect(nullptr);
  client.send({{"type", "input_audio_buffer.commit"}, {"event_id", "mine"}});
  EXPECT_EQ(client.next_error("input_audio_buffer_commit_empty"), "there is no sound to commit");
  EXPECT_EQ(client.events().back()["error"]["event_id"], "mine");

  // Several pieces with pauses between them are one item.
  const std::vector<float> sound = some_speech(1.5, 3);
  client.speak(sound);
  client.send({{"type", "input_audio_buffer.commit"}});
  const std::string item = client.next(kCommitted)["item_id"];
  const OrderedJson done = client.next(kCompleted);
  EXPECT_EQ(done["item_id"], item);
  EXPECT_EQ(done["transcript"], heard_offline(sound));
  EXPECT_EQ(client.count(kStarted), 0u);
  EXPECT_GE(client.count(kPartial), 1u);

  // What was cleared is not heard.
  client.forget();
  client.speak(sound);
  client.send({{"type", "input_audio_buffer.clear"}});
  client.next("input_audio_buffer.cleared");
  const SpeechSample sample = speech_samples()[4];
  client.append(sample.samples());
  client.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_EQ(client.next(kCompleted)["transcript"], sample.heard);
  EXPECT_EQ(client.count(kCompleted), 1u);
}

TEST_F(RealtimeSessions, SilenceHasNoText) {
  RealtimeClient client = connect(nullptr);
  client.speak(std::vector<float>(20000));
  client.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_EQ(client.next(kCompleted)["transcript"], "");
  EXPECT_EQ(client.types(), (std::vector<std::string>{kCommitted, kCompleted}));
}

TEST_F(RealtimeSessions, ManyAtOnceHearEachTheirOwn) {
  const std::vector<SpeechSample> samples = speech_samples();
  std::vector<RealtimeClient> clients;
  for (size_t i = 0; i < 6; ++i) clients.push_back(connect(nullptr));
  for (size_t i = 0; i < clients.size(); ++i) clients[i].speak(samples[i].samples());
  for (RealtimeClient& client : clients) client.send({{"type", "input_audio_buffer.commit"}});
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i].next(kCompleted)["transcript"], samples[i].heard);
  }
}

TEST_F(RealtimeSessions, MistakesAreToldAndTheSessionGoesOn) {
  RealtimeClient client = connect(nullptr);
  const auto says = [&](std::string_view text, std::string_view code) {
    client.socket().send_text(text);
    return client.next_error(code);
  };
  EXPECT_NE(says("{", "invalid_json").find("the event"), std::string::npos);
  says("", "invalid_value");
  EXPECT_EQ(says("[]", "invalid_type"), "the event is not an object");
  EXPECT_EQ(says("{}", "missing_required_parameter"), "type is missing");
  EXPECT_EQ(says(R"({"type": "dance"})", "unknown_event"), "there is no event of the type 'dance'");
  says(R"({"type": "input_audio_buffer.append"})", "missing_required_parameter");
  EXPECT_EQ(says(R"({"type": "input_audio_buffer.append", "audio": "a*c="})", "invalid_base64"), "audio is not Base64");
  EXPECT_EQ(says(R"({"type": "input_audio_buffer.append", "audio": "AAAA"})", "invalid_audio"),
            "audio has 3 bytes, but a sample has two");
  client.socket().send_binary("abc");
  client.next_error("invalid_audio");
  says(R"({"type": "response.cancel"})", "response_cancel_not_active");
  says(R"({"type": "response.create"})", "conversation_empty");
  says(R"({"type": "session.update"})", "missing_required_parameter");
  const auto update = [&](const OrderedJson& session, std::string_view code) {
    return says(OrderedJson({{"type", "session.update"}, {"session", session}}).dump(), code);
  };
  EXPECT_NE(update({{"input_audio_format", "g711_ulaw"}}, "invalid_value").find("g711_ulaw"), std::string::npos);
  update(input({{"format", {{"type", "audio/pcmu"}}}}), "invalid_value");
  update(input({{"format", format(1000)}}), "invalid_value");
  update(input({{"turn_detection", {{"type", "semantic_vad"}}}}), "invalid_value");
  update(input({{"turn_detection", {{"silence_duration_ms", 0}}}}), "invalid_value");
  update(input({{"turn_detection", {{"threshold", 1.5}}}}), "invalid_value");
  EXPECT_EQ(update(input({{"transcription", {{"model", "whisper-9"}}}}), "model_not_found"),
            "there is no speech model 'whisper-9'; known are: 'ember-asr', 'broken'");
  update({{"model", "nobody"}}, "model_not_found");
  update({{"output_modalities", {"audio"}}}, "unsupported_value");
  update({{"tools", {{{"type", "function"}}}}}, "unsupported_parameter");
  update({{"max_output_tokens", 0}}, "invalid_value");
  // Nothing of it has changed anything.
  const SpeechSample sample = speech_samples()[0];
  client.speak(sample.samples());
  client.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_EQ(client.next(kCompleted)["transcript"], sample.heard);
}

TEST_F(RealtimeSessions, AModelThatCannotBeLoadedIsToldOncePerSetting) {
  RealtimeClient client = connect(nullptr);
  client.update(input({{"transcription", {{"model", "broken"}}}}));
  client.next("session.updated");
  const SpeechSample sample = speech_samples()[0];
  client.append(sample.samples());
  EXPECT_NE(client.next_error("transcription_failed").find("/no/such/model"), std::string::npos);
  client.append(sample.samples());
  client.send({{"type", "input_audio_buffer.commit"}});
  client.next(kCommitted);
  EXPECT_EQ(client.next()["type"], "conversation.item.input_audio_transcription.failed");
  client.update(input({{"transcription", {{"model", "ember-asr"}}}}));
  client.next("session.updated");
  client.append(sample.samples());
  client.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_EQ(client.next(kCompleted)["transcript"], sample.heard);
}

TEST_F(RealtimeSessions, AModelThatThereIsNotIsNoSession) {
  EXPECT_THROW(RealtimeClient(server().port(), "?model=nobody"), Error);
  RealtimeClient client(server().port(), "?model=ember");
  EXPECT_EQ(client.next()["session"]["model"], "ember");
  EXPECT_EQ(server().get("/v1/realtime").status, 426);
}

TEST_F(RealtimeSessions, ClientsMayGoAtAnyMoment) {
  for (int i = 0; i < 4; ++i) {
    RealtimeClient client = connect(i % 2 ? OrderedJson() : OrderedJson({{"type", "server_vad"}}));
    client.speak(some_speech(0.5, 2));
    if (i % 2) client.send({{"type", "input_audio_buffer.commit"}});
    if (i < 2) client.next(i % 2 ? kCommitted : kStarted);
    client.socket().cut();
  }
  EXPECT_TRUE(
      comes_true([&] { return server().get("/metrics").body.find("wick_web_sockets 0") != std::string::npos; }));
  server_.reset();  // while the ears may still be at work
}

TEST_F(RealtimeSessions, TooMuchUnheardSoundEndsTheSession) {
  Router router;
  const auto host = std::make_shared<ModelHost>(std::vector<ModelEntry>{{"ember", {}, {}, {}}}, int64_t{1} << 30);
  ApiMetrics metrics(std::make_shared<Metrics>(), host);
  Realtime realtime(host, speech(), metrics, {.most_unheard_seconds = 1});
  realtime.add_routes(router);
  HttpServer small(std::move(router), {});
  RealtimeClient client(small.port());
  client.next("session.created");
  client.append(std::vector<float>(24001));
  EXPECT_EQ(client.next_error("overloaded"), "The sound comes faster than the server can hear it.");
  EXPECT_EQ(client.socket().read_to_close(), 1013);
}

class RealtimeAnswers : public RealtimeSessions {
 protected:
  static void say(RealtimeClient& client, const std::string& text) {
    client.send(
        {{"type", "conversation.item.create"},
         {"item", {{"type", "message"}, {"role", "user"}, {"content", {{{"type", "input_text"}, {"text", text}}}}}}});
    EXPECT_EQ(client.next("conversation.item.added")["item"]["content"][0]["text"], text);
    client.next("conversation.item.done");
  }
  static void begin_endless(RealtimeClient& client) {
    say(client, "Tell me a story.");
    client.send({{"type", "response.create"}, {"response", {{"ignore_eos", true}, {"max_output_tokens", 3900}}}});
    client.next(kText);
  }
};

TEST_F(RealtimeAnswers, ItemsOfTheConversationHaveIds) {
  RealtimeClient client = connect();
  client.update({{"temperature", 0}});
  client.next("session.updated");
  const auto add = [&](const char* id, const char* role, const char* kind, const char* text) {
    client.send(
        {{"type", "conversation.item.create"},
         {"item", {{"type", "message"}, {"id", id}, {"role", role}, {"content", {{{"type", kind}, {"text", text}}}}}}});
  };
  add("first", "user", "input_text", "My name is Zoe.");
  EXPECT_TRUE(client.next("conversation.item.done")["previous_item_id"].is_null());
  add("second", "user", "input_text", "What is 348 plus 275?");
  EXPECT_EQ(client.next("conversation.item.done")["previous_item_id"], "first");
  client.send({{"type", "conversation.item.retrieve"}, {"item_id", "first"}});
  EXPECT_EQ(client.next("conversation.item.retrieved")["item"]["content"][0]["text"], "My name is Zoe.");
  client.send({{"type", "conversation.item.delete"}, {"item_id", "first"}});
  EXPECT_EQ(client.next("conversation.item.deleted")["item_id"], "first");
  client.send({{"type", "conversation.item.delete"}, {"item_id", "first"}});
  EXPECT_EQ(client.next_error("item_not_found"), "there is no item 'first'");
  add("second", "user", "input_text", "Again.");
  EXPECT_EQ(client.next_error("item_exists"), "there is an item 'second' already");
  client.send({{"type", "response.create"}});
  const OrderedJson told = client.next("conversation.item.done");  // of the answer
  EXPECT_EQ(told["previous_item_id"], "second");
  EXPECT_EQ(told["item"]["content"][0]["text"], "348 + 275 = 623");  // as if the first had never been
  client.next("response.done");
  client.send({{"type", "conversation.item.retrieve"}, {"item_id", told["item"]["id"]}});
  EXPECT_EQ(client.next("conversation.item.retrieved")["item"], told["item"]);
  client.send({{"type", "conversation.item.truncate"},
               {"item_id", told["item"]["id"]},
               {"content_index", 0},
               {"audio_end_ms", 10}});
  EXPECT_NE(client.next_error("unsupported_value").find("has no sound to cut"), std::string::npos);
}

TEST_F(RealtimeAnswers, AreThoseOfAChat) {
  RealtimeClient client = connect();
  client.update({{"temperature", 0}, {"instructions", "You are a helpful assistant."}});
  client.next("session.updated");
  say(client, "What is 3 plus 4?");
  client.send({{"type", "response.create"}});
  const OrderedJson done = client.next("response.done")["response"];
  const OrderedJson chat = server().answer("/v1/chat/completions",
                                           R"({"temperature": 0, "messages": [
      {"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": "What is 3 plus 4?"}]})");
  const std::string expected = chat["choices"][0]["message"]["content"];
  EXPECT_EQ(done["status"], "completed");
  EXPECT_EQ(done["output"][0]["content"][0]["text"], expected);
  EXPECT_EQ(done["usage"]["output_tokens"], chat["usage"]["completion_tokens"]);
  std::string text;
  for (const OrderedJson& event : client.events()) {
    if (event["type"] == kText) text += event["delta"];
  }
  EXPECT_EQ(text, expected);
  EXPECT_LT(client.find("response.created"), client.find("response.output_item.added"));
  EXPECT_LT(client.find("response.output_item.added"), client.find(kText));

  // The answer is part of the conversation.
  say(client, "And 5 more?");
  client.send({{"type", "response.create"}});
  const OrderedJson second = client.next("response.done")["response"];
  const OrderedJson messages = {{{"role", "system"}, {"content", "You are a helpful assistant."}},
                                {{"role", "user"}, {"content", "What is 3 plus 4?"}},
                                {{"role", "assistant"}, {"content", expected}},
                                {{"role", "user"}, {"content", "And 5 more?"}}};
  const OrderedJson longer =
      server().answer("/v1/chat/completions", OrderedJson({{"temperature", 0}, {"messages", messages}}).dump());
  EXPECT_EQ(second["output"][0]["content"][0]["text"], longer["choices"][0]["message"]["content"]);
}

TEST_F(RealtimeAnswers, FollowATurnWhenTheyAreToBe) {
  RealtimeClient client = connect({{"type", "server_vad"}, {"create_response", true}});
  client.update({{"temperature", 0}});
  client.next("session.updated");
  const SpeechSample sample = speech_samples()[2];
  client.speak(sample.samples());
  client.speak(std::vector<float>(24000));
  const OrderedJson done = client.next("response.done")["response"];
  EXPECT_EQ(done["status"], "completed");
  const OrderedJson messages = {{{"role", "user"}, {"content", sample.heard}}};
  const OrderedJson chat =
      server().answer("/v1/chat/completions", OrderedJson({{"temperature", 0}, {"messages", messages}}).dump());
  EXPECT_EQ(done["output"][0]["content"][0]["text"], chat["choices"][0]["message"]["content"]);
  EXPECT_LT(client.find(kCompleted), client.find("response.created"));
}

TEST_F(RealtimeAnswers, SpeechEndsThem) {
  RealtimeClient client = connect();
  begin_endless(client);
  client.forget();
  const SpeechSample sample = speech_samples()[1];
  client.speak(sample.samples());
  const OrderedJson done = client.next("response.done")["response"];
  EXPECT_EQ(done["status"], "cancelled");
  EXPECT_EQ(done["status_details"]["reason"], "turn_detected");
  EXPECT_LT(done["usage"]["output_tokens"], 3900);
  // From the moment that somebody speaks, nothing of the answer comes any more.
  const std::vector<std::string> types = client.types();
  ASSERT_LT(client.find(kStarted), types.size());
  EXPECT_EQ(std::count(types.begin() + static_cast<ptrdiff_t>(client.find(kStarted)), types.end(), kText), 0);
  expect_idle();
  EXPECT_EQ(server().host().loaded("ember")->snapshot().counters.cancelled, 1);
  // The session goes on, and knows what was said by then.
  client.speak(std::vector<float>(24000));
  EXPECT_EQ(client.next(kCompleted)["transcript"], sample.heard);
  client.send({{"type", "response.create"}, {"response", {{"max_output_tokens", 5}}}});
  const OrderedJson next = client.next("response.done")["response"];
  EXPECT_TRUE(next["status"] == "incomplete" || next["status"] == "completed");
  EXPECT_GT(next["usage"]["input_tokens"], done["usage"]["output_tokens"]);
}

TEST_F(RealtimeAnswers, SpeechDoesNotEndThemWhenItIsNotTo) {
  RealtimeClient client = connect({{"type", "server_vad"}, {"interrupt_response", false}});
  begin_endless(client);
  client.speak(speech_samples()[1].samples());
  client.next(kStarted);
  client.next(kText);
  client.send({{"type", "response.create"}});
  while (client.next()["type"] != "error") continue;
  EXPECT_EQ(client.events().back()["error"]["code"], "conversation_already_has_active_response");
  client.send({{"type", "response.cancel"}});
  const OrderedJson done = client.next("response.done")["response"];
  EXPECT_EQ(done["status"], "cancelled");
  EXPECT_EQ(done["status_details"]["reason"], "client_cancelled");
  expect_idle();
}

TEST_F(RealtimeAnswers, EndWithTheirClient) {
  {
    RealtimeClient client = connect();
    begin_endless(client);
    client.socket().cut();
  }
  expect_idle();
  EXPECT_EQ(server().host().loaded("ember")->snapshot().counters.cancelled, 1);
}

TEST_F(RealtimeAnswers, DoNotComeInSessionsForTranscription) {
  RealtimeClient client = connect({{"type", "server_vad"}, {"create_response", true}});
  client.update({{"type", "transcription"}});
  client.next("session.updated");
  say(client, "Hello.");
  client.send({{"type", "response.create"}});
  EXPECT_EQ(client.next_error("unsupported_value"), "a session for transcription does not answer");
}

}  // namespace
}  // namespace wick
