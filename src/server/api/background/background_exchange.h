#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/http/exchange.h"

namespace wick {

// Answers to requests that no client waits for. Thread-safe.
class BackgroundInbox {
 public:
  struct Answer {
    std::string id;
    HttpResponse response;
  };
  void put(Answer answer);
  // Ends the present wait().
  void wake();
  // Waits for an answer or wake(), or until the time is over; what has come.
  std::vector<Answer> wait(std::chrono::milliseconds most);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Answer> answers_;
  bool is_awake_ = false;
};

// The exchange of a request in the background: its answer goes to the inbox, and close() is a client that leaves.
class BackgroundExchange : public HttpExchange {
 public:
  BackgroundExchange(std::string id, std::shared_ptr<BackgroundInbox> inbox);
  ~BackgroundExchange() override;  // without an answer, one with status 500 goes to the inbox
  void close();                    // nothing goes to the inbox from now on

  void send(HttpResponse response) override;
  void begin(HttpResponse head) override;  // these three throw Error(kInternal): there is nobody to stream to
  void write(std::string chunk) override;
  void finish() override;
  void on_close(std::function<void()> callback) override;
  bool is_closed() const override;

 private:
  const std::string id_;
  const std::shared_ptr<BackgroundInbox> inbox_;
  mutable std::mutex mutex_;
  std::function<void()> on_close_;
  bool is_closed_ = false, is_answered_ = false;
};

}  // namespace wick
