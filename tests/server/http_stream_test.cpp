#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/comes_true.h"
#include "support/errors.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

constexpr std::string_view kHold = "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n";

// A request for /hold that has arrived, and both of its ends.
struct Held {
  HttpClient client;
  std::shared_ptr<HttpExchange> exchange;

  explicit Held(TestHttpServer& server, std::string_view request = kHold) : client(server.client()) {
    const int before = server.arrived.count();
    client.send(request);
    EXPECT_TRUE(server.arrived.wait(before + 1));
    exchange = server.take_held();
  }
};

HttpResponse stream_head() {
  HttpResponse head;
  head.content_type = "text/event-stream";
  return head;
}

TEST(HttpStream, ChunksArriveAsTheyAreWritten) {
  TestHttpServer server;
  Held held(server);
  held.exchange->begin(stream_head());
  const HttpAnswer head = held.client.read_head();
  EXPECT_EQ(head.field("transfer-encoding"), "chunked");
  EXPECT_EQ(head.field("content-type"), "text/event-stream");
  EXPECT_FALSE(head.has_field("content-length"));
  for (const std::string text : {"one", "two", "", "three"}) {
    held.exchange->write(text);
    if (text.empty()) continue;  // an empty chunk would be the last
    EXPECT_EQ(held.client.read_chunk(), text);
  }
  held.exchange->finish();
  EXPECT_EQ(held.client.read_chunk(), std::nullopt);
  held.exchange->write("too late");
  held.exchange->finish();
  EXPECT_EQ(held.client.get("/health").body, "ok");  // the connection is in order
  EXPECT_EQ(server.left.count(), 0);
}

