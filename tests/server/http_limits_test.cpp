#include <gtest/gtest.h>

#include <thread>

#include "base/json.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

std::string message_of(const HttpAnswer& answer) {
  return Json::parse(answer.body, "body").at("error").at("message").as_text();
}

// Whatever is sent gets this status, and then the connection ends.
void expect_refused(TestHttpServer& server, std::string_view bytes, int status) {
  SCOPED_TRACE(bytes.substr(0, 100));
  try {
    HttpClient client = server.client();
    client.try_send(bytes);
    const HttpAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.field("connection"), "close");
    EXPECT_FALSE(message_of(answer).empty());
    EXPECT_TRUE(client.is_at_end());
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(HttpMalformed, RequestsGetASentence) {
  TestHttpServer server;
  const std::string_view bad[] = {
      "nonsense\r\n\r\n",
      "GET\r\n\r\n",
      "GET /health\r\n\r\n",
      "GET  /health HTTP/1.1\r\n\r\n",
      "GET /hea lth HTTP/1.1\r\nHost: x\r\n\r\n",
      "G\x01T /health HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost x\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost : x\r\n\r\n",
      "GET /health HTTP/1.1\r\n: x\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n",
      "GET /health HTTP/1.1\nHost: x\n\n\r\n\r\n",
      "GET /health HTTP/1.1\r\n\r\n",                        // no host
      "GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",  // two of them
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1 1\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;=\r\na\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
  };
  for (const std::string_view request : bad) expect_refused(server, request, 400);
  expect_refused(server, "GET /health HTTP/2.0\r\nHost: x\r\n\r\n", 505);
  expect_refused(server, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
  for (const char* encoding : {"gzip", "gzip, chunked", "chunked, chunked", "identity"}) {
    expect_refused(server, cat("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ", encoding, "\r\n\r\n"), 501);
  }
  expect_refused(server, "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501);
  // The bytes of a TLS handshake, and zeros.
  expect_refused(server, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400);
  expect_refused(server, std::string(300, '\0'), 400);
  EXPECT_EQ(server.client().get("/health").body, "ok");
}

TEST(HttpMalformed, TrailersCannotChangeTheRequest) {
  HttpServerOptions options;
  options.keys = std::make_shared<ApiKeys>(ApiKeys::parse("secret", "keys"));
  TestHttpServer server(options);
  HttpClient client = server.client();
  client.try_send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1\r\na\r\n0\r\nAuthorization: Bearer secret\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 401);
}

TEST(HttpLimits, HeaderBytes) {
  HttpServerOptions options;
  options.limits.header_bytes = 1000;
  TestHttpServer server(options);
  const auto request = [](size_t size) {
    const std::string begin = "GET /health HTTP/1.1\r\nHost: x\r\nX-Long: ";
    return cat(begin, std::string(size - begin.size() - 4, 'a'), "\r\n\r\n");
  };
  HttpClient client = server.client();
  client.send(request(1000));
  EXPECT_EQ(client.read_answer().status, 200);
  client.send(request(1001));
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 431);
  EXPECT_EQ(message_of(answer), "The header of the request is longer than 1000 bytes.");
  expect_refused(server, cat("GET /", std::string(5000, 'a')), 431);
  expect_refused(server, cat("GET /health HTTP/1.1\r\nA: ", std::string(5000, 'a')), 431);
  // Line by line, each short.
  HttpClient slow = server.client();
  slow.send("GET /health HTTP/1.1\r\nHost: x\r\n");
  for (int i = 0; i < 200 && slow.try_send("A: b\r\n"); ++i) {
    if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(slow.read_answer().status, 431);
}

TEST(HttpLimits, BodyBytes) {
  HttpServerOptions options;
  options.limits.body_bytes = 100'000;
  TestHttpServer server(options);
  HttpClient client = server.client();
  EXPECT_EQ(client.request("POST", "/echo", std::string(100'000, 'x')).status, 200);
  const HttpAnswer answer = client.request("POST", "/echo", std::string(100'001, 'x'));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(message_of(answer), "The body of the request is longer than 100000 bytes.");
  EXPECT_TRUE(client.is_at_end());

  HttpClient chunked = server.client();
  chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = cat("2710\r\n", std::string(10'000, 'x'), "\r\n");
  for (int i = 0; i < 11; ++i) chunked.try_send(chunk);
  EXPECT_EQ(chunked.read_answer().status, 413);
  // A length alone is enough, and so is a claim of one chunk.
  expect_refused(server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n", 413);
  expect_refused(server, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                 413);
  // Neither sizes of chunks nor trailers may go on for ever.
  const std::string begin = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect_refused(server, cat(begin, "1;", std::string(40'000, 'a')), 400);
  expect_refused(server, cat(begin, "0\r\nA: ", std::string(40'000, 'a')), 400);
}

TEST(HttpLimits, AClientThatSendsOnAfterItsRefusalStillSeesIt) {
  HttpServerOptions options;
  options.limits.body_bytes = 4 << 20;
  TestHttpServer server(options);
  HttpClient client = server.client();
  client.send("POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
  client.try_send(std::string(3'000'000, 'x'));
  EXPECT_EQ(client.read_answer().status, 404);
}

TEST(HttpLimits, SlowHeadersAndBodiesAreCutOff) {
  HttpServerOptions options;
  options.limits.header_time = std::chrono::milliseconds(60);
  options.limits.body_time = std::chrono::milliseconds(60);
  TestHttpServer server(options);
  HttpClient header = server.client();
  HttpClient body = server.client();
  HttpClient silent = server.client();
  header.send("GET /health HTTP/1.1\r\n");
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  // Progress, byte by byte, does not help.
  for (int i = 0; i < 40; ++i) {
    const bool header_is_open = header.try_send("A: b\r\n"), body_is_open = body.try_send("x");
    if (!header_is_open || !body_is_open) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const HttpAnswer late_header = header.read_answer();
  EXPECT_EQ(late_header.status, 408);
  EXPECT_EQ(message_of(late_header), "The header took longer than 60 ms.");
  const HttpAnswer late_body = body.read_answer();
  EXPECT_EQ(late_body.status, 408);
  EXPECT_EQ(message_of(late_body), "The body took longer than 60 ms.");
  EXPECT_TRUE(silent.is_at_end());
}

TEST(HttpLimits, IdleConnectionsAreClosedButNotWaitingOnes) {
  HttpServerOptions options;
  options.limits.idle_time = std::chrono::milliseconds(30);
  options.limits.header_time = std::chrono::milliseconds(30);
  TestHttpServer server(options);
  HttpClient waiting = server.client();
  waiting.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(server.arrived.wait());
  HttpClient idle = server.client();
  EXPECT_EQ(idle.get("/health").status, 200);
  EXPECT_TRUE(idle.is_at_end());
  EXPECT_EQ(server.left.count(), 0);
  server.take_held()->send(text_response("patience"));
  EXPECT_EQ(waiting.read_answer().body, "patience");
  EXPECT_TRUE(waiting.is_at_end());
}

TEST(HttpLimits, Connections) {
  HttpServerOptions options;
  options.limits.connections = 2;
  options.limits.patience = std::chrono::seconds(60);  // nobody gives way
  TestHttpServer server(options);
  HttpClient first = server.client();
  HttpClient second = server.client();
  EXPECT_EQ(first.get("/health").status, 200);
  EXPECT_EQ(second.get("/health").status, 200);
  HttpClient third = server.client();
  const HttpAnswer answer = third.get("/show/a");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("retry-after"), "1");
  EXPECT_TRUE(third.is_at_end());
  EXPECT_EQ(server.client().get("/health").status, 200);
  first.close();
  int status = 503;
  for (int i = 0; i < 1000 && status == 503; ++i) {  // until the server has seen the end of the first
    HttpClient fourth = server.client();
    fourth.try_send("GET /show/a HTTP/1.1\r\nHost: x\r\n\r\n");
    try {
      status = fourth.read_answer().status;
    } catch (const Error&) {  // turned away while it was sending
    }
  }
  EXPECT_EQ(status, 200);
  EXPECT_EQ(second.get("/health").status, 200);
}

}  // namespace
}  // namespace wick
