#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/api/field_kinds.h"
#include "server/http/exchange.h"

namespace wick {

// The events of a response in the background, numbered from 0: whoever follows gets those that there are, then those
// that come. Thread-safe.
class ResponseEvents {
 public:
  // When they take more, those so far are forgotten; whoever follows already has them.
  explicit ResponseEvents(size_t most_bytes = size_t{16} << 20) : most_bytes_(most_bytes) {}
  ResponseEvents(const ResponseEvents&) = delete;
  ResponseEvents& operator=(const ResponseEvents&) = delete;
  ~ResponseEvents() { end(); }

  void add(OrderedJson event);  // gets its number; ignored after the end
  // The next one has this number: the response is computed again. What is there already is not sent twice.
  void rewind(int64_t number);
  void end();  // streams end, and those to come do behind what there is
  // The same behind a last event. False: they have ended already.
  bool end_with(OrderedJson last);
  // Sends the events behind number `after` (-1: all of them). False when some of these are forgotten.
  bool follow(std::shared_ptr<HttpExchange> exchange, int64_t after);

  bool has_ended() const;
  size_t bytes() const;

 private:
  void append(OrderedJson event);
  void finish();

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::string> events_;  // as server-sent ones; the first has number `first_`
  int64_t first_ = 0, next_ = 0;
  size_t bytes_ = 0;
  bool has_ended_ = false;
  std::vector<std::pair<std::shared_ptr<HttpExchange>, int64_t>> followers_;  // and the number that each waits for
};

// One that is over, with what events say of a whole `response`.
std::unique_ptr<ResponseEvents> replayed_events(const OrderedJson& response);

}  // namespace wick
