// What a key may have, and what it cannot learn of others.
#include <gtest/gtest.h>

#include "support/api_server.h"
#include "support/needs_ember.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

using std::chrono::seconds;

TEST(KeyUseTest, RequestsComeBackEvenly) {
  const auto use = std::make_shared<KeyUse>();
  const auto start = KeyUse::Clock::now();
  const KeyLimits limits{.requests_per_minute = 6};
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(use->begin("a", limits, start).place) << i;
  const KeyUse::Begun refused = use->begin("a", limits, start + seconds(3));
  EXPECT_FALSE(refused.place);
  EXPECT_EQ(refused.refusal, "This API key may send 6 requests per minute.");
  EXPECT_EQ(refused.wait, seconds(7));
  EXPECT_TRUE(use->begin("b", limits, start + seconds(3)).place);
  EXPECT_TRUE(use->begin("a", limits, start + seconds(10)).place);
  EXPECT_FALSE(use->begin("a", limits, start + seconds(10)).place);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(use->begin("a", limits, start + seconds(1000)).place) << i;
  EXPECT_FALSE(use->begin("a", limits, start + seconds(1000)).place) << "no more is saved up than a minute gives";
}

TEST(KeyUseTest, PlacesAreGivenBack) {
  const auto use = std::make_shared<KeyUse>();
  const KeyLimits limits{.connections = 2};
  const auto first = use->begin("a", limits).place;
  auto second = use->begin("a", limits).place;
  EXPECT_EQ(use->begin("a", limits).refusal, "This API key has 2 requests open, as many as it may have at once.");
  second.reset();
  EXPECT_TRUE(use->begin("a", limits).place);
}

TEST(KeyUseTest, TokensAreOwed) {
  KeyUse use;
  const auto start = KeyUse::Clock::now();
  const KeyLimits limits{.tokens_per_minute = 60};
  EXPECT_FALSE(use.wait_for_tokens("a", limits, start));
  use.spend_tokens("a", limits, 90, start);
  EXPECT_EQ(use.wait_for_tokens("a", limits, start), seconds(31));
  EXPECT_EQ(use.wait_for_tokens("a", limits, start + seconds(30)), seconds(1));
  EXPECT_FALSE(use.wait_for_tokens("a", limits, start + seconds(31)));
  EXPECT_FALSE(use.wait_for_tokens("b", limits, start));
}

TEST(KeyLimitsTest, ConnectionsCountUntilTheyAreAnswered) {
  HttpServerOptions options;
  options.keys = std::make_shared<ApiKeys>(ApiKeys::parse("a connections=1\nb", "keys"));
  std::shared_ptr<HttpExchange> open;
  std::mutex mutex;
  Router router;
  router.add("GET", "/wait", [&](const HttpRequest&, std::shared_ptr<HttpExchange> exchange) {
    const std::lock_guard lock(mutex);
    open = std::move(exchange);
  });
  router.add("GET", "/quick", [](const HttpRequest&, auto exchange) { exchange->send(text_response("now")); });
  TestHttpServer server(options, std::move(router));
  HttpClient waits = server.client(), other = server.client();
  waits.send("GET /wait HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\n\r\n");
  while (true) {
    const std::lock_guard lock(mutex);
    if (open) break;
  }
  const HttpAnswer refused = other.get("/quick", {{"Authorization", "Bearer a"}});
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.field("retry-after"), "1");
  EXPECT_EQ(server.client().get("/quick", {{"Authorization", "Bearer b"}}).status, 200);
  open->send(text_response("at last"));
  EXPECT_EQ(waits.read_answer().status, 200);
  EXPECT_EQ(server.client().get("/quick", {{"Authorization", "Bearer a"}}).status, 200);
  EXPECT_EQ(waits.get("/quick", {{"Authorization", "Bearer a"}}).status, 200);
}

class KeysOfEmber : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  static HttpServerOptions options(std::string_view keys) {
    HttpServerOptions options;
    options.keys = std::make_shared<ApiKeys>(ApiKeys::parse(keys, "keys"));
    return options;
  }
  static HttpAnswer complete(const ApiServer& server, const char* key, OrderedJson more = OrderedJson::object()) {
    OrderedJson body = {{"prompt",
                         "Once upon a time there was a fox who lived in the old forest by the river, and a "
                         "bear who did not like him at all because he sang in the morning."},
                        {"max_tokens", 4},
                        {"temperature", 0}};
    body.update(more);
    return server.post("/v1/completions", body.dump(), {{"Authorization", cat("Bearer ", key)}});
  }
  static int64_t cached(const ApiServer& server, const char* key) {
    const OrderedJson answer = OrderedJson::parse(complete(server, key).body);
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"];
  }
};

TEST_F(KeysOfEmber, WhatOneSendsIsNotSeenInTheOthersCache) {
  const ApiServer server(EngineOptions(), options("a\nb\nc cache=shared\nd cache=shared"));
  EXPECT_EQ(cached(server, "a"), 0);
  const int64_t known = cached(server, "a");
  EXPECT_GT(known, 16);
  EXPECT_EQ(cached(server, "b"), 0);
  EXPECT_EQ(cached(server, "c"), 0);
  EXPECT_EQ(cached(server, "d"), known);
  EXPECT_EQ(cached(server, "b"), known);
}

TEST_F(KeysOfEmber, TokensOfAMinuteAreSpent) {
  const ApiServer server(EngineOptions(), options("a tokens=20\nb"));
  EXPECT_EQ(complete(server, "a").status, 200);
  const HttpAnswer refused = complete(server, "a");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.body.find("20 tokens per minute"), std::string::npos) << refused.body;
  EXPECT_GT(std::stoi(refused.field("retry-after")), 10);
  EXPECT_EQ(complete(server, "b").status, 200);
}

TEST_F(KeysOfEmber, PrioritiesAboveTheirsAreRefused) {
  const ApiServer server(EngineOptions(), options("a priority=normal\nb"));
  EXPECT_EQ(complete(server, "a", {{"priority", "normal"}}).status, 200);
  const HttpAnswer refused = complete(server, "a", {{"priority", "high"}});
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("priority is high, allowed to this API key is at most normal"), std::string::npos);
  EXPECT_EQ(complete(server, "b", {{"priority", "critical"}}).status, 200);
}

}  // namespace
}  // namespace wick
