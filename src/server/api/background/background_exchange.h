#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "server/http/exchange.h"

namespace wick {

// Answers to requests that no client waits for. Thread-safe.
class BackgroundInbox {
 public:
  struct Answer {
    std::string id;
    HttpResponse response;
  };
  using Answers = std::list<Answer>;
  void put(Answers answer) noexcept;  // where there is no memory left, too
  // Ends the present wait().
  void wake();
  // Waits for an answer or wake(), or until the time is over; adds what has come.
  void wait(std::chrono::milliseconds most, Answers& answers);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  Answers answers_;
  bool is_awake_ = false;
};

// The exchange of a request in the background: its answer goes to the inbox, and close() is a client that leaves.
class BackgroundExchange : public HttpExchange {
 public:
  BackgroundExchange(const std::string& id, std::shared_ptr<BackgroundInbox> inbox);
  ~BackgroundExchange() override;  // without an answer, one with status 500 goes to the inbox
  void close();                    // nothing goes to the inbox from now on

  void send(HttpResponse response) override;
  void begin(HttpResponse head) override;  // these three throw Error(kInternal): there is nobody to stream to
  void write(std::string chunk) override;
  void finish() override;
  void on_close(std::function<void()> callback) override;
  bool is_closed() const override;

 private:
  const std::shared_ptr<BackgroundInbox> inbox_;
  mutable std::mutex mutex_;
  std::function<void()> on_close_;
  BackgroundInbox::Answers answer_;  // its place in the inbox, with the answer if none comes
  bool is_closed_ = false;
};

}  // namespace wick
