// How fast the HTTP transport is, with client and server in one process on 127.0.0.1: requests per second on /health,
// and how long a chunk of one of many streams takes from write() to the client. See --help.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "server/http/http_server.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// Many connections watched by one thread.
class Connections {
 public:
  Connections(uint16_t port, int count) : epoll_(epoll_create1(EPOLL_CLOEXEC)), buffers_(count) {
    for (int i = 0; i < count; ++i) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        throw Error(ErrorCode::kIo, cat("no connection to port ", port, ": ", std::strerror(errno)));
      }
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      epoll_event event{EPOLLIN, {}};
      event.data.u32 = static_cast<uint32_t>(i);
      epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
      fds_.push_back(fd);
    }
  }
  ~Connections() {
    for (const int fd : fds_) close(fd);
    close(epoll_);
  }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  void send(int which, std::string_view bytes) const {
    if (::send(fds_[which], bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
      throw Error(ErrorCode::kIo, "the server closed a connection");
    }
  }

  // Waits for bytes and calls take(which, buffer), which removes what it has used.
  template <typename Take>
  void receive(const Take& take) {
    epoll_event events[64];
    const int count = epoll_wait(epoll_, events, 64, 1000);
    if (count <= 0) throw Error(ErrorCode::kIo, "nothing came for a second");
    for (int i = 0; i < count; ++i) {
      const int which = static_cast<int>(events[i].data.u32);
      char bytes[16 << 10];
      const ssize_t got = recv(fds_[which], bytes, sizeof(bytes), 0);
      if (got <= 0) throw Error(ErrorCode::kIo, "the server closed a connection");
      buffers_[which].append(bytes, static_cast<size_t>(got));
      take(which, buffers_[which]);
    }
  }

 private:
  int epoll_;
  std::vector<int> fds_;
  std::vector<std::string> buffers_;
};

void print_times(std::string_view what, std::vector<double>& milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double share) {
    return milliseconds[static_cast<size_t>(share * static_cast<double>(milliseconds.size() - 1))];
  };
  double sum = 0;
  for (const double one : milliseconds) sum += one;
  std::printf("%s: mean %.3f ms, median %.3f ms, 99%% %.3f ms, worst %.3f ms\n", std::string(what).c_str(),
              sum / static_cast<double>(milliseconds.size()), at(0.5), at(0.99), at(1));
}

void measure_requests(uint16_t port, int count, double seconds, std::string_view path) {
  const std::string request = cat("GET ", path, " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  Connections connections(port, count);
  std::vector<int64_t> sent(count);
  std::vector<double> times;
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) {
    sent[i] = now_ns();
    connections.send(i, request);
  }
  while (seconds_since(start) < seconds) {
    connections.receive([&](int which, std::string& buffer) {
      const size_t head = buffer.find("\r\n\r\n");
      if (head == std::string::npos || buffer.size() < head + 4 + 2) return;  // the body is "ok"
      if (!buffer.starts_with("HTTP/1.1 200")) throw Error(ErrorCode::kIo, cat("not an answer: ", buffer));
      buffer.clear();
      times.push_back(static_cast<double>(now_ns() - sent[which]) * 1e-6);
      sent[which] = now_ns();
      connections.send(which, request);
    });
  }
  std::printf("%s, %d connections: %.0f requests/s\n", std::string(path).c_str(), count,
              static_cast<double>(times.size()) / seconds_since(start));
  print_times("  answer", times);
}

// Streams that get a chunk each at every tick, as an engine's step gives every sequence a token.
class Ticker {
 public:
  HttpHandler handler() {
    return [this](const HttpRequest&, std::shared_ptr<HttpExchange> exchange) {
      HttpResponse head;
      head.content_type = "text/event-stream";
      exchange->begin(std::move(head));
      streams_[joined_++] = std::move(exchange);
    };
  }
  void run(int streams, int ticks, std::chrono::milliseconds pause) {
    while (joined_ < streams) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto next = Clock::now();
    for (int tick = 0; tick < ticks; ++tick) {
      std::this_thread::sleep_until(next += pause);
      for (int i = 0; i < streams; ++i) streams_[i]->write(cat("data: ", now_ns(), kFiller, "\n\n"));
    }
    for (int i = 0; i < streams; ++i) std::exchange(streams_[i], nullptr)->finish();
    joined_ = 0;
  }

 private:
  // About what a chunk of a chat completion has beside its text.
  static inline const std::string kFiller = cat(" ", std::string(180, 'x'));

  std::vector<std::shared_ptr<HttpExchange>> streams_ = std::vector<std::shared_ptr<HttpExchange>>(4096);
  std::atomic<int> joined_{0};
};

void measure_streams(Ticker& ticker, uint16_t port, int count, double seconds) {
  constexpr std::chrono::milliseconds kPause{10};
  const int ticks = static_cast<int>(seconds * 1000) / static_cast<int>(kPause.count());
  Connections connections(port, count);
  for (int i = 0; i < count; ++i) connections.send(i, "GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  std::thread writer([&] { ticker.run(count, ticks, kPause); });
  std::vector<double> times;
  for (int ended = 0; ended < count;) {
    connections.receive([&](int, std::string& buffer) {
      for (size_t at = 0;
           (at = buffer.find("data: ")) != std::string::npos && buffer.find("\n\n", at) != std::string::npos;) {
        times.push_back(static_cast<double>(now_ns() - std::strtoll(buffer.c_str() + at + 6, nullptr, 10)) * 1e-6);
        buffer.erase(0, buffer.find("\n\n", at) + 2);
      }
      if (buffer.find("\r\n0\r\n\r\n") != std::string::npos) {
        ++ended;
        buffer.clear();
      }
    });
  }
  writer.join();
  std::printf("%d streams, a chunk each every %d ms: %zu chunks of %d\n", count, static_cast<int>(kPause.count()),
              times.size(), count * ticks);
  print_times("  chunk", times);
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--help") {
    std::printf("usage: http_load [connections=32] [streams=32] [seconds=3]\n");
    return 0;
  }
  const int connections = argc > 1 ? std::atoi(argv[1]) : 32;
  const int streams = argc > 2 ? std::atoi(argv[2]) : 32;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 3;
  if (connections < 1 || connections > 1000 || streams < 1 || streams > 1000 || !(seconds > 0 && seconds <= 60)) {
    throw Error(ErrorCode::kInvalidArgument, "connections and streams are 1 to 1000, seconds at most 60");
  }
  const auto ok = [](const HttpRequest&, std::shared_ptr<HttpExchange> exchange) {
    HttpResponse response;
    response.body = "ok";
    exchange->send(std::move(response));
  };
  Ticker ticker;
  Router router;
  router.add("GET", "/health", ok, {.quick = true, .is_public = true});
  router.add("GET", "/worker", ok);
  router.add("GET", "/stream", ticker.handler());
  HttpServerOptions options;
  options.metrics = std::make_shared<Metrics>();
  HttpServer server(std::move(router), options);
  measure_requests(server.port(), connections, seconds, "/health");
  measure_requests(server.port(), connections, seconds, "/worker");
  measure_streams(ticker, server.port(), streams, seconds);
  return 0;
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  try {
    return wick::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "http_load: %s\n", error.what());
    return 1;
  }
}
