#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "server/http/answer_link.h"
#include "server/http/byte_stream.h"
#include "server/http/clients/client_shares.h"
#include "server/http/clients/key_guard.h"
#include "server/http/cors.h"
#include "server/http/host_names.h"
#include "server/http/http_server.h"
#include "server/http/output_queue.h"
#include "server/http/request_reader.h"
#include "server/http/response_head.h"
#include "server/websocket/web_socket_link.h"

namespace wick {

class Session;

// What all connections of a server share. It outlives them.
struct SessionContext {
  const HttpServerOptions& options;
  const Router& router;
  const Cors& cors;
  const HostNames& hosts;
  KeyGuard& keys;
  std::shared_ptr<KeyUse> key_use;
  boost::asio::thread_pool& workers;
  boost::asio::thread_pool& large_body_workers;
  std::shared_ptr<BodyMemory> body_memory;
  std::atomic<uint64_t> next_id{1};
  std::atomic<bool> stopping{false};
  std::function<void(Session&)> closed;
};

// One connection: reads a request, has it answered, and starts again, until one makes a web socket of it. All its
// functions but those that post run on its executor. A read is always under way, so that a client that goes is noticed
// while its answer is being made; only the listener of a web socket that has too much to hear lets it wait.
class Session : public AnswerSink, public WebSocketSink, public std::enable_shared_from_this<Session> {
 public:
  using Clock = std::chrono::steady_clock;

  // kHealth: one beyond the limit of connections. It has a short time for one health check and gets nothing else.
  enum class Kind : uint8_t { kUsual, kHealth };
  Session(SessionContext& context, std::unique_ptr<ByteStream> stream, boost::asio::any_io_executor executor,
          const boost::asio::ip::address& client, Kind kind);

  void start();
  void post(AnswerEvent event) override;  // on any thread; so the next two
  void post_message(FrameKind kind, std::string payload) override;
  void post_close(uint16_t code, std::string reason) override;
  void shut_down();  // at once when idle, else behind the answer; web sockets hear a goodbye
  void close();      // at once
  void cut_off();    // the same, and forgets what the client has not taken
  const boost::asio::any_io_executor& executor() const { return executor_; }

  // These on any thread, too.
  Kind kind() const { return kind_; }
  const std::string& client_key() const { return client_key_; }
  // Since when it has waited for a whole request; max(): it has one.
  Clock::time_point waiting_since() const { return Clock::time_point(Clock::duration(waiting_since_)); }
  void stop_waiting() { waiting_since_ = Clock::duration::max().count(); }

 private:
  using ErrorCode = boost::system::error_code;
  static constexpr std::chrono::milliseconds kDrainTime{2000}, kHealthTime{2000};
  enum class Phase {
    kHandshake,
    kIdle,    // between requests
    kHeader,  // the first byte is there
    kBody,
    kAnswer,
    kWebSocket,
    kDrain,  // everything is sent; reading until the client closes, so that it gets to see what was sent
    kClosed
  };

  // Reading (session.cpp)
  void read_more();
  void on_read(ErrorCode error, size_t bytes);
  void on_client_end(ErrorCode error);
  void parse();
  void on_head();
  bool has_room();  // for what there is of the body; else it is answered already
  void on_request();
  bool is_admitted(const Router::Match& match);  // else it is answered already; so the next two
  bool may_ask(const Router::Match& match);
  bool has_key(const Route& route);
  bool has_place(const Caller& caller);

  // Answering (session_answer.cpp)
  void on_answer(AnswerEvent event);
  void reject(HttpResponse response);  // without a handler
  void send(HttpResponse response);
  void begin(HttpResponse head);
  void append_chunk(std::string chunk);
  void frame_chunk();
  void finish();
  void break_off();
  void pump();
  void on_written(ErrorCode error, size_t bytes);
  void on_answered();
  void forget_link();  // of an answer that is out
  void leave();        // after the last answer
  void record();
  std::string head_text(const HttpResponse& response, BodyFraming framing);
  void remember_body(std::string_view bytes);

  // Web sockets (session_web_socket.cpp)
  void ask_for_web_socket(const std::shared_ptr<const HttpRequest>& request);
  void open_web_socket(const HttpResponse& head, std::shared_ptr<WebSocketListener> listener);
  void read_frames();
  void tell(size_t bytes, std::function<void(WebSocketListener&)> call);  // the listener, on a worker
  void send_frame(FrameKind kind, std::string payload);
  void say_goodbye(uint16_t code, std::string_view reason);
  void end_web_socket(uint16_t code);  // the listener hears it
  void on_silence();
  bool has_too_much_to_hear() const;

  // Time
  void set_deadline(std::chrono::milliseconds time);
  void set_body_deadline();
  void clear_deadline() { deadline_ = Clock::time_point::max(); }
  void arm_timer(Clock::time_point time);
  void on_deadline();

  SessionContext& context_;
  const HttpLimits& limits_;
  std::unique_ptr<ByteStream> stream_;
  boost::asio::any_io_executor executor_;
  const std::string client_, client_key_;
  const Kind kind_;
  std::atomic<Clock::rep> waiting_since_;
  Phase phase_ = Phase::kHandshake;

  boost::beast::flat_buffer buffer_;
  std::optional<RequestReader> reader_;
  std::shared_ptr<BodyMemory::Room> room_;  // of what is being read
  Clock::time_point body_end_;
  uint64_t bytes_before_ = 0;  // of the request, when the time for some more of the body began
  bool reading_ = false;
  bool input_ended_ = false;
  uint64_t drained_ = 0;

  // Of the request being answered
  std::shared_ptr<AnswerLink> link_;
  const Route* route_ = nullptr;
  std::string_view pattern_;  // of the path, also where no route takes the method
  HttpFields cors_fields_;
  Clock::time_point started_;
  LogEntry entry_;
  std::shared_ptr<const void> place_;  // among the requests of its key
  BodyFraming framing_ = BodyFraming::kLength;
  bool is_head_request_ = false;
  bool is_recorded_ = true;  // false from the first byte until the answer is out
  bool ended_ = false;       // everything of the answer is in the queue
  bool is_broken_ = false;   // the handler gave up in the middle
  bool keep_alive_ = true;

  OutputQueue queue_;
  std::string chunk_;  // written by the handler while the socket was busy
  bool writing_ = false;

  struct OpenWebSocket {
    WebSocketReader reader;
    std::shared_ptr<WebSocketListener> listener;
    std::shared_ptr<WebSocketLink> link;
    boost::asio::strand<boost::asio::thread_pool::executor_type> strand;  // on which the listener is called
    size_t unheard = 0;                                                   // bytes that wait for it
    uint64_t messages_in = 0, messages_out = 0;
    bool has_ended = false;    // for the listener
    bool awaits_sign = false;  // a ping is out
  };
  std::optional<OpenWebSocket> web_socket_;
  bool listener_is_done_ = true;  // else the server still has to wait for it

  boost::asio::steady_timer timer_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point armed_for_ = Clock::time_point::max();
};

}  // namespace wick
