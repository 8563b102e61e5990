// `wick serve --journal` is killed at random moments and started again, until everything that was accepted is done.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "support/api_server.h"
#include "support/comes_true.h"
#include "support/errors.h"
#include "support/needs_ember.h"
#include "support/serve_process.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

bool is_over(const OrderedJson& response) {
  return response["status"] == "completed" || response["status"] == "incomplete";
}

struct Wanted {
  std::string key, body;
};

// Short and long, with seeds and without.
std::vector<Wanted> wanted_responses() {
  std::vector<Wanted> list;
  for (int i = 0; i < 14; ++i) {
    OrderedJson body = {{"input", i % 2 ? "Tell me a story." : cat("What is ", 100 + i, " plus 275?")},
                        {"temperature", 0.8},
                        {"max_output_tokens", i % 2 ? 300 : 40}};
    if (i % 2) body["ignore_eos"] = true;
    if (i % 3) body["seed"] = 1000 + i;
    list.push_back({cat("key-", i), body.dump()});
  }
  return list;
}

std::string with(const std::string& body, std::string_view name, const OrderedJson& value) {
  OrderedJson json = OrderedJson::parse(body);
  json[std::string(name)] = value;
  return json.dump();
}

TEST(Crash, WhatWasAcceptedIsAnsweredOnce) {
  WICK_NEEDS_EMBER();
  const TempFolder folder;
  const std::vector<std::string> options = {"--journal", (folder.path() / "journal").string()};
  const std::vector<Wanted> wanted = wanted_responses();
  std::map<std::string, std::string> ids;        // by key: those that were accepted, as the client heard
  std::map<std::string, OrderedJson> completed;  // by id, as somebody has seen it
  std::mt19937 random(static_cast<unsigned>(getpid()));
  SCOPED_TRACE(cat("seed ", getpid()));
  size_t asked = 0;
  int kills_while_computing = 0;
  constexpr int kKills = 12;
  for (int round = 0; round <= kKills; ++round) {
    ServeProcess server(folder.path(), options);
    ASSERT_EQ(server.output().find("damaged"), std::string::npos) << server.output();
    const auto pause = std::chrono::milliseconds(random() % 150);
    // From another thread, so that it meets requests in every phase. The last round is left in peace.
    std::thread killer([&, round] {
      if (round == kKills) return;
      std::this_thread::sleep_for(pause);
      server.kill_it();
    });
    try {
      for (const auto& [id, response] : completed) {
        EXPECT_EQ(server.json("GET", "/v1/responses/" + id), response);  // never another answer
      }
      EXPECT_TRUE(comes_true([&] {
        server.request("GET", "/health");  // notices a kill when there is nothing else to ask
        if (asked < wanted.size() && (round == kKills || random() % 3 == 0)) {
          const Wanted& next = wanted[asked];
          const HttpAnswer answer = server.request("POST", "/v1/responses", with(next.body, "background", true),
                                                   {{"Idempotency-Key", next.key}});
          EXPECT_EQ(answer.status, 200) << answer.body;
          ids[next.key] = OrderedJson::parse(answer.body)["id"];
          ++asked;
        }
        for (const auto& [key, id] : ids) {
          if (completed.contains(id)) continue;
          const OrderedJson response = server.json("GET", "/v1/responses/" + id);
          EXPECT_TRUE(response["status"] == "queued" || response["status"] == "in_progress" || is_over(response))
              << response;
          if (is_over(response)) completed[id] = response;
        }
        return round == kKills && completed.size() == wanted.size();
      }));
    } catch (
        const Error&) {  // the server has gone in the middle of a request; the client asks again, with the same key
    }
    killer.join();
    kills_while_computing += completed.size() < ids.size() ? 1 : 0;
  }
  ASSERT_EQ(completed.size(), wanted.size());
  EXPECT_GT(kills_while_computing, 0);
  std::set<std::string> different;
  for (const auto& [key, id] : ids) different.insert(id);
  EXPECT_EQ(different.size(), wanted.size());

  // Nothing is left to compute, and each is what a plain request with its seed gives.
  const ServeProcess server(folder.path(), options);
  EXPECT_EQ(server.metric("wick_journal_responses"), std::ssize(wanted));
  EXPECT_EQ(server.metric("wick_journal_pending"), 0);
  EXPECT_EQ(server.metric("wick_background_started_total"), 0);
  for (const Wanted& one : wanted) {
    const OrderedJson& response = completed.at(ids.at(one.key));
    const OrderedJson plain = server.json("POST", "/v1/responses", with(one.body, "seed", response["seed"]));
    EXPECT_EQ(response["status"], plain["status"]) << one.body;
    EXPECT_EQ(response["output"][0]["content"][0]["text"], plain["output"][0]["content"][0]["text"]) << one.body;
    EXPECT_EQ(response["usage"]["output_tokens"], plain["usage"]["output_tokens"]) << one.body;
    const OrderedJson body = OrderedJson::parse(one.body);
    EXPECT_EQ(response["seed"], body.value("seed", response["seed"]));
  }
}

// Of n requests, those that were over before the kill are not computed after it, and the others are, once.
TEST(Crash, OnlyWhatIsNotOverIsComputedAgain) {
  WICK_NEEDS_EMBER();
  const TempFolder folder;
  const std::vector<std::string> options = {"--journal", (folder.path() / "journal").string()};
  const std::string quick = R"({"input": "What is 348 plus 275?", "background": true, "temperature": 0})";
  const std::string slow = R"({"input": "Tell me a story.", "background": true, "ignore_eos": true, "seed": 5,
                               "max_output_tokens": 600})";
  std::vector<std::string> quick_ids, slow_ids;
  {
    ServeProcess server(folder.path(), options);
    for (int i = 0; i < 3; ++i) quick_ids.push_back(server.json("POST", "/v1/responses", quick)["id"]);
    for (const std::string& id : quick_ids) {
      EXPECT_TRUE(comes_true([&] { return is_over(server.json("GET", "/v1/responses/" + id)); }));
    }
    for (int i = 0; i < 2; ++i) slow_ids.push_back(server.json("POST", "/v1/responses", slow)["id"]);
    EXPECT_TRUE(comes_true([&] { return server.json("GET", "/v1/responses/" + slow_ids[1])["status"] != "queued"; }));
    server.kill_it();
  }
  const ServeProcess server(folder.path(), options);
  EXPECT_NE(server.output().find("The journal holds 5 responses, 2 of them to be computed"), std::string::npos)
      << server.output();
  for (const std::string& id : slow_ids) {
    EXPECT_TRUE(comes_true([&] { return is_over(server.json("GET", "/v1/responses/" + id)); }));
  }
  EXPECT_EQ(server.metric("wick_background_started_total"), 2);
  EXPECT_EQ(server.metric("wick_background_finished_total{status=\"incomplete\"}"), 2);
  EXPECT_EQ(server.metric("wick_engine_submitted_total{model=\"ember\"}"), 2);
  EXPECT_EQ(server.json("GET", "/v1/responses/" + quick_ids[0])["output"][0]["content"][0]["text"], "348 + 275 = 623");
}

TEST(Crash, TwoServersDoNotShareAJournal) {
  WICK_NEEDS_EMBER();
  const TempFolder folder;
  const std::vector<std::string> options = {"--journal", (folder.path() / "journal").string()};
  ServeProcess first(folder.path(), options);
  EXPECT_ERROR(ServeProcess(folder.path(), options), kIo, "another server uses this journal");
  first.kill_it();
  const ServeProcess second(folder.path(), options);
  EXPECT_EQ(second.request("GET", "/health").status, 200);
}

}  // namespace
}  // namespace wick
