// Responses in the background over real connections, on a server that starts again in this process.
#include <gtest/gtest.h>

#include "support/api_server.h"
#include "support/comes_true.h"
#include "support/needs_ember.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

constexpr char kResponses[] = "/v1/responses";
const char kSum[] = R"({"input": "What is 348 plus 275?", "temperature": 0, "background": true})";
// Takes long enough to be caught in the middle.
const char kLong[] = R"({"input": "Tell me a story.", "background": true, "ignore_eos": true,
                         "max_output_tokens": 800})";

OrderedJson json_of(const HttpAnswer& answer) { return OrderedJson::parse(answer.body); }
OrderedJson json_of(const ServerEvent& event) { return OrderedJson::parse(event.data); }
std::string path_of(const OrderedJson& response) { return cat("/v1/responses/", response["id"].get<std::string>()); }
std::string text_of(const OrderedJson& response) {
  EXPECT_EQ(response["output"].size(), 1u) << response;
  return response["output"][0]["content"][0]["text"];
}

class Background : public testing::Test {
 protected:
  void SetUp() override {
    WICK_NEEDS_EMBER();
    start();
  }
  void start(HttpServerOptions http = {}) {
    server_.reset();
    JournalOptions options;
    options.folder = folder_.path() / "journal";
    options.most_entries = 40;
    server_ = std::make_unique<ApiServer>(EngineOptions(), std::move(http), std::make_shared<Journal>(options));
  }
  ApiServer& server() { return *server_; }
  OrderedJson ask(std::string_view body, const HttpClient::Fields& fields = {}) {
    const HttpAnswer answer = server().post(kResponses, body, fields);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer);
  }
  OrderedJson get(const OrderedJson& response) { return json_of(server().get(path_of(response))); }
  // Waits until it is over.
  OrderedJson result(const OrderedJson& response) {
    OrderedJson now;
    EXPECT_TRUE(comes_true([&] {
      now = get(response);
      return now["status"] != "queued" && now["status"] != "in_progress";
    })) << now;
    return now;
  }
  double metric(const std::string& name) {
    const std::string text = server().get("/metrics").body;
    const size_t at = text.find(cat("\n", name, " "));
    return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
  }

  TempFolder folder_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(Background, AnswersAtOnceAndCompletesLater) {
  const OrderedJson first = ask(kSum);
  EXPECT_EQ(first["status"], "queued");
  EXPECT_EQ(first["background"], true);
  EXPECT_EQ(first["object"], "response");
  EXPECT_TRUE(first["output"].empty());
  EXPECT_TRUE(first["usage"].is_null());
  const OrderedJson last = result(first);
  EXPECT_EQ(last["status"], "completed");
  EXPECT_EQ(text_of(last), "348 + 275 = 623");
  EXPECT_EQ(last["created_at"], first["created_at"]);
  EXPECT_EQ(last["seed"], first["seed"]);
  EXPECT_GT(last["usage"]["output_tokens"], 5);
  // Fields that a plain response has, too, and no others.
  const OrderedJson plain = server().answer(kResponses, R"({"input": "What is 348 plus 275?", "temperature": 0})");
  for (const auto& [name, value] : plain.items()) EXPECT_TRUE(last.contains(name)) << name;
  EXPECT_EQ(last.size(), plain.size());
  EXPECT_EQ(plain["background"], false);
}

TEST_F(Background, IsWhatAPlainRequestWithItsSeedGives) {
  const OrderedJson drawn = result(ask(R"({"input": "Tell me a story.", "background": true, "temperature": 1,
                                           "max_output_tokens": 40})"));
  const OrderedJson plain = server().answer(kResponses, cat(R"({"input": "Tell me a story.", "temperature": 1,
      "max_output_tokens": 40, "seed": )",
                                                            drawn["seed"].get<int64_t>(), "}"));
  EXPECT_EQ(text_of(drawn), text_of(plain));
  EXPECT_EQ(drawn["status"], plain["status"]);
  EXPECT_EQ(drawn["incomplete_details"], plain["incomplete_details"]);
}

TEST_F(Background, SurvivesARestart) {
  const OrderedJson done = result(ask(kSum)), begun = ask(kLong);
  EXPECT_TRUE(comes_true([&] { return get(begun)["status"] == "in_progress"; }));
  start();
  EXPECT_EQ(get(done), done);
  EXPECT_EQ(result(begun)["usage"]["output_tokens"], 800);
  EXPECT_EQ(metric("wick_background_started_total"), 1);  // the other one was there
  EXPECT_EQ(metric("wick_journal_responses"), 2);
  EXPECT_EQ(metric("wick_journal_pending"), 0);
}

