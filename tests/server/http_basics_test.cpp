#include <gtest/gtest.h>

#include "base/json.h"
#include "support/errors.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

const Json& error_of(const Json& body) { return body.at("error"); }

TEST(Http, AnswersWithTheFieldsEveryAnswerHas) {
  TestHttpServer server;
  HttpClient client = server.client();
  const HttpAnswer first = client.get("/health");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.version, "HTTP/1.1");
  EXPECT_EQ(first.body, "ok");
  EXPECT_EQ(first.field("content-type"), "text/plain");
  EXPECT_EQ(first.field("content-length"), "2");
  EXPECT_EQ(first.field("connection"), "keep-alive");
  EXPECT_EQ(first.field("x-content-type-options"), "nosniff");
  EXPECT_TRUE(first.field("server").starts_with("wick/"));
  EXPECT_TRUE(first.field("date").ends_with(" GMT")) << first.field("date");
  EXPECT_EQ(first.field("date").size(), std::string_view("Sun, 06 Nov 1994 08:49:37 GMT").size());
  EXPECT_FALSE(first.has_field("access-control-allow-origin"));
  const HttpAnswer second = client.get("/health");  // on the same connection
  EXPECT_EQ(std::stoul(second.field("x-request-id")), std::stoul(first.field("x-request-id")) + 1);
}

TEST(Http, BodiesOfAllSizesComeBack) {
  TestHttpServer server;
  HttpClient client = server.client();
  for (const size_t size : {0, 1, 4095, 16384, 65537, 3'000'001}) {
    std::string body(size, 'x');
    for (size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 31 + i / 251);
    const HttpAnswer answer = client.request("POST", "/echo", body);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body == body) << size;
  }
}

TEST(Http, ABodyInChunksOfAnyCutIsJoined) {
  TestHttpServer server;
  HttpClient client = server.client();
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
      "5\r\nhello\r\n1;name=\"value\"\r\n,\r\nB\r\n two worlds\r\n0\r\nX-Sum: 17\r\n\r\n";
  for (size_t cut = 1; cut < request.size(); cut += 7) {
    client.send(request.substr(0, cut));
    client.send(request.substr(cut));
    EXPECT_EQ(client.read_answer().body, "hello, two worlds") << cut;
  }
  for (const char c : request) client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.read_answer().body, "hello, two worlds");
}

TEST(Http, PipelinedRequestsAreAnsweredInOrder) {
  TestHttpServer server;
  HttpClient client = server.client();
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    requests += cat("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n", 10 + i);
    requests += "GET /health HTTP/1.1\r\nHost: x\r\n\r\n\r\n";  // a blank line too many, which does not count
  }
  client.send(requests);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read_answer().body, cat(10 + i));
    EXPECT_EQ(client.read_answer().body, "ok");
  }
}

TEST(Http, PathsAndQueriesAreDecoded) {
  TestHttpServer server;
  HttpClient client = server.client();
  EXPECT_EQ(client.get("/show/a%2Fb/c%20d+e?x=1&y=%c3%a9+z&flag&=&&w=a=b").body,
            "GET\n/show/a/b/c d+e\nx=1;y=\xc3\xa9 z;flag=;=;w=a=b;\na/b/c d+e\n");
  EXPECT_EQ(client.get("http://somewhere:80/show/far#part").body, "GET\n/show/far\n\nfar\n");
  for (const char* bad :
       {"/show/%", "/show/%4", "/show/%zz", "/show/%ff", "/show/%00", "/show/a%0ab", "/show/x?a=%fe", "show/a", "*"}) {
    HttpClient other = server.client();
    const HttpAnswer answer = other.get(bad);
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_NE(error_of(Json::parse(answer.body, "body")).at("message").as_text().find("target"), std::string::npos);
  }
}

