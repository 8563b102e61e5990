#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace wick {

// What a hostile client does to the server at `port`, on each of its threads, until it is done or `over`.
using Attack = std::function<void(uint16_t port, const std::atomic<bool>& over)>;

// What an honest client asks again and again.
struct HonestRequest {
  std::string method = "GET", target = "/health", body = {};
  HttpClient::Fields fields = {};
  int status = 200;          // that it is to get
  std::string address = {};  // see HttpClient
};

struct HonestReport {
  int asked = 0;
  double calm_seconds = 0;             // what it takes when nobody attacks: the median of three
  double worst_seconds = 0;            // from connecting to the end of the answer
  std::vector<std::string> surprises;  // other statuses, and answers that did not come
};

// Asks once, on a new connection; how long it took.
inline double ask_honestly(uint16_t port, const HonestRequest& honest, HonestReport& report) {
  const auto began = std::chrono::steady_clock::now();
  try {
    HttpClient client(port, HttpClient::Security::kPlain, honest.address);
    const HttpAnswer answer = client.request(honest.method, honest.target, honest.body, honest.fields);
    if (answer.status != honest.status) report.surprises.push_back(cat(answer.status, " ", answer.body));
  } catch (const Error& error) {
    report.surprises.emplace_back(error.what());
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  return taken.count();
}

// Runs the attack on `threads` threads for `seconds` at most. The honest client asks before, and as long as it goes on,
// each time on a new connection; the last time begins when the attack is at its height or over.
inline HonestReport under_attack(uint16_t port, const Attack& attack, int threads, double seconds,
                                 const HonestRequest& honest) {
  using Clock = std::chrono::steady_clock;
  HonestReport report;
  std::array<double, 3> calm{};
  for (double& each : calm) each = ask_honestly(port, honest, report);
  std::sort(calm.begin(), calm.end());
  report.calm_seconds = calm[1];
  std::atomic<bool> over{false};
  std::atomic<int> left{threads};
  std::vector<std::thread> attackers;
  for (int i = 0; i < threads; ++i) {
    attackers.emplace_back([&] {
      try {
        attack(port, over);
      } catch (const std::exception&) {  // cut off, as it should be
      }
      --left;
    });
  }
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    report.worst_seconds = std::max(report.worst_seconds, ask_honestly(port, honest, report));
    ++report.asked;
  } while (left > 0 && Clock::now() < end);
  over = true;
  for (std::thread& attacker : attackers) attacker.join();
  return report;
}

// Every honest request was answered as it should be, none later than `bound` (and that much later under a sanitizer),
// or on a machine that is busy with something else, than 30 times what it takes there.
#define EXPECT_UNHURT(report, bound)                                                                 \
  do {                                                                                               \
    const HonestReport& seen = (report);                                                             \
    testing::Test::RecordProperty("honest_worst_ms", static_cast<int>(1000 * seen.worst_seconds));   \
    EXPECT_GT(seen.asked, 0);                                                                        \
    EXPECT_TRUE(seen.surprises.empty()) << seen.surprises.size() << " of " << seen.asked             \
                                        << " got something else, first: " << seen.surprises.front(); \
    EXPECT_LT(seen.worst_seconds, std::max((bound)*kSlowness, 30 * seen.calm_seconds))               \
        << "of " << seen.asked << ", alone " << seen.calm_seconds;                                   \
  } while (false)

}  // namespace wick
