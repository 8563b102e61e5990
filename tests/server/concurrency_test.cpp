// Many clients at once over real connections, each of whom must read what it would read alone.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "support/api_server.h"
#include "support/comes_true.h"
#include "support/known_answers.h"

namespace wick {
namespace {

constexpr int kClients = 32;

class Concurrency : public testing::Test {
 protected:
  // Client i asks for request pick(i), all at the same moment, `rounds` times on one connection.
  template <typename Pick>
  void ask_at_once(const Pick& pick, int rounds) {
    ApiServer server(known_.models());
    std::vector<std::string> problems(kClients);
    std::barrier together(kClients);
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] {
        HttpClient client = server.client();
        for (int round = 0; round < rounds; ++round) {
          const KnownRequest& request = pick(i + round);
          together.arrive_and_wait();
          if (problems[static_cast<size_t>(i)].empty()) problems[static_cast<size_t>(i)] = problem(client, request);
        }
      });
    }
    for (std::thread& client : clients) client.join();
    for (int i = 0; i < kClients; ++i) EXPECT_EQ(problems[static_cast<size_t>(i)], "") << "client " << i;
    answered_ = 0;
    for (const char* model : {"tiny", "ember"}) {
      const auto engine = server.host().loaded(model);
      if (!engine) continue;
      EXPECT_TRUE(comes_true([&] { return engine->is_idle(); }));
      const EngineSnapshot snapshot = engine->snapshot();
      EXPECT_EQ(snapshot.blocks_free + snapshot.blocks_cached, snapshot.blocks_total);
      answered_ += snapshot.counters.finished + snapshot.counters.coalesced;
      coalesced_ += snapshot.counters.coalesced;
    }
  }

  static std::string problem(HttpClient& client, const KnownRequest& request) {
    try {
      return request.problem_of_stream(client.request("POST", request.target, request.body(KnownRequest::kStream)));
    } catch (const Error& error) {
      return error.what();
    }
  }

  KnownAnswers known_;
  int64_t answered_ = 0, coalesced_ = 0;
};

TEST_F(Concurrency, DifferentRequests) {
  std::vector<const KnownRequest*> streams;
  for (const KnownRequest& request : known_.requests()) {
    if (request.can_stream) streams.push_back(&request);
  }
  ASSERT_GT(streams.size(), 20u);
  ask_at_once([&](int i) -> const KnownRequest& { return *streams[static_cast<size_t>(i) % streams.size()]; }, 3);
  EXPECT_EQ(answered_, 3 * kClients);
}

TEST_F(Concurrency, TheSameRequest) {
  ask_at_once([&](int) -> const KnownRequest& { return known_.long_request(); }, 2);
  EXPECT_EQ(answered_, 2 * kClients);
  EXPECT_GT(coalesced_, 0);  // most of them listen to one computation
}

}  // namespace
}  // namespace wick