TEST(Http, UnknownPathsAndMethodsSaySo) {
  TestHttpServer server;
  HttpClient client = server.client();
  const HttpAnswer missing = client.get("/nothing/here");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.field("content-type"), "application/json");
  const Json body = Json::parse(missing.body, "body");
  EXPECT_EQ(error_of(body).at("message").as_text(), "There is nothing at '/nothing/here'.");
  EXPECT_EQ(error_of(body).at("type").as_text(), "invalid_request_error");
  EXPECT_TRUE(error_of(body).at("param").is_null());
  EXPECT_EQ(error_of(body).at("code").as_text(), "not_found");
  EXPECT_EQ(client.get("/show/").status, 404);  // a parameter is not empty
  EXPECT_EQ(client.get("/health/").status, 404);

  const HttpAnswer wrong = client.get("/echo");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.field("allow"), "POST, OPTIONS");
  EXPECT_EQ(client.request("DELETE", "/health").field("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.request("BREW", "/health").status, 405);

  const HttpAnswer options = client.request("OPTIONS", "/health");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.field("allow"), "GET, HEAD, OPTIONS");
  EXPECT_FALSE(options.has_field("content-length"));
  EXPECT_EQ(client.request("OPTIONS", "*").status, 204);
  EXPECT_EQ(client.request("OPTIONS", "/nothing").status, 404);
}

TEST(Http, HeadIsGetWithoutTheBody) {
  TestHttpServer server;
  HttpClient client = server.client();
  const HttpAnswer answer = client.request("HEAD", "/health");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("content-length"), "2");
  EXPECT_EQ(client.request("HEAD", "/nothing").status, 404);
  EXPECT_EQ(client.get("/health").body, "ok");  // nothing of a body was left in between
}

