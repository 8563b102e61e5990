#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/http_client.h"
#include "support/known_answers.h"

namespace wick {

// One visit of a client to a server, good or bad; the same for the same seed.
class FaultVisit {
 public:
  FaultVisit(uint16_t port, const KnownAnswers& known, uint64_t seed);

  struct Kind {
    std::string_view name;
    int weight;  // how many of the visits, in parts of all weights
    // What is wrong with what the server answered; empty: nothing. Throws Error when nothing came in time.
    std::string (FaultVisit::*play)();
  };
  static const std::vector<Kind>& kinds();
  const Kind& kind() const { return *kind_; }
  std::string play() { return (this->*kind_->play)(); }

 private:
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  bool one_in(size_t count) { return below(count) == 0; }
  void pause(size_t most_milliseconds);
  HttpClient client() const { return HttpClient(port_); }
  const KnownRequest& some_request();
  const KnownRequest& some_stream();
  static std::string text_of(const KnownRequest& request, std::string_view more = {});  // of the whole HTTP request
  // After what was wrong, a connection that stays open must still work.
  std::string goes_on(HttpClient& client, const HttpAnswer& last);
  std::string refused(std::string_view target, std::string_view body, int status = 400);
  void leave(HttpClient& client);  // politely or not

  // Requests that must be answered
  std::string whole();
  std::string stream();
  std::string slow_reader();
  std::string slow_sender();
  std::string chunked_body();
  std::string pipelined();
  std::string half_open();
  std::string deadline();
  std::string probe();
  // Clients that leave
  std::string leaves_in_header();
  std::string leaves_in_body();
  std::string leaves_waiting();
  std::string leaves_in_stream();
  std::string leaves_watching();
  // Requests that must be refused
  std::string damaged_json();
  std::string bad_text();
  std::string deep_nesting();
  std::string wrong_value();
  std::string too_long();
  std::string wrong_path();
  std::string bad_head();
  std::string garbage();

  uint16_t port_;
  const KnownAnswers& known_;
  std::mt19937_64 random_;
  const Kind* kind_;
};

}  // namespace wick
