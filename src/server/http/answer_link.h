#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "server/http/exchange.h"
#include "server/websocket/web_socket.h"

namespace wick {

// One step of an answer on its way to the connection.
struct AnswerEvent {
  enum class Kind {
    kSend,
    kBegin,
    kWrite,
    kFinish,
    kUpgrade,
    kFail,  // the response is sent if nothing was yet; else the answer ends in the middle
    kDrop   // nobody will answer, and the client has left
  };
  Kind kind;
  HttpResponse response;                             // of kSend, kBegin, kUpgrade and kFail
  std::string chunk;                                 // of kWrite
  std::shared_ptr<WebSocketListener> listener = {};  // of kUpgrade
};

// The connection as an answer sees it.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void post(AnswerEvent event) = 0;  // takes effect later, on the thread of the connection
};

// Joins an exchange, used and dropped on any thread, with its connection. Either end may go first: once cut, nothing
// reaches the connection any more, and nothing of it is kept alive.
class AnswerLink {
 public:
  explicit AnswerLink(std::shared_ptr<AnswerSink> sink) : sink_(std::move(sink)) {}

  // Ends of the exchange.
  void send(HttpResponse response);
  void begin(HttpResponse head);
  void write(std::string chunk);
  void finish();
  void upgrade(HttpResponse head, std::shared_ptr<WebSocketListener> listener);
  void fail(HttpResponse response);
  void drop();  // the last reference to the exchange has gone
  void on_close(std::function<void()> callback);
  bool is_closed() const;

  // Ends of the connection: the client sends nothing more and has probably gone (answers may still be tried) ...
  void client_left();
  // ... or the connection is closed ...
  void cut();
  // ... or the answer is out: waits until the thread that brought it has let go of the connection. Else that thread
  // could be the last to hold it, when the server has gone already.
  void settle() const { const std::lock_guard lock(mutex_); }

 private:
  enum class State { kOpen, kStreaming, kAnswered };
  using Callback = std::function<void()>;
  void misused(std::string_view what, Callback& unused);  // with the lock held
  void end_with(AnswerEvent event, Callback& unused);     // with the lock held
  void leave(bool keep_sink);

  mutable std::mutex mutex_;
  std::shared_ptr<AnswerSink> sink_;  // null: answered or cut
  State state_ = State::kOpen;
  bool client_left_ = false;
  Callback on_close_;
};

// The exchange a handler gets.
std::shared_ptr<HttpExchange> linked_exchange(std::shared_ptr<AnswerLink> link);

// Runs the handler; what it throws becomes the answer.
void run_handler(const HttpHandler& handler, const HttpRequest& request, const std::shared_ptr<AnswerLink>& link);
// The same for one that makes web sockets; `head` is the answer when it does.
void run_handler(const WebSocketHandler& handler, const HttpRequest& request, HttpResponse head,
                 const std::shared_ptr<AnswerLink>& link);

}  // namespace wick
