// Responses that are kept: asked for again, continued, with log-probabilities; what they tell of the request.
#include <gtest/gtest.h>

#include "server/api/responses/response_store.h"
#include "server/http/clients/api_keys.h"
#include "support/api_server.h"
#include "support/for_all_tests.h"
#include "support/needs_ember.h"

namespace wick {
namespace {

constexpr char kResponses[] = "/v1/responses";

ApiServer& keeper() {
  return for_all_tests([] { return std::make_unique<ApiServer>(); });
}

OrderedJson fetched(const std::string& path, int status = 200) {
  const HttpAnswer answer = keeper().get(path);
  EXPECT_EQ(answer.status, status) << answer.body;
  return OrderedJson::parse(answer.body);
}

TEST(Responses, AreKeptAndForgotten) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = keeper().answer(kResponses, R"({"input": "What is 348 plus 275?", "temperature": 0})");
  const std::string path = cat(kResponses, "/", answer["id"].get<std::string>());
  EXPECT_EQ(answer["store"], true);
  EXPECT_EQ(fetched(path), answer);
  EXPECT_NE(keeper().post(path + "/cancel", "{}").body.find("was not computed in the background"), std::string::npos);
  EXPECT_EQ(keeper().client().request("DELETE", path).status, 200);
  fetched(path, 404);
  const OrderedJson unkept =
      keeper().answer(kResponses, R"({"input": "What is 1 plus 2?", "temperature": 0, "store": false})");
  EXPECT_EQ(unkept["store"], false);
  fetched(cat(kResponses, "/", unkept["id"].get<std::string>()), 404);
  const std::vector<ServerEvent> events =
      keeper().stream(kResponses, R"({"input": "What is 348 plus 275?", "temperature": 0, "stream": true})");
  const OrderedJson streamed = OrderedJson::parse(events.back().data)["response"];
  EXPECT_EQ(fetched(cat(kResponses, "/", streamed["id"].get<std::string>())), streamed);
}

TEST(Responses, AreContinuedAsIfTheConversationWereSent) {
  WICK_NEEDS_EMBER();
  const OrderedJson first = keeper().answer(kResponses, R"({"input": "My name is Zoe.", "temperature": 0})");
  const OrderedJson second =
      keeper().answer(kResponses, cat(R"({"input": "What is my name?", "temperature": 0, "instructions": "Be kind.",
                          "previous_response_id": )",
                                      first["id"].dump(), "}"));
  EXPECT_EQ(second["previous_response_id"], first["id"]);
  OrderedJson messages =
      OrderedJson::array({{{"role", "system"}, {"content", "Be kind."}},
                          {{"role", "user"}, {"content", "My name is Zoe."}},
                          {{"role", "assistant"}, {"content", first["output"][0]["content"][0]["text"]}},
                          {{"role", "user"}, {"content", "What is my name?"}}});
  const OrderedJson chat =
      keeper().answer("/v1/chat/completions", cat(R"({"temperature": 0, "messages": )", messages.dump(), "}"));
  EXPECT_EQ(second["output"][0]["content"][0]["text"], chat["choices"][0]["message"]["content"]);
  EXPECT_EQ(second["usage"]["input_tokens"], chat["usage"]["prompt_tokens"]);

  const std::string items = cat(kResponses, "/", second["id"].get<std::string>(), "/input_items");
  const OrderedJson all = fetched(items + "?order=asc");
  ASSERT_EQ(all["data"].size(), 3u);
  EXPECT_EQ(all["data"][0]["content"][0]["text"], "My name is Zoe.");
  EXPECT_EQ(all["data"][1], first["output"][0]);
  EXPECT_EQ(all["has_more"], false);
  const OrderedJson page = fetched(items + "?limit=1");
  EXPECT_EQ(page["data"][0], all["data"][2]);
  EXPECT_EQ(page["has_more"], true);
  const OrderedJson next = fetched(cat(items, "?limit=2&after=", page["last_id"].get<std::string>()));
  EXPECT_EQ(next["data"], OrderedJson::array({all["data"][1], all["data"][0]}));
  EXPECT_EQ(next["has_more"], false);
  fetched(items + "?limit=0", 400);
  fetched(items + "?after=x", 400);
  const HttpAnswer lost = keeper().post(kResponses, R"({"input": "a", "previous_response_id": "resp_x"})");
  EXPECT_EQ(lost.status, 404);
  EXPECT_EQ(OrderedJson::parse(lost.body)["error"]["param"], "previous_response_id");
}

