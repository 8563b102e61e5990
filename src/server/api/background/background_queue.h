#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/api/background/background_exchange.h"
#include "server/api/responses/responses_writer.h"
#include "server/journal.h"
#include "server/metrics.h"

namespace wick {

class ResponseEvents;

// What a background queue needs of the server around it.
struct BackgroundHooks {
  // Computes a request and answers to the exchange, now or later. An exception is the answer, too. `on_event` hears the
  // events of one that is streamed; else it is empty.
  using OnEvent = std::function<void(OrderedJson)>;
  std::function<void(ResponsesRequest request, AnswerHead head, const std::string& owner,
                     std::shared_ptr<HttpExchange> exchange, OnEvent on_event)>
      compute;
  std::function<bool(const std::string& model)> has_model;
  std::function<void(const std::string& sentence)> say;  // for whoever watches the server; empty: nobody
};

// Computes the requests of a journal, a few at a time: of whom the fewest are computed, then in the order they were
// accepted, those that an earlier process left first. Thread-safe.
class BackgroundQueue {
 public:
  BackgroundQueue(std::shared_ptr<Journal> journal, std::shared_ptr<Metrics> metrics, BackgroundHooks hooks);
  ~BackgroundQueue() { stop(); }
  // Lets go of what is being computed. It is still in the journal, for the next process.
  void stop();

  struct Acceptance {
    Journal::Verdict verdict;
    std::string response;  // kNew, kKnown: JSON
  };
  // As Journal::accept(). `streams`: its events can be followed while it is computed.
  Acceptance accept(JournalEntry request, bool streams);
  // These are empty when there is no such response or it belongs to another owner. The texts are JSON.
  std::optional<std::string> response(std::string_view owner, std::string_view id) const;
  std::optional<std::string> cancel(std::string_view owner, std::string_view id);  // one that is over stays as it is
  bool erase(std::string_view owner, std::string_view id);
  enum class Following : uint8_t {
    kYes,        // the exchange has the stream
    kUnknown,    // there is no such response or it belongs to another owner
    kWhole,      // it is being computed, and was not asked for as a stream
    kForgotten,  // events behind number `after` are kept no more
  };
  Following follow(std::string_view owner, std::string_view id, int64_t after,
                   const std::shared_ptr<HttpExchange>& exchange) const;

  const Journal& journal() const { return *journal_; }

 private:
  using Answer = BackgroundInbox::Answer;
  using Answers = BackgroundInbox::Answers;

  std::optional<JournalEntry> find(std::string_view owner, std::string_view id) const;
  std::string text_of(const JournalEntry& entry) const;
  struct Waiting {
    std::string id, owner;
  };
  struct Running {
    std::shared_ptr<BackgroundExchange> exchange;
    std::string owner;
  };
  void loop();
  void settle(Answers& answers);
  void begin_waiting();
  void tidy();
  void let_go(std::string_view id);
  void put_back(const std::string& id);
  std::deque<Waiting>::iterator next_waiting();
  bool is_running(const std::string& id) const;
  std::shared_ptr<ResponseEvents> events_of(std::string_view id) const;  // null: none
  void add_events(const JournalEntry& entry);
  void end_events(const std::string& id, const std::string& response);
  void drop_events(std::string_view id);
  void count_finished(const std::string& status);
  void complain(const std::string& sentence);

  const std::shared_ptr<Journal> journal_;
  const std::shared_ptr<Metrics> metrics_;
  const BackgroundHooks hooks_;
  const std::shared_ptr<BackgroundInbox> inbox_ = std::make_shared<BackgroundInbox>();
  std::string last_complaint_;  // of the thread
  std::atomic<bool> is_stopping_{false};

  mutable std::mutex mutex_;
  std::deque<Waiting> waiting_;
  std::map<std::string, Running, std::less<>> running_;
  std::chrono::steady_clock::time_point not_before_;  // the engine was full: nothing begins until then
  std::map<std::string, std::shared_ptr<ResponseEvents>, std::less<>> events_;  // of what is streamed
  std::deque<std::string> ended_events_;                                        // the oldest first

  std::thread thread_;
};

}  // namespace wick
