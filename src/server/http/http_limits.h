#pragma once

#include <chrono>
#include <cstddef>

namespace wick {

// What one client may cost the server. Who exceeds a limit gets an answer that says so where one can still be sent, and
// is cut off where it cannot.
struct HttpLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 32 << 20;
  size_t large_body_bytes = 128 << 10;      // larger ones are counted, and handled apart from the others
  size_t bodies_bytes = size_t{512} << 20;  // of all large ones at a time; those of one client: half of it
  size_t backlog_bytes = 4 << 20;           // of a stream whose client does not keep up
  size_t message_bytes = 16 << 20;          // of a web socket
  // One more closes the one that the server has waited for longest, `patience` at least, of the client that has most;
  // where there is none, only health checks are answered.
  int connections = 1024;
  int client_connections = 512;  // of one client
  int health_connections = 64;   // beyond them
  std::chrono::milliseconds patience{1000};
  std::chrono::milliseconds header_time{10'000};  // from the first byte (or the connection) to the end of the header
  std::chrono::milliseconds body_time{120'000};   // for the whole body
  size_t body_rate = 4 << 10;                     // bytes per second, on average over each `rate_time`
  std::chrono::milliseconds rate_time{10'000};
  std::chrono::milliseconds idle_time{75'000};     // between requests of one connection
  std::chrono::milliseconds silent_time{30'000};   // of a web socket until it is asked for a sign of life, and then cut
  std::chrono::milliseconds stalled_time{30'000};  // while the client takes nothing of what is ready to be sent
  int wrong_keys = 20;  // of one client within this time; then no new key of his is looked at
  std::chrono::milliseconds wrong_key_time{60'000};
};

}  // namespace wick
