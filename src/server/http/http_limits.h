#pragma once

#include <chrono>
#include <cstddef>

namespace wick {

// What one client may cost the server. Who exceeds a limit gets an answer that says so where one can still be sent, and
// is cut off where it cannot.
struct HttpLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 32 << 20;
  size_t backlog_bytes = 4 << 20;                  // of a stream whose client does not keep up
  size_t message_bytes = 16 << 20;                 // of a web socket
  int connections = 1024;                          // one more is told to come back
  std::chrono::milliseconds header_time{10'000};   // from the first byte (or the connection) to the end of the header
  std::chrono::milliseconds body_time{120'000};    // for the whole body
  std::chrono::milliseconds idle_time{75'000};     // between requests of one connection
  std::chrono::milliseconds silent_time{30'000};   // of a web socket until it is asked for a sign of life, and then cut
  std::chrono::milliseconds stalled_time{30'000};  // while the client takes nothing of what is ready to be sent
};

}  // namespace wick