TEST_F(Background, CancelsWhatIsNotOver) {
  const OrderedJson running = ask(kLong);
  EXPECT_TRUE(comes_true([&] { return get(running)["status"] == "in_progress"; }));
  const OrderedJson cancelled = json_of(server().post(path_of(running) + "/cancel", ""));
  EXPECT_EQ(cancelled["status"], "cancelled");
  EXPECT_TRUE(cancelled["output"].empty());
  EXPECT_EQ(json_of(server().post(path_of(running) + "/cancel", "")), cancelled);
  EXPECT_TRUE(comes_true([&] { return metric("wick_engine_cancelled_total{model=\"ember\"}") == 1; }));

  const OrderedJson done = result(ask(kSum));
  EXPECT_EQ(json_of(server().post(path_of(done) + "/cancel", "")), done);
  start();
  EXPECT_EQ(get(running), cancelled);
  EXPECT_EQ(metric("wick_background_started_total"), 0);
}

TEST_F(Background, ForgetsWhatIsDeleted) {
  const OrderedJson done = result(ask(kSum)), running = ask(kLong);
  for (const OrderedJson& response : {done, running}) {
    const HttpAnswer answer = server().client().request("DELETE", path_of(response));
    EXPECT_EQ(json_of(answer), (OrderedJson{{"id", response["id"]}, {"object", "response"}, {"deleted", true}}));
    EXPECT_EQ(server().get(path_of(response)).status, 404);
    EXPECT_EQ(server().client().request("DELETE", path_of(response)).status, 404);
  }
  start();
  EXPECT_EQ(server().get(path_of(done)).status, 404);
  EXPECT_EQ(metric("wick_journal_responses"), 0);
}

TEST_F(Background, AnIdempotencyKeyIsAnsweredOnce) {
  const HttpClient::Fields key = {{"Idempotency-Key", "order 66"}};
  const OrderedJson first = ask(kSum, key);
  EXPECT_EQ(ask(kSum, key)["id"], first["id"]);
  const OrderedJson done = result(first);
  EXPECT_EQ(ask(kSum, key), done);
  EXPECT_EQ(metric("wick_background_started_total"), 1);
  const HttpAnswer other = server().post(kResponses, kLong, key);
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(json_of(other)["error"]["code"], "idempotency_key_reused");
  start();
  EXPECT_EQ(ask(kSum, key), done);
  EXPECT_EQ(metric("wick_background_started_total"), 0);
  const HttpAnswer bad = server().post(kResponses, kSum, {{"Idempotency-Key", std::string(256, 'k')}});
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(json_of(bad)["error"]["param"], "Idempotency-Key");
}

TEST_F(Background, MistakesThatTheModelFindsAreFailures) {
  std::string words;
  for (int i = 0; i < 5000; ++i) words += "word ";
  const OrderedJson failed = result(ask(cat(R"({"background": true, "input": ")", words, R"("})")));
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["error"]["code"], "context_length_exceeded");
  EXPECT_NE(failed["error"]["message"].get<std::string>().find("but the context is 4096"), std::string::npos);
  EXPECT_TRUE(failed["output"].empty());
}

TEST_F(Background, MistakesOfFormAreToldAtOnce) {
  const HttpAnswer model = server().post(kResponses, R"({"input": "x", "background": true, "model": "nobody"})");
  EXPECT_EQ(model.status, 404);
  EXPECT_EQ(server().post(kResponses, R"({"input": "x", "background": true, "temperature": 9})").status, 400);
  for (const char* path : {"/v1/responses/resp_x", "/v1/responses/resp_x/input_items"}) {
    EXPECT_EQ(server().get(path).status, 404);
  }
  EXPECT_EQ(server().post("/v1/responses/resp_x/cancel", "").status, 404);
  EXPECT_EQ(server().post("/v1/responses/resp_x", "").status, 404);
  EXPECT_EQ(server().get("/v1/responses/resp_x?stream=true").status, 404);
  EXPECT_EQ(server().get("/v1/responses/resp_x?stream=yes").status, 400);
  EXPECT_EQ(server().get("/v1/responses/resp_x?starting_after=2").status, 400);
  for (const char* number : {"-1", "x", "9223372036854775807", ""}) {
    EXPECT_EQ(server().get(cat("/v1/responses/resp_x?stream=true&starting_after=", number)).status, 400) << number;
  }
  EXPECT_EQ(metric("wick_journal_responses"), 0);
}