TEST(HttpStream, ManySmallChunksAreJoinedAndNoneIsLost) {
  TestHttpServer server;
  Held held(server);
  HttpResponse head = stream_head();
  head.body = "first ";
  std::string expected = head.body;
  held.exchange->begin(std::move(head));
  for (int i = 0; i < 20'000; ++i) {
    held.exchange->write(cat(i, " "));
    expected += cat(i, " ");
  }
  held.exchange->finish();
  held.client.read_head();
  std::string received;
  int chunks = 0;
  while (const auto chunk = held.client.read_chunk()) {
    received += *chunk;
    ++chunks;
  }
  EXPECT_TRUE(received == expected);
  EXPECT_LT(chunks, 20'000);
}

TEST(HttpStream, WritersOfManyStreamsOnManyThreads) {
  HttpServerOptions options;
  options.io_threads = 3;
  TestHttpServer server(options);
  constexpr int kStreams = 12;
  std::vector<Held> streams;
  for (int i = 0; i < kStreams; ++i) streams.emplace_back(server);
  std::vector<std::thread> writers;
  for (int i = 0; i < kStreams; ++i) {
    writers.emplace_back([exchange = std::move(streams[i].exchange), i] {
      exchange->begin(stream_head());
      for (int n = 0; n < 300; ++n) exchange->write(cat(i, ":", n, "\n"));
      exchange->finish();
    });
  }
  for (int i = 0; i < kStreams; ++i) {
    std::string expected;
    for (int n = 0; n < 300; ++n) expected += cat(i, ":", n, "\n");
    EXPECT_EQ(streams[i].client.read_answer().body, expected);
  }
  for (std::thread& writer : writers) writer.join();
}

TEST(HttpStream, OldClientsReadToTheEndOfTheConnection) {
  TestHttpServer server;
  Held held(server, "GET /hold HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  held.exchange->begin(stream_head());
  held.exchange->write("one ");
  held.exchange->write("two");
  held.exchange->finish();
  const HttpAnswer answer = held.client.read_answer();
  EXPECT_FALSE(answer.has_field("transfer-encoding"));
  EXPECT_EQ(answer.field("connection"), "close");
  EXPECT_EQ(answer.body, "one two");
}

TEST(HttpStream, HeadOfAStreamHasNoBody) {
  TestHttpServer server;
  Held held(server, "HEAD /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  held.exchange->begin(stream_head());
  held.exchange->write("unseen");
  held.exchange->finish();
  EXPECT_EQ(held.client.read_answer("HEAD").status, 200);
  EXPECT_EQ(held.client.get("/health").body, "ok");
}

TEST(HttpStream, AnAnswerThatBreaksOffLooksBroken) {
  TestHttpServer server;
  Held held(server);
  held.exchange->begin(stream_head());
  held.exchange->write("half of");
  held.exchange.reset();  // without finish()
  held.client.read_head();
  EXPECT_EQ(held.client.read_chunk(), "half of");
  EXPECT_ERROR(held.client.read_chunk(), kIo, "ended in the middle");
}

TEST(HttpStream, AnAnswerToAnOldClientThatBreaksOffLooksBroken) {
  TestHttpServer server;
  Held held(server, "GET /hold HTTP/1.0\r\n\r\n");
  held.exchange->begin(stream_head());
  held.client.read_head();
  held.exchange.reset();
  EXPECT_TRUE(held.client.is_reset());
}

TEST(HttpStream, ADroppedExchangeIsAnError) {
  TestHttpServer server;
  Held held(server);
  held.exchange.reset();
  EXPECT_EQ(held.client.read_answer().status, 500);
  EXPECT_EQ(held.client.get("/health").body, "ok");
}

TEST(HttpClose, IsToldWhileTheAnswerIsAwaited) {
  TestHttpServer server;
  for (const bool politely : {true, false}) {
    const int before = server.left.count();
    Held held(server);
    EXPECT_FALSE(held.exchange->is_closed());
    politely ? held.client.close() : held.client.reset();
    EXPECT_TRUE(server.left.wait(before + 1));
    EXPECT_TRUE(held.exchange->is_closed());
    bool told_at_once = false;
    held.exchange->on_close([&] { told_at_once = true; });
    EXPECT_TRUE(told_at_once);
    held.exchange->begin(stream_head());  // does no harm
    held.exchange->write("x");
    held.exchange->finish();
    EXPECT_EQ(server.left.count(), before + 1);
  }
  EXPECT_EQ(server.client().get("/health").body, "ok");
}

TEST(HttpClose, IsToldInTheMiddleOfAStream) {
  TestHttpServer server;
  Held held(server);
  held.exchange->begin(stream_head());
  held.exchange->write("x");
  held.client.read_head();
  EXPECT_EQ(held.client.read_chunk(), "x");
  held.client.close();
  EXPECT_TRUE(server.left.wait());
  EXPECT_TRUE(held.exchange->is_closed());
}

TEST(HttpClose, IsToldWithFurtherRequestsInThePipe) {
  TestHttpServer server;
  Held held(server, cat(kHold, kHold, kHold));
  held.client.close();
  EXPECT_TRUE(server.left.wait());
  held.exchange.reset();
  EXPECT_EQ(server.client().get("/health").body, "ok");
  EXPECT_EQ(server.arrived.count(), 1);  // nobody is there for the others
}

TEST(HttpClose, IsNotToldOnceTheAnswerIsFinished) {
  TestHttpServer server;
  Held held(server);
  held.exchange->send(text_response("done"));
  bool told = false;
  held.exchange->on_close([&] { told = true; });
  EXPECT_EQ(held.client.read_answer().body, "done");
  held.client.close();
  EXPECT_EQ(server.client().get("/health").body, "ok");
  EXPECT_FALSE(told);
  EXPECT_EQ(server.left.count(), 0);
}

TEST(HttpClose, AClientThatOnlyStopsSendingStillGetsItsAnswer) {
  TestHttpServer server;
  Held held(server);
  held.client.finish_sending();
  EXPECT_TRUE(server.left.wait());  // it cannot be told from one that has gone
  held.exchange->send(text_response("still here"));
  EXPECT_EQ(held.client.read_answer().body, "still here");
  EXPECT_TRUE(held.client.is_at_end());

  HttpClient quick = server.client();
  quick.send("GET /health HTTP/1.0\r\n\r\n");
  quick.finish_sending();
  EXPECT_EQ(quick.read_answer().body, "ok");
}

TEST(HttpClose, ACallbackMayHoldTheExchangeAndDropIt) {
  TestHttpServer server;
  Held held(server);
  Signal told;
  held.exchange->on_close([&told, exchange = held.exchange]() mutable {
    exchange->write("nobody reads this");
    exchange.reset();
    told.set();
  });
  std::weak_ptr<HttpExchange> watched = held.exchange;
  held.exchange.reset();
  held.client.close();
  EXPECT_TRUE(told.wait());
  EXPECT_EQ(server.client().get("/health").body, "ok");
  EXPECT_TRUE(comes_true([&] { return watched.expired(); }));  // the worker of the request may let go last
}

TEST(HttpClose, ACallbackThatThrowsHarmsNobody) {
  TestHttpServer server;
  Held held(server);
  Signal told;
  held.exchange->on_close([&told] {
    told.set();
    throw Error(ErrorCode::kInternal, "nobody hears this");
  });
  held.client.close();
  EXPECT_TRUE(told.wait());
  held.exchange.reset();
  EXPECT_EQ(server.client().get("/health").body, "ok");
  server->stop(std::chrono::seconds(10));
}

TEST(HttpClose, EarlyAndOftenDoesNotHarm) {
  TestHttpServer server;
  const std::string whole = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nsome body";
  for (size_t cut = 0; cut < whole.size(); cut += 3) {
    HttpClient client = server.client();
    client.send(whole.substr(0, cut));
    cut % 2 == 0 ? client.close() : client.reset();
  }
  EXPECT_EQ(server.client().request("POST", "/echo", "fine").body, "fine");
}

TEST(HttpSlowReader, IsCutOffByTheBacklog) {
  HttpServerOptions options;
  options.limits.backlog_bytes = 100'000;
  TestHttpServer server(options);
  Held held(server);
  held.exchange->begin(stream_head());
  // More than the system buffers for a client that does not read.
  for (int i = 0; i < 2000 && !held.exchange->is_closed(); ++i) {
    held.exchange->write(std::string(50'000, 'x'));
    if (i % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(server.left.wait());
  held.exchange->finish();
  held.client.read_head();
  const auto read_all = [&] {
    while (held.client.read_chunk()) continue;
  };
  EXPECT_ERROR(read_all(), kIo, "the connection ended");
}

TEST(HttpSlowReader, IsCutOffWhenItTakesNothing) {
  HttpServerOptions options;
  options.limits.stalled_time = std::chrono::milliseconds(50);
  options.limits.backlog_bytes = 1 << 30;
  TestHttpServer server(options);
  Held held(server);
  held.exchange->begin(stream_head());
  held.exchange->write(std::string(64'000'000, 'x'));  // more than the system buffers
  EXPECT_TRUE(server.left.wait());
  EXPECT_EQ(server.client().get("/health").body, "ok");
}

TEST(HttpSlowReader, MayTakeItsTimeWithALargeAnswer) {
  HttpServerOptions options;
  options.limits.backlog_bytes = 100'000;  // of streams, not of answers sent whole
  TestHttpServer server(options);
  Held held(server);
  const std::string body(30'000'000, 'x');
  held.exchange->send(text_response(body));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(held.client.read_answer().body == body);
}

TEST(HttpStop, FinishesRunningAnswersAndClosesIdleConnections) {
  TestHttpServer server;
  HttpClient idle = server.client();
  EXPECT_EQ(idle.get("/health").body, "ok");
  HttpClient silent = server.client();
  Held held(server);
  Held short_one(server);
  held.exchange->begin(stream_head());
  held.exchange->write("before ");
  const uint16_t port = server->port();
  std::atomic<bool> stopped = false;
  std::thread stopping([&] {
    server->stop(std::chrono::seconds(10));
    stopped = true;
  });
  EXPECT_TRUE(idle.is_at_end());
  EXPECT_TRUE(silent.is_at_end());
  const auto keep_trying = [&] {
    while (true) HttpClient(port).get("/health");
  };
  EXPECT_ERROR(keep_trying(), kIo, "http client");
  EXPECT_FALSE(stopped);
  held.exchange->write("after");
  held.exchange->finish();
  short_one.exchange->send(text_response("last"));
  EXPECT_EQ(held.client.read_answer().body, "before after");
  const HttpAnswer last = short_one.client.read_answer();
  EXPECT_EQ(last.body, "last");
  EXPECT_EQ(last.field("connection"), "close");
  held.client.close();
  short_one.client.close();
  stopping.join();
  EXPECT_EQ(server.left.count(), 0);
  server->wait();
}

TEST(HttpStop, CutsOffWhatOutlastsTheGrace) {
  TestHttpServer server;
  Held held(server);
  server->stop(std::chrono::milliseconds(20));
  EXPECT_TRUE(server.left.wait());
  EXPECT_TRUE(held.client.is_at_end());
}

TEST(HttpStop, ExchangesMayOutliveTheServer) {
  TestHttpServer server;
  Held waiting(server);
  Held streaming(server);
  streaming.exchange->begin(stream_head());
  server.destroy();
  EXPECT_EQ(server.left.count(), 2);
  EXPECT_TRUE(waiting.exchange->is_closed());
  waiting.exchange->send(text_response("nobody"));
  streaming.exchange->write("listens");
  streaming.exchange->finish();
}

TEST(HttpStop, MayBeCalledByManyAtOnce) {
  TestHttpServer server;
  Held held(server);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { server->stop(std::chrono::milliseconds(5)); });
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(held.exchange->is_closed());
}

}  // namespace
}  // namespace wick