TEST(Responses, BelongToTheirKey) {
  WICK_NEEDS_EMBER();
  HttpServerOptions options;
  options.keys = std::make_shared<const ApiKeys>(ApiKeys::parse("a: one\nb: two\n", "keys"));
  const ApiServer guarded(EngineOptions{}, std::move(options));
  const HttpClient::Fields a = {{"Authorization", "Bearer one"}}, b = {{"Authorization", "Bearer two"}};
  const OrderedJson made = OrderedJson::parse(guarded.post(kResponses, R"({"input": "Who are you?"})", a).body);
  const std::string id = made["id"], path = cat(kResponses, "/", id);
  EXPECT_EQ(guarded.client().get(path, a).status, 200);
  EXPECT_EQ(guarded.client().get(path, b).status, 404);
  EXPECT_EQ(guarded.client().get(path + "/input_items", b).status, 404);
  EXPECT_EQ(guarded.post(kResponses, cat(R"({"input": "a", "previous_response_id": ")", id, "\"}"), b).status, 404);
  EXPECT_EQ(guarded.client().request("DELETE", path, {}, b).status, 404);
  EXPECT_EQ(guarded.client().get(path, a).status, 200);
}

TEST(Responses, TellLogProbabilitiesAsChatsDo) {
  WICK_NEEDS_EMBER();
  const std::string more = R"("temperature": 0, "top_logprobs": 2)";
  const OrderedJson answer = keeper().answer(
      kResponses,
      cat(R"({"input": "What is 348 plus 275?", "include": ["message.output_text.logprobs"], )", more, "}"));
  const OrderedJson chat = keeper().answer(
      "/v1/chat/completions",
      cat(R"({"messages": [{"role": "user", "content": "What is 348 plus 275?"}], "logprobs": true, )", more, "}"));
  EXPECT_EQ(answer["output"][0]["content"][0]["logprobs"], chat["choices"][0]["logprobs"]["content"]);
  EXPECT_EQ(answer["top_logprobs"], 2);
  OrderedJson streamed = OrderedJson::array();
  for (const ServerEvent& event : keeper().stream(kResponses, cat(R"({"input": "What is 348 plus 275?", "stream": true,
                               "include": ["message.output_text.logprobs"], )",
                                                                  more, "}"))) {
    const OrderedJson data = OrderedJson::parse(event.data);
    if (data["type"] != "response.output_text.delta") continue;
    streamed.insert(streamed.end(), data["logprobs"].begin(), data["logprobs"].end());
  }
  EXPECT_EQ(streamed, answer["output"][0]["content"][0]["logprobs"]);
}

TEST(Responses, TellTheSamplingThatWasUsed) {
  WICK_NEEDS_EMBER();
  const OrderedJson usual = keeper().answer(kResponses, R"({"input": "Who are you?", "max_output_tokens": 2})");
  EXPECT_EQ(usual["temperature"], 1);
  EXPECT_EQ(usual["top_p"], 1);
  EXPECT_EQ(usual["truncation"], "disabled");
  const OrderedJson own = keeper().answer(
      kResponses, R"({"input": "Who are you?", "max_output_tokens": 2, "temperature": 0.7, "truncation": "auto"})");
  EXPECT_EQ(own["temperature"].dump(), "0.7");
  EXPECT_EQ(own["truncation"], "auto");
}