TEST_F(Background, MoreThanFitsIsRefused) {
  std::vector<OrderedJson> responses;
  for (int i = 0; i < 40; ++i) responses.push_back(ask(kSum));  // more than are computed at a time
  const HttpAnswer refused = server().post(kResponses, kSum);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(json_of(refused)["error"]["code"], "journal_full");
  EXPECT_EQ(
      json_of(refused)["error"]["message"],
      "the journal is full: it may hold 40 responses. Delete responses, or wait until some are 86400 seconds old");
  for (const OrderedJson& response : responses) EXPECT_EQ(text_of(result(response)), "348 + 275 = 623");
  server().client().request("DELETE", path_of(responses[7]));
  EXPECT_EQ(server().post(kResponses, kSum).status, 200);
}

TEST_F(Background, BelongsToWhoAsked) {
  HttpServerOptions http;
  http.keys = std::make_shared<ApiKeys>(ApiKeys::parse("tom: aaa\nann: bbb", "keys"));
  start(http);
  const HttpClient::Fields tom = {{"Authorization", "Bearer aaa"}, {"Idempotency-Key", "k"}};
  const HttpClient::Fields ann = {{"Authorization", "Bearer bbb"}, {"Idempotency-Key", "k"}};
  const OrderedJson response = ask(kSum, tom);
  const std::string path = path_of(response);
  EXPECT_EQ(server().client().get(path, tom).status, 200);
  EXPECT_EQ(server().client().get(path, ann).status, 404);
  EXPECT_EQ(server().client().request("POST", path + "/cancel", "", ann).status, 404);
  EXPECT_EQ(server().client().request("DELETE", path, "", ann).status, 404);
  EXPECT_NE(ask(kSum, ann)["id"], response["id"]);
  EXPECT_EQ(server().client().request("DELETE", path, "", tom).status, 200);
}

TEST_F(Background, WaitsForAModelThatIsNotOffered) {
  server_.reset();
  JournalOptions options;
  options.folder = folder_.path() / "journal";
  {
    Journal journal(options);
    JournalEntry entry;
    entry.id = "resp_elsewhere";
    entry.model = "elsewhere";
    entry.body = std::make_shared<const std::string>(kSum);
    journal.accept(entry);
    entry.id = "resp_broken";
    entry.model = "ember";
    entry.body = std::make_shared<const std::string>("not a request");
    journal.accept(entry);
  }
  start();
  const OrderedJson broken = result({{"id", "resp_broken"}});
  EXPECT_EQ(broken["status"], "failed");
  EXPECT_EQ(json_of(server().get("/v1/responses/resp_elsewhere"))["status"], "queued");
  EXPECT_EQ(json_of(server().post("/v1/responses/resp_elsewhere/cancel", ""))["status"], "cancelled");
}

const char kStreamedSum[] =
    R"({"input": "What is 348 plus 275?", "temperature": 0, "background": true, "stream": true})";
const char kStreamedLong[] = R"({"input": "Tell me a story.", "background": true, "stream": true, "ignore_eos": true,
                                 "max_output_tokens": 300})";

std::string deltas_of(const std::vector<ServerEvent>& events) {
  std::string text;
  for (const ServerEvent& event : events) {
    if (event.name == "response.output_text.delta") text += json_of(event)["delta"].get<std::string>();
  }
  return text;
}

TEST_F(Background, StreamsWhatIsComputed) {
  const std::vector<ServerEvent> events = server().stream(kResponses, kStreamedSum);
  ASSERT_GT(events.size(), 10u);
  std::vector<std::string> names;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(json_of(events[i])["sequence_number"], i);
    EXPECT_EQ(json_of(events[i])["type"], events[i].name);
    if (names.empty() || names.back() != events[i].name) names.push_back(events[i].name);
  }
  const std::vector<std::string> right = {"response.created",
                                          "response.queued",
                                          "response.in_progress",
                                          "response.output_item.added",
                                          "response.content_part.added",
                                          "response.output_text.delta",
                                          "response.output_text.done",
                                          "response.content_part.done",
                                          "response.output_item.done",
                                          "response.completed"};
  EXPECT_EQ(names, right);
  EXPECT_EQ(deltas_of(events), "348 + 275 = 623");
  const OrderedJson first = json_of(events.front())["response"], last = json_of(events.back())["response"];
  EXPECT_EQ(first["status"], "queued");
  EXPECT_EQ(last, get(first));
  EXPECT_EQ(text_of(last), "348 + 275 = 623");
  // The same as often as it is asked for, from any event on.
  const std::string path = path_of(first);
  const auto same = [&](size_t begin, const HttpAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    const auto again = events_of(answer.body);
    ASSERT_EQ(again.size(), events.size() - begin);
    for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].data, events[begin + i].data);
  };
  same(0, server().get(path + "?stream=true"));
  same(6, server().get(path + "?stream=true&starting_after=5"));
  same(events.size(), server().get(path + "?stream=true&starting_after=1000"));
}