TEST(Http, OldClientsGetWhatTheyUnderstand) {
  TestHttpServer server;
  HttpClient client = server.client();
  client.send("GET /health HTTP/1.0\r\n\r\n");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(answer.field("connection"), "close");
  EXPECT_TRUE(client.is_at_end());

  HttpClient keeping = server.client();
  for (int i = 0; i < 2; ++i) {
    keeping.send("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(keeping.read_answer().field("connection"), "keep-alive");
  }
  keeping.send("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(keeping.read_answer().field("connection"), "close");
  EXPECT_TRUE(keeping.is_at_end());
}

TEST(Http, AClientThatWaitsWithItsBodyIsToldToGoOn) {
  TestHttpServer server;
  HttpClient client = server.client();
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_head().status, 100);
  client.send("hello");
  EXPECT_EQ(client.read_answer().body, "hello");
  // Not when the answer is known without the body.
  client.send("POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 404);
  HttpClient other = server.client();
  other.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: miracles\r\n\r\n");
  EXPECT_EQ(other.read_answer().status, 417);
}

TEST(Http, ExceptionsOfHandlersBecomeAnswers) {
  const std::pair<ErrorCode, int> codes[] = {{ErrorCode::kInvalidArgument, 400}, {ErrorCode::kBadFile, 400},
                                             {ErrorCode::kUnsupported, 400},     {ErrorCode::kOutOfMemory, 503},
                                             {ErrorCode::kShape, 500},           {ErrorCode::kInternal, 500}};
  Router router;
  for (const bool quick : {false, true}) {
    const std::string base = quick ? "/quick/" : "/slow/";
    for (size_t i = 0; i < std::size(codes); ++i) {
      const ErrorCode code = codes[i].first;
      router.add("GET", cat(base, i),
                 [code](const HttpRequest&, auto) { throw Error(code, "a \"reason\" with \xff in it"); },
                 {.quick = quick});
    }
    router.add("GET", cat(base, "other"), [](const HttpRequest&, auto) { throw std::runtime_error("other"); },
               {.quick = quick});
    router.add("GET", cat(base, "number"), [](const HttpRequest&, auto) { throw 3; }, {.quick = quick});
    router.add("GET", cat(base, "silence"), [](const HttpRequest&, auto) {}, {.quick = quick});
    router.add("GET", cat(base, "after"),
               [](const HttpRequest&, auto exchange) {
                 exchange->send(text_response("sent"));
                 throw std::runtime_error("too late to matter");
               },
               {.quick = quick});
    router.add("GET", cat(base, "early"), [](const HttpRequest&, auto exchange) { exchange->write("x"); },
               {.quick = quick});
  }
  TestHttpServer server({}, std::move(router));
  HttpClient client = server.client();
  for (const std::string base : {"/quick/", "/slow/"}) {
    for (size_t i = 0; i < std::size(codes); ++i) {
      const HttpAnswer answer = client.get(cat(base, i));
      EXPECT_EQ(answer.status, codes[i].second);
      EXPECT_EQ(error_of(Json::parse(answer.body, "body")).at("message").as_text(),
                "a \"reason\" with \xef\xbf\xbd in it");
    }
    const auto message = [&](const char* path) {
      const HttpAnswer answer = client.get(cat(base, path));
      EXPECT_EQ(answer.status, 500) << path;
      return error_of(Json::parse(answer.body, "body")).at("message").as_text();
    };
    EXPECT_EQ(message("other"), "other");
    EXPECT_EQ(message("number"), "The request failed for a reason without a name.");
    EXPECT_EQ(message("silence"), "The handler dropped the request without an answer.");
    EXPECT_EQ(message("early"), "The handler wrote before beginning an answer.");
    EXPECT_EQ(client.get(cat(base, "after")).body, "sent");
  }
}

TEST(Http, FieldsOfHandlersCannotSplitTheAnswer) {
  Router router;
  router.add("GET", "/split", [](const HttpRequest& request, auto exchange) {
    HttpResponse response = text_response("body");
    response.headers.emplace_back("X-Echo", cat("a\r\nX-Evil: 1\n", request.path));
    exchange->send(std::move(response));
  });
  TestHttpServer server({}, std::move(router));
  HttpClient client = server.client();
  const HttpAnswer answer = client.get("/split");
  EXPECT_EQ(answer.field("x-echo"), "a  X-Evil: 1 /split");
  EXPECT_FALSE(answer.has_field("x-evil"));
}

TEST(Http, BadOptionsAreRefused) {
  const auto start = [](const HttpServerOptions& options) { HttpServer server(Router(), options); };
  EXPECT_ERROR(start({.address = "nowhere"}), kInvalidArgument, "'nowhere' is not an IPv4 or IPv6 address");
  EXPECT_ERROR(start({.address = "203.0.113.7"}), kIo, "cannot bind to 203.0.113.7:0");
  EXPECT_ERROR(start({.io_threads = 0}), kInvalidArgument, "io threads: 0");
  EXPECT_ERROR(start({.tls_certificate = "cert.pem"}), kInvalidArgument, "TLS needs a certificate and a key");
  EXPECT_ERROR(start({.tls_certificate = "no.pem", .tls_key = "no.pem"}), kBadFile, "no.pem: no certificate");
  EXPECT_ERROR(start({.cors_origins = {"example.org"}}), kInvalidArgument, "allowed origin 'example.org'");
  TestHttpServer taken;
  EXPECT_ERROR(start({.port = taken->port()}), kIo, "cannot");
}

TEST(Router, RefusesPatternsItCannotMatch) {
  Router router;
  const HttpHandler nothing = [](const HttpRequest&, auto) {};
  for (const char* bad : {"", "health", "/a{id}", "/a/{id}/b", "/a/{}", "/a/{id", "/a/id}", "/{a}{b}"}) {
    EXPECT_ERROR(router.add("GET", bad, nothing), kInvalidArgument, "expected '/path' or '/path/{parameter}'");
  }
  router.add("GET", "/a", nothing);
  EXPECT_ERROR(router.add("GET", "/a", nothing), kInvalidArgument, "'GET /a' is there already");
  EXPECT_ERROR(router.add("HEAD", "/a", nothing), kInvalidArgument, "answered by the server itself");
}

TEST(Router, ExactPathsGoBeforeParametersAndLongOnesBeforeShortOnes) {
  Router router;
  const HttpHandler nothing = [](const HttpRequest&, auto) {};
  for (const char* pattern : {"/{file}", "/v1/{rest}", "/v1/models/{id}", "/v1/models/all"}) {
    router.add("GET", pattern, nothing);
  }
  EXPECT_EQ(router.find("GET", "/v1/models/all").pattern, "/v1/models/all");
  EXPECT_EQ(router.find("GET", "/v1/models/all/x").pattern, "/v1/models/{id}");
  EXPECT_EQ(router.find("GET", "/v1/models/").pattern, "/v1/{rest}");
  EXPECT_EQ(router.find("GET", "/v1").pattern, "/{file}");
  EXPECT_EQ(router.find("GET", "/").pattern, "");
  EXPECT_EQ(path_parameter("/v1/models/org/name", "/v1/models/{id}"), "org/name");
  EXPECT_EQ(path_parameter("/elsewhere", "/v1/models/{id}"), "");
}

}  // namespace
}  // namespace wick