TEST(ResponseStore, TheOldestOfWhoHasMostGo) {
  constexpr size_t kRoom = 256 * 1024;
  ResponseStore store(kRoom);
  const auto keep = [&](const std::string& id, const std::string& client) {
    store.keep(id, {"key", client, std::string(1000, 'i'), std::string(1000, 'o')});
  };
  keep("modest", "a");
  for (int i = 0; i < 1000; ++i) keep(cat("greedy", i), "b");
  EXPECT_TRUE(store.find("key", "modest"));
  EXPECT_FALSE(store.find("key", "greedy0"));
  EXPECT_TRUE(store.find("key", "greedy999"));
  EXPECT_FALSE(store.find("other", "modest"));
  EXPECT_FALSE(store.erase("other", "modest"));
  EXPECT_TRUE(store.erase("key", "modest"));
  EXPECT_FALSE(store.erase("key", "modest"));
  store.keep("huge", {"key", "a", std::string(kRoom / 64, 'i'), {}});
  EXPECT_FALSE(store.find("key", "huge"));
}

TEST(Completions, OffsetsCountCharactersThatTokensShare) {
  WICK_NEEDS_EMBER();
  const std::string prompt = "naïve 😀 中文 x";
  const OrderedJson answer = keeper().answer(
      "/v1/completions",
      cat(R"({"prompt": )", OrderedJson(prompt).dump(), R"(, "echo": true, "max_tokens": 0, "logprobs": 0})"));
  const OrderedJson& logprobs = answer["choices"][0]["logprobs"];
  ASSERT_GT(logprobs["tokens"].size(), 11u);  // some characters are several tokens
  EXPECT_EQ(logprobs["tokens"].back(), "x");
  EXPECT_EQ(logprobs["text_offset"].back(), 11);
  EXPECT_TRUE(std::is_sorted(logprobs["text_offset"].begin(), logprobs["text_offset"].end()));
}

TEST(Completions, ChunksHaveNoUsageBeforeTheLast) {
  WICK_NEEDS_EMBER();
  const std::vector<ServerEvent> events = keeper().stream("/v1/completions", R"({"prompt": "Once", "max_tokens": 3,
      "stream": true, "stream_options": {"include_usage": true}})");
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    const OrderedJson chunk = OrderedJson::parse(events[i].data);
    EXPECT_TRUE(chunk.contains("usage") && chunk["usage"].is_null()) << events[i].data;
  }
  EXPECT_EQ(OrderedJson::parse(events[events.size() - 2].data)["usage"]["completion_tokens"], 3);
}

TEST(Tokenize, CountsTools) {
  WICK_NEEDS_EMBER();
  const std::string body = R"({"messages": [{"role": "user", "content": "Who are you?"}], "tools": [{"type": "function",
      "function": {"name": "f", "description": "does it", "parameters": {"type": "object"}}}])";
  const OrderedJson chat = keeper().answer("/v1/chat/completions", cat(body, R"(, "max_tokens": 1})"));
  EXPECT_EQ(keeper().answer("/tokenize", body + "}")["count"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(keeper()
                .post("/tokenize", R"({"content": "a", "tools": [{"type": "function", "function": {"name": "f"}}]})")
                .status,
            400);
}

TEST(Models, AreToldAsAnthropicsClientsReadThem) {
  const HttpAnswer answer = keeper().client().get("/v1/models", {{"anthropic-version", "2023-06-01"}});
  const OrderedJson list = OrderedJson::parse(answer.body);
  EXPECT_EQ(list["has_more"], false);
  EXPECT_EQ(list["data"][0]["type"], "model");
  EXPECT_EQ(list["data"][0]["display_name"], "ember");
  EXPECT_EQ(list["data"][0]["created_at"], "1970-01-01T00:00:00Z");
  EXPECT_FALSE(fetched("/v1/models")["data"][0].contains("type"));
}

}  // namespace
}  // namespace wick