TEST_F(Background, AStreamThatIsLeftIsTakenUpAgain) {
  HttpClient open = server().begin_stream(kResponses, kStreamedLong);
  open.read_head();
  std::string seen;
  while (events_of(seen).size() < 12) seen += open.read_chunk().value();
  open.close();
  seen.resize(seen.rfind("\n\n") + 2);
  std::vector<ServerEvent> events = events_of(seen);
  const std::string path = path_of(json_of(events.front())["response"]);
  const HttpAnswer rest = server().get(cat(path, "?stream=true&starting_after=", events.size() - 1));
  ASSERT_EQ(rest.status, 200) << rest.body;
  for (ServerEvent& event : events_of(rest.body)) events.push_back(std::move(event));
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(json_of(events[i])["sequence_number"], i);
  const OrderedJson last = json_of(events.back())["response"];
  EXPECT_EQ(last["status"], "incomplete");
  EXPECT_EQ(events.back().name, "response.incomplete");
  EXPECT_EQ(deltas_of(events), text_of(last));
}

// It is computed again with its seed: what a client has seen stays true.
TEST_F(Background, AStreamGoesOnAfterARestart) {
  HttpClient open = server().begin_stream(kResponses, kStreamedLong);
  open.read_head();
  std::string seen;
  while (events_of(seen).size() < 12) seen += open.read_chunk().value();
  open.close();
  seen.resize(seen.rfind("\n\n") + 2);
  std::vector<ServerEvent> events = events_of(seen);
  start();
  const std::string path = path_of(json_of(events.front())["response"]);
  const std::vector<ServerEvent> all = events_of(server().get(path + "?stream=true").body);
  ASSERT_GT(all.size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].data, all[i].data);
  EXPECT_EQ(deltas_of(all), text_of(json_of(all.back())["response"]));
}

TEST_F(Background, WhatIsOverIsStreamedFromTheJournal) {
  const OrderedJson whole = result(ask(kSum));
  const auto streamed = [&] { return server().get(path_of(whole) + "?stream=true"); };
  const std::vector<ServerEvent> before = events_of(streamed().body);
  start();
  const std::vector<ServerEvent> events = events_of(streamed().body);
  ASSERT_EQ(events.size(), before.size());
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].data, before[i].data);
  EXPECT_EQ(deltas_of(events), "348 + 275 = 623");
  EXPECT_EQ(json_of(events.back())["response"], whole);
  const HttpAnswer refused = server().get(path_of(whole) + "?stream=true&starting_after=3");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json_of(refused)["error"]["param"], "starting_after");
}

TEST_F(Background, OnlyWhatWasAskedForAsAStreamIsOneBeforeItsEnd) {
  const OrderedJson response = ask(kLong);
  const HttpAnswer refused = server().get(path_of(response) + "?stream=true");
  EXPECT_EQ(refused.status, 400) << refused.body;
  server().post(path_of(response) + "/cancel", "");
}

TEST_F(Background, AStreamEndsWhenItsResponseIsCancelledOrDeleted) {
  for (const bool cancels : {true, false}) {
    HttpClient open = server().begin_stream(
        kResponses, R"({"input": "Tell me a story.", "background": true, "stream": true, "ignore_eos": true,
                        "max_output_tokens": 3000})");
    open.read_head();
    std::string seen;
    while (events_of(seen).size() < 6) seen += open.read_chunk().value();
    const std::string path = path_of(json_of(events_of(seen).front())["response"]);
    if (cancels) {
      EXPECT_EQ(server().post(path + "/cancel", "").status, 200);
    } else {
      EXPECT_EQ(server().client().request("DELETE", path).status, 200);
    }
    while (const auto chunk = open.read_chunk()) seen += *chunk;
    EXPECT_EQ(events_of(seen).back().name == "response.cancelled", cancels);
    EXPECT_EQ(server().get(path + "?stream=true").status, cancels ? 200 : 404);
  }
}

TEST(BackgroundWithoutJournal, IsRefusedWithTheOption) {
  WICK_NEEDS_EMBER();
  const ApiServer server;
  const HttpAnswer answer = server.post(kResponses, kSum);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(json_of(answer)["error"]["message"],
            "background needs a journal: the server was started without --journal DIR");
  EXPECT_EQ(json_of(answer)["error"]["param"], "background");
  const HttpAnswer get = server.get("/v1/responses/resp_x");
  EXPECT_EQ(get.status, 404);
  EXPECT_EQ(json_of(get)["error"]["message"],
            "there is no response 'resp_x': without --journal DIR the server keeps only the last ones");
  EXPECT_EQ(server.client().request("DELETE", "/v1/responses/resp_x").status, 404);
}

}  // namespace
}  // namespace wick
