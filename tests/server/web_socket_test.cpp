#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/json.h"
#include "support/comes_true.h"
#include "support/self_signed.h"
#include "support/temp_folder.h"
#include "support/test_http_server.h"
#include "support/web_socket_client.h"
#include "support/web_socket_frame.h"

namespace wick {
namespace {

// Sends back what it hears, and obeys "quiet", "throw", "bye", "wait" (for `go_on`) and "flood" (64 MiB).
struct Echo : WebSocketListener {
  struct Shared {
    Signal opened, closed, heard, go_on;
    std::mutex mutex;
    std::vector<uint16_t> codes;
    std::atomic<int> alive{0};
    std::shared_ptr<WebSocket> last;
  };
  explicit Echo(Shared& all) : shared(all) { ++shared.alive; }
  ~Echo() override { --shared.alive; }

  void on_open(std::shared_ptr<WebSocket> opened) override {
    socket = std::move(opened);
    {
      const std::lock_guard lock(shared.mutex);
      shared.last = socket;
    }
    shared.opened.set();
  }
  void on_text(std::string text) override {
    shared.heard.set();
    if (text == "throw") throw Error(ErrorCode::kInvalidArgument, "this word is not liked");
    if (text == "bye") return socket->close(3000, "see you");
    if (text.starts_with("quiet")) return;
    if (text == "wait") shared.go_on.wait();
    for (int i = 0; text == "flood" && i < 64; ++i) socket->send_binary(std::string(1 << 20, 'f'));
    socket->send_text(std::move(text));
  }
  void on_binary(std::string bytes) override { socket->send_binary(std::move(bytes)); }
  void on_close(uint16_t code) override {
    const std::lock_guard lock(shared.mutex);
    shared.codes.push_back(code);
    shared.last.reset();
    shared.closed.set();
  }

  Shared& shared;
  std::shared_ptr<WebSocket> socket;
};

class WebSockets : public testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    options.metrics = metrics_;
    Router router;
    router.add_web_socket("/ws",
                          [this](const HttpRequest& request) -> std::shared_ptr<WebSocketListener> {
                            for (const auto& [name, value] : request.query) {
                              if (name == "refuse") throw Error(ErrorCode::kInvalidArgument, "not today");
                            }
                            key_name_ = request.caller.key;
                            return std::make_shared<Echo>(echo_);
                          },
                          {.protocol = "realtime"});
    server_ = std::make_unique<TestHttpServer>(std::move(options), std::move(router));
  }
  WebSocketClient connect(const WebSocketClient::Options& options = {}) {
    return WebSocketClient((*server_)->port(), "/ws", options);
  }
  // After the handshake, for frames by hand.
  HttpClient connect_by_hand(std::string_view more_fields = {}) {
    HttpClient client = server_->client();
    client.send(web_socket_request("/ws", more_fields));
    EXPECT_EQ(client.read_head().status, 101);
    return client;
  }
  std::vector<uint16_t> codes() {
    const std::lock_guard lock(echo_.mutex);
    return echo_.codes;
  }
  // Nothing of any client is left.
  void expect_all_gone() {
    EXPECT_TRUE(comes_true([&] {
      return metrics_->gauge("wick_http_connections", "").value() == 0 &&
             metrics_->gauge("wick_web_sockets", "").value() == 0 && echo_.alive == 0;
    }));
  }

  Echo::Shared echo_;
  std::string key_name_;
  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  std::unique_ptr<TestHttpServer> server_;  // last: it uses the others
};

TEST_F(WebSockets, CarryMessagesOfAllLengthsBothWays) {
  start();
  WebSocketClient client = connect({{{"Sec-WebSocket-Protocol", "other, realtime"}}});
  EXPECT_EQ(client.protocol(), "realtime");
  for (const size_t size : {0, 1, 125, 126, 65535, 65536, 3'000'001}) {
    std::string text(size, 'a');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
    client.send_text(text);
    EXPECT_EQ(client.read_text(), text);
    client.send_binary(text);
    const auto message = client.read();
    ASSERT_TRUE(message);
    EXPECT_FALSE(message->is_text);
    EXPECT_EQ(message->payload, text);
  }
  client.close(1000);
  ASSERT_TRUE(echo_.closed.wait());
  EXPECT_EQ(codes(), std::vector<uint16_t>{1000});
  expect_all_gone();
}

TEST_F(WebSockets, FragmentsWithAPingBetweenThemAreOneMessage) {
  start();
  WebSocketClient client = connect();
  client.send_text("one, ", false);
  client.ping("are you there?");
  client.send_text("two, ", false);
  client.send_text("three", true);
  EXPECT_EQ(client.read_text(), "one, two, three");
  EXPECT_EQ(client.pongs(), std::vector<std::string>{"are you there?"});
}

TEST_F(WebSockets, MessagesRightBehindTheRequestCount) {
  start();
  HttpClient client = server_->client();
  client.send(cat(web_socket_request("/ws"), client_frame(0x81, "early"), client_frame(0x88, "")));
  const HttpAnswer head = client.read_head();
  EXPECT_EQ(head.status, 101);
  EXPECT_EQ(head.field("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // as RFC 6455, 1.3 has it
  EXPECT_EQ(head.field("connection"), "Upgrade");
  EXPECT_FALSE(head.has_field("sec-websocket-protocol"));
  ASSERT_TRUE(echo_.heard.wait());
  EXPECT_TRUE(echo_.closed.wait());
  EXPECT_EQ(codes(), std::vector<uint16_t>{1005});
}

TEST_F(WebSockets, GoOverTls) {
  const TempFolder folder;
  HttpServerOptions options;
  options.tls_certificate = folder.path() / "cert.pem";
  options.tls_key = folder.path() / "key.pem";
  write_self_signed(options.tls_certificate, options.tls_key);
  start(options);
  WebSocketClient client = connect({{}, HttpClient::Security::kTls});
  const std::string text(200'000, 'x');
  client.send_text(text);
  EXPECT_EQ(client.read_text(), text);
  client.send_text("bye");
  EXPECT_EQ(client.read_to_close(), 3000);
  EXPECT_EQ(client.close_reason(), "see you");
  ASSERT_TRUE(echo_.closed.wait(1));  // the client may know before the listener does
  WebSocketClient lost = connect({{}, HttpClient::Security::kTls});
  lost.cut();
  ASSERT_TRUE(echo_.closed.wait(2));
  EXPECT_EQ(codes(), (std::vector<uint16_t>{3000, 1006}));
  expect_all_gone();
}

TEST_F(WebSockets, RequestsThatAreNoneGetASentence) {
  start();
  const auto answer = [&](std::string_view request) {
    HttpClient client = server_->client();
    client.send(request);
    return client.read_answer();
  };
  const HttpAnswer plain = server_->client().get("/ws");
  EXPECT_EQ(plain.status, 426);
  EXPECT_EQ(plain.field("upgrade"), "websocket");
  EXPECT_EQ(plain.field("connection"), "Upgrade, keep-alive");
  EXPECT_NE(plain.body.find("is a web socket: ask for it by"), std::string::npos) << plain.body;
  const std::string whole = web_socket_request("/ws");
  const auto without = [&](std::string_view field) {
    std::string text = whole;
    const size_t at = text.find(field);
    return text.erase(at, text.find("\r\n", at) + 2 - at);
  };
  EXPECT_EQ(answer(without("Upgrade: ")).status, 426);
  EXPECT_EQ(answer(without("Connection: ")).status, 426);
  EXPECT_EQ(answer(without("Sec-WebSocket-Key: ")).status, 400);
  const HttpAnswer version = answer(without("Sec-WebSocket-Version: "));
  EXPECT_EQ(version.status, 426);
  EXPECT_EQ(version.field("sec-websocket-version"), "13");
  std::string text = whole;
  EXPECT_EQ(answer(text.replace(text.find("dGhl"), 4, "!!!!")).status, 400);
  text = whole;
  EXPECT_EQ(answer(text.replace(text.find("dGhl"), 4, "")).status, 400);
  text = whole;
  EXPECT_EQ(answer(text.replace(text.find("Version: 13"), 11, "Version: 8")).status, 426);
  text = whole;
  EXPECT_EQ(answer(text.replace(0, 3, "POST")).status, 405);
  const HttpAnswer refused = answer(web_socket_request("/ws?refuse"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("not today"), std::string::npos);
  EXPECT_EQ(echo_.opened.count(), 0);
}

TEST_F(WebSockets, KeysComeAsAFieldOrAsAProtocol) {
  HttpServerOptions options;
  options.keys = std::make_shared<ApiKeys>(ApiKeys::parse("anna: secret", "keys"));
  start(options);
  const auto status = [&](std::string_view fields) {
    HttpClient client = server_->client();
    client.send(web_socket_request("/ws", fields));
    return client.read_head().status;
  };
  EXPECT_EQ(status(""), 401);
  EXPECT_EQ(status("Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.wrong\r\n"), 401);
  EXPECT_EQ(status("Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer secret\r\n"), 101);
  WebSocketClient page =
      connect({{{"Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key.secret, openai-beta.realtime-v1"}}});
  EXPECT_EQ(page.protocol(), "realtime");
  page.send_text("hello");
  EXPECT_EQ(page.read_text(), "hello");
  EXPECT_EQ(key_name_, "anna");
  // A key in a protocol is for web sockets only.
  EXPECT_EQ(server_->client().get("/show/x", {{"Sec-WebSocket-Protocol", "openai-insecure-api-key.secret"}}).status,
            401);
}

TEST_F(WebSockets, PagesOfOtherOriginsNeedLeave) {
  HttpServerOptions options;
  options.cors_origins = {"https://good.example"};
  start(options);
  const auto status = [&](std::string_view origin) {
    HttpClient client = server_->client();
    client.send(web_socket_request("/ws", cat("Origin: ", origin, "\r\n")));
    return client.read_head().status;
  };
  EXPECT_EQ(status("https://good.example"), 101);
  EXPECT_EQ(status("http://127.0.0.1"), 101);  // this server's own
  EXPECT_EQ(status("https://bad.example"), 403);
  EXPECT_EQ(status("https://127.0.0.1.bad.example"), 403);
  EXPECT_EQ(status("null"), 403);
}

TEST_F(WebSockets, BrokenFramesAreToldAndClosed) {
  HttpServerOptions options;
  options.limits.message_bytes = 1000;
  start(options);
  int closed = 0;
  const auto reply = [&](std::string_view bytes) {  // code and the rest of the close frame
    HttpClient client = connect_by_hand();
    client.send(bytes);
    const std::string frame = client.read_to_end();
    EXPECT_EQ(frame.substr(0, 1), "\x88");
    EXPECT_TRUE(echo_.closed.wait(++closed));  // before the next one
    return frame.size() < 4 ? 0 : static_cast<uint8_t>(frame[2]) << 8 | static_cast<uint8_t>(frame[3]);
  };
  EXPECT_EQ(reply("\x81\x05Hello"), 1002);
  EXPECT_EQ(reply(client_frame(0x81, "\xC3\x28")), 1007);
  EXPECT_EQ(reply(client_frame(0x82, std::string(1001, 'x'))), 1009);
  EXPECT_EQ(reply(std::string("\x82\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\0\0", 14)), 1009);
  EXPECT_EQ(reply(client_frame(0x88, "\x03\xE8")), 1000);
  EXPECT_EQ(reply(cat(client_frame(0x88, "\x0B\xB8"), client_frame(0x81, "behind"))), 3000);
  EXPECT_EQ(codes(), (std::vector<uint16_t>{1002, 1007, 1009, 1009, 1000, 3000}));
  EXPECT_EQ(echo_.heard.count(), 0);
  expect_all_gone();
}

TEST_F(WebSockets, WhatAListenerThrowsClosesWithTheSentence) {
  start();
  WebSocketClient client = connect();
  client.send_text("throw");
  EXPECT_EQ(client.read_to_close(), 1011);
  EXPECT_EQ(client.close_reason(), "this word is not liked");
  expect_all_gone();
}

TEST_F(WebSockets, CutConnectionsAreNoticedEvenInTheMiddleOfAMessage) {
  start();
  connect_by_hand().send(client_frame(0x81, "whole"));
  connect_by_hand().send(client_frame(0x82, std::string(5000, 'x')).substr(0, 3000));
  connect_by_hand().send("\x81");
  connect_by_hand().reset();
  ASSERT_TRUE(echo_.closed.wait(4));
  EXPECT_EQ(codes(), (std::vector<uint16_t>(4, 1006)));
  expect_all_gone();
}

TEST_F(WebSockets, SlowReadersAreCutOff) {
  HttpServerOptions options;
  options.limits.backlog_bytes = 16 << 20;  // more than the system holds for the client
  options.limits.stalled_time = std::chrono::milliseconds(50);
  start(options);
  HttpClient client = server_->client();
  client.set_receive_buffer(4096);
  client.send(cat(web_socket_request("/ws"), client_frame(0x81, "flood")));
  ASSERT_TRUE(echo_.closed.wait());
  EXPECT_EQ(codes(), std::vector<uint16_t>{1008});
  expect_all_gone();
}

TEST_F(WebSockets, AListenerThatIsBusyLetsTheClientWait) {
  HttpServerOptions options;
  options.limits.backlog_bytes = 100'000;
  start(options);
  HttpClient client = connect_by_hand();
  client.send(client_frame(0x81, "wait"));
  ASSERT_TRUE(echo_.heard.wait());
  // Far more than the backlog and what the system holds: the sender is held up, nothing is lost or closed.
  const std::string frame = client_frame(0x81, cat("quiet", std::string(65536, 'x')));
  std::thread sender([&] {
    for (int i = 0; i < 400; ++i) client.send(frame);
  });
  EXPECT_EQ(echo_.closed.count(), 0);
  echo_.go_on.set();
  sender.join();
  EXPECT_EQ(client.read_bytes(6), "\x81\x04wait");
  EXPECT_TRUE(echo_.heard.wait(401));
  EXPECT_EQ(echo_.closed.count(), 0);
}

TEST_F(WebSockets, SilentClientsAreAskedForASignOfLife) {
  HttpServerOptions options;
  options.limits.silent_time = std::chrono::milliseconds(40);
  start(options);
  HttpClient dead = connect_by_hand();
  EXPECT_EQ(dead.read_bytes(2), std::string("\x89\0", 2));
  EXPECT_TRUE(dead.is_reset());
  ASSERT_TRUE(echo_.closed.wait());
  EXPECT_EQ(codes(), std::vector<uint16_t>{1006});
  HttpClient alive = connect_by_hand();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(alive.read_bytes(2), std::string("\x89\0", 2));
    alive.send(client_frame(0x8A, ""));
  }
  alive.send(client_frame(0x81, "still here"));
  std::string answer = alive.read_bytes(12);
  if (answer.starts_with('\x89')) answer = answer.substr(2) + alive.read_bytes(2);
  EXPECT_EQ(answer, "\x81\x0Astill here");
  EXPECT_EQ(echo_.closed.count(), 1);
}

TEST_F(WebSockets, EndWithTheServer) {
  start();
  WebSocketClient client = connect();
  ASSERT_TRUE(echo_.opened.wait());
  std::thread stopping([&] { (*server_)->stop(std::chrono::seconds(10)); });
  EXPECT_EQ(client.read_to_close(), 1001);
  EXPECT_EQ(client.close_reason(), "The server is shutting down.");
  stopping.join();
  EXPECT_EQ(codes(), std::vector<uint16_t>{1001});
  EXPECT_EQ(echo_.alive, 0);
}

TEST_F(WebSockets, AServerThatGoesWaitsForListeners) {
  start();
  WebSocketClient client = connect();
  client.send_text("wait");
  ASSERT_TRUE(echo_.heard.wait());
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    echo_.go_on.set();
  });
  server_->destroy();
  EXPECT_EQ(echo_.closed.count(), 1);
  EXPECT_EQ(echo_.alive, 0);
  release.join();
}

TEST_F(WebSockets, SendingAfterTheEndDoesNoHarm) {
  start();
  WebSocketClient client = connect();
  ASSERT_TRUE(echo_.opened.wait());
  std::shared_ptr<WebSocket> socket;
  {
    const std::lock_guard lock(echo_.mutex);
    socket = echo_.last;
  }
  client.cut();
  ASSERT_TRUE(echo_.closed.wait());
  socket->send_text("nobody hears this");
  socket->close(1000, "nor this");
  expect_all_gone();
}

TEST_F(WebSockets, StandInTheLogWithTheirBytes) {
  const TempFolder folder;
  HttpServerOptions options;
  options.log = std::make_shared<RequestLog>(folder.path() / "log");
  start(options);
  const std::string request = web_socket_request("/ws"),
                    frames = cat(client_frame(0x81, "abc"), client_frame(0x88, ""));
  HttpClient client = server_->client();
  client.send(cat(request, frames));
  ASSERT_TRUE(echo_.closed.wait());
  client.read_to_end();
  server_->destroy();
  std::ifstream in(folder.path() / "log");
  std::string line;
  std::getline(in, line);
  const Json entry = Json::parse(line, "log");
  EXPECT_EQ(entry.at("path").as_text(), "/ws");
  EXPECT_EQ(entry.at("status").as_int(), 101);
  EXPECT_EQ(entry.at("bytes_in").as_int(), std::ssize(request) + std::ssize(frames));
  EXPECT_TRUE(entry.at("complete").as_bool());
  EXPECT_EQ(metrics_->counter("wick_web_socket_messages_total", "", {{"direction", "in"}}).value(), 1);
}

}  // namespace
}  // namespace wick
