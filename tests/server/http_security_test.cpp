#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/json.h"
#include "server/http/host_names.h"
#include "support/errors.h"
#include "support/self_signed.h"
#include "support/temp_folder.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

HttpServerOptions with_keys(std::string_view text) {
  HttpServerOptions options;
  options.keys = std::make_shared<ApiKeys>(ApiKeys::parse(text, "keys"));
  return options;
}

TEST(ApiKeys, AreReadFromLines) {
  const ApiKeys keys =
      ApiKeys::parse("# who may\n\n  plain-key \r\nanna: key:with:colons\n\tbob :\tthird\nlast", "keys");
  EXPECT_EQ(keys.size(), 4u);
  EXPECT_EQ(keys.find("plain-key")->name, "key-1");
  EXPECT_EQ(keys.find("key:with:colons")->name, "anna");
  EXPECT_EQ(keys.find("third")->name, "bob");
  EXPECT_EQ(keys.find("last")->name, "key-4");
  for (const char* wrong : {"", "plain-ke", "plain-keyy", "plain-key ", "anna", "# who may", "LAST"}) {
    EXPECT_EQ(keys.find(wrong), nullptr) << wrong;
  }
}

TEST(ApiKeys, BadFilesGetASentenceWithoutTheKey) {
  EXPECT_ERROR(ApiKeys::parse("", "k.txt"), kBadFile, "k.txt: there is no key in it");
  EXPECT_ERROR(ApiKeys::parse("# none\n\n", "k.txt"), kBadFile, "k.txt: there is no key in it");
  EXPECT_ERROR(ApiKeys::parse("a\nb c\n", "k.txt"), kBadFile, "k.txt: line 2: behind the key stands something else");
  EXPECT_ERROR(ApiKeys::parse("k\xc3\xa9y", "k.txt"), kBadFile, "line 1: a key holds visible ASCII");
  EXPECT_ERROR(ApiKeys::parse("anna:\n", "k.txt"), kBadFile, "line 1: no key follows the name 'anna'");
  EXPECT_ERROR(ApiKeys::parse(": key", "k.txt"), kBadFile, "line 1: the name before ':' is empty");
  EXPECT_ERROR(ApiKeys::parse("a: x\nb: x", "k.txt"), kBadFile, "line 2: the same key as 'a'");
  EXPECT_ERROR(ApiKeys::parse("a: x\na: y", "k.txt"), kBadFile, "line 2: the name 'a' is there twice");
  EXPECT_ERROR(ApiKeys::load("/nowhere/keys"), kIo, "/nowhere/keys: cannot be opened");
}

TEST(ApiKeys, MayHaveLimits) {
  const ApiKeys keys = ApiKeys::parse(
      "first\n* requests=60 cache=shared\nanna: a connections=8 weight=2.5\tpriority=high\nbob: b requests=5 "
      "cache=own\n"
      "*tokens=1e5\ncarl: c\n",
      "keys");
  const KeyLimits first = keys.find("first")->limits, anna = keys.find("a")->limits, bob = keys.find("b")->limits;
  EXPECT_EQ(first.requests_per_minute, 0);
  EXPECT_EQ(first.weight, 1);
  EXPECT_EQ(anna.connections, 8);
  EXPECT_EQ(anna.weight, 2.5);
  EXPECT_EQ(anna.priority, "high");
  EXPECT_EQ(anna.requests_per_minute, 60);
  EXPECT_TRUE(anna.shares_cache);
  EXPECT_EQ(bob.requests_per_minute, 5);
  EXPECT_FALSE(bob.shares_cache);
  EXPECT_EQ(bob.tokens_per_minute, 0);
  EXPECT_EQ(keys.find("c")->limits.tokens_per_minute, 100'000);
  for (const char* wrong :
       {"connections=0", "connections=1.5", "requests=-1", "requests=nan", "requests=inf", "tokens=", "tokens=5x",
        "weight=0", "weight", "priority=urgent", "priority=", "cache=mine", "speed=1", "=1"}) {
    EXPECT_ERROR(ApiKeys::parse(cat("a: b ", wrong), "keys"), kBadFile, "keys: line 1: behind the key stands");
  }
}

TEST(ApiKeys, AreAskedForExceptOnPublicRoutes) {
  Router router;
  router.add("GET", "/who",
             [](const HttpRequest& request, auto exchange) { exchange->send(text_response(request.caller.key)); });
  TestHttpServer server(with_keys("anna: secret-1\nsecret-2"), std::move(router));
  HttpClient client = server.client();
  EXPECT_EQ(client.get("/health").status, 200);
  const HttpAnswer without = client.get("/who");
  EXPECT_EQ(without.status, 401);
  EXPECT_EQ(without.field("www-authenticate"), "Bearer");
  const Json body = Json::parse(without.body, "body");
  EXPECT_EQ(body.at("error").at("code").as_text(), "invalid_api_key");
  EXPECT_NE(body.at("error").at("message").as_text().find("Authorization: Bearer"), std::string::npos);
  for (const char* wrong : {"Bearer", "Bearer ", "Bearer secret", "Bearer secret-11", "Basic secret-1", "secret-1",
                            "Bearer secret-1 secret-2"}) {
    EXPECT_EQ(client.get("/who", {{"Authorization", wrong}}).status, 401) << wrong;
  }
  EXPECT_EQ(client.get("/who", {{"Authorization", "Bearer secret-1"}}).body, "anna");
  EXPECT_EQ(client.get("/who", {{"authorization", "bearer  secret-2"}}).body, "key-2");
  EXPECT_EQ(client.get("/nothing").status, 404);
  // Refused before the body is asked for.
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 401);
}

TEST(ApiKeys, NewOnesHoldFromTheNextRequestOn) {
  TestHttpServer server(with_keys("anna: old"));
  HttpClient client = server.client();
  const auto status = [&](const char* key) {
    return client.get("/show/a", {{"Authorization", cat("Bearer ", key)}}).status;
  };
  EXPECT_EQ(status("old"), 200);
  server->replace_keys(std::make_shared<ApiKeys>(ApiKeys::parse("anna: new", "keys")));
  EXPECT_EQ(status("old"), 401);
  EXPECT_EQ(status("new"), 200);
  EXPECT_ERROR(server->replace_keys(nullptr), kInvalidArgument, "API keys cannot be turned on or off");
}

TEST(Cors, IsOffUnlessOriginsAreAllowed) {
  TestHttpServer server;
  HttpClient client = server.client();
  const HttpAnswer answer = client.get("/health", {{"Origin", "https://page.example"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(answer.has_field("access-control-allow-origin"));
  EXPECT_FALSE(client
                   .request("OPTIONS", "/echo", {},
                            {{"Origin", "https://page.example"}, {"Access-Control-Request-Method", "POST"}})
                   .has_field("access-control-allow-methods"));
}

TEST(Cors, AllowedOriginsReadAnswersAndAskBefore) {
  HttpServerOptions options = with_keys("secret");
  options.cors_origins = {"https://page.example", "http://localhost:5173"};
  TestHttpServer server(options);
  HttpClient client = server.client();
  const HttpAnswer answer = client.get("/health", {{"Origin", "http://localhost:5173"}});
  EXPECT_EQ(answer.field("access-control-allow-origin"), "http://localhost:5173");
  EXPECT_EQ(answer.field("vary"), "Origin");
  const HttpAnswer other = client.get("/health", {{"Origin", "http://localhost:5174"}});
  EXPECT_FALSE(other.has_field("access-control-allow-origin"));
  EXPECT_EQ(other.field("vary"), "Origin");
  // A browser asks without the key, and sees errors, too.
  const HttpAnswer before = client.request("OPTIONS", "/echo", {},
                                           {{"Origin", "https://page.example"},
                                            {"Access-Control-Request-Method", "POST"},
                                            {"Access-Control-Request-Headers", "authorization, content-type"}});
  EXPECT_EQ(before.status, 204);
  EXPECT_EQ(before.field("access-control-allow-origin"), "https://page.example");
  EXPECT_EQ(before.field("access-control-allow-methods"), "POST, OPTIONS");
  EXPECT_EQ(before.field("access-control-allow-headers"), "authorization, content-type");
  EXPECT_EQ(
      client.request("POST", "/echo", "x", {{"Origin", "https://page.example"}}).field("access-control-allow-origin"),
      "https://page.example");
}

TEST(Cors, AStarAllowsAll) {
  HttpServerOptions options;
  options.cors_origins = {"*"};
  TestHttpServer server(options);
  const HttpAnswer answer = server.client().get("/health", {{"Origin", "https://any.example"}});
  EXPECT_EQ(answer.field("access-control-allow-origin"), "*");
}

TEST(Hosts, OnlyNamesOfThisServerAreAnswered) {
  HttpServerOptions options;
  options.allowed_hosts = {"Wick.example", "[fd00::1]"};
  TestHttpServer server(options);
  HttpClient client = server.client();
  const auto status = [&](std::string_view host) {
    client.send(cat("GET /show/a HTTP/1.1\r\nHost: ", host, "\r\n\r\n"));
    return client.read_answer().status;
  };
  for (const char* own : {"127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:1", "[::1]:8080", "127.1.2.3",
                          "wick.example:443", "WICK.EXAMPLE.", "[fd00::1]"}) {
    EXPECT_EQ(status(own), 200) << own;
  }
  for (const char* other : {"evil.example", "wick.example.evil.example", "localhost.evil.example", "evil.example:8080",
                            "192.168.1.7", "[fd00::2]", "", "[::1", "127.0.0.1.evil.example", "*"}) {
    EXPECT_EQ(status(other), 403) << other;
  }
  client.send("POST /echo HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1\r\n\r\nx");
  const HttpAnswer refused = client.read_answer();
  const Json error = Json::parse(refused.body, "body").at("error");
  EXPECT_EQ(error.at("code").as_text(), "host_not_allowed");
  EXPECT_NE(error.at("message").as_text().find("'evil.example'"), std::string::npos);
}

TEST(Hosts, BelongToTheAddress) {
  const auto has = [](const char* address, const char* host) {
    return HostNames(boost::asio::ip::make_address(address), {}).has(host);
  };
  EXPECT_TRUE(has("0.0.0.0", "192.168.1.7:8080"));  // an address is what no page can make lead elsewhere
  EXPECT_TRUE(has("::", "[fe80::1]"));
  EXPECT_TRUE(has("0.0.0.0", "localhost"));
  EXPECT_FALSE(has("0.0.0.0", "evil.example"));
  EXPECT_TRUE(has("192.168.1.7", "192.168.1.7"));
  EXPECT_FALSE(has("192.168.1.7", "192.168.1.8"));
  EXPECT_FALSE(has("192.168.1.7", "localhost"));
  EXPECT_TRUE(has("::1", "127.0.0.1"));
  EXPECT_TRUE(HostNames(boost::asio::ip::make_address("127.0.0.1"), {"*"}).has("any.example"));
  for (const char* bad : {"", "http://a", "a b", "a,b", "a/b"}) {
    EXPECT_ERROR(HostNames(boost::asio::ip::make_address("127.0.0.1"), {bad}), kInvalidArgument, "allowed host");
  }
}

TEST(Origins, PagesOfOthersHaveNothingDone) {
  int done = 0;
  Router router;
  router.add("POST", "/do", [&](const HttpRequest&, auto exchange) {
    ++done;
    exchange->send(text_response("done"));
  });
  HttpServerOptions options;
  options.cors_origins = {"https://page.example"};
  TestHttpServer server(options, std::move(router));
  const auto status = [&](const HttpClient::Fields& fields) {
    return server.client().request("POST", "/do", "{}", fields).status;
  };
  const std::pair<std::string, std::string> text{"Content-Type", "text/plain"};
  EXPECT_EQ(status({text, {"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(status({text, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "none"}}), 403);
  EXPECT_EQ(status({text, {"Origin", "null"}}), 403);
  EXPECT_EQ(status({text, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(done, 0);
  EXPECT_EQ(status({text}), 200);  // a program
  EXPECT_EQ(status({text, {"Origin", "http://127.0.0.1"}, {"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(status({text, {"Origin", "https://page.example"}, {"Sec-Fetch-Site", "cross-site"}}), 200);
  EXPECT_EQ(done, 3);
  // To look is harmless: the answer is kept from the page by the browser.
  EXPECT_EQ(server.client().get("/show/a", {{"Sec-Fetch-Site", "cross-site"}}).status, 200);
}

TEST(Bodies, AreNotUnpacked) {
  TestHttpServer server;
  for (const char* encoding : {"gzip", "br", "deflate, gzip"}) {
    const HttpAnswer answer = server.client().request("POST", "/echo", "x", {{"Content-Encoding", encoding}});
    EXPECT_EQ(answer.status, 415) << encoding;
    EXPECT_EQ(answer.field("accept-encoding"), "identity");
  }
  EXPECT_EQ(server.client().request("POST", "/echo", "x", {{"Content-Encoding", "identity"}}).body, "x");
}

class HttpTls : public testing::Test {
 protected:
  HttpTls() {
    options_.tls_certificate = folder_.path() / "cert.pem";
    options_.tls_key = folder_.path() / "key.pem";
    write_self_signed(options_.tls_certificate, options_.tls_key);
  }
  TempFolder folder_;
  HttpServerOptions options_;
};

TEST_F(HttpTls, CarriesRequestsAndStreams) {
  TestHttpServer server(options_);
  EXPECT_TRUE(server->url().starts_with("https://127.0.0.1:"));
  HttpClient client = server.client(HttpClient::Security::kTls);
  EXPECT_EQ(client.get("/health").body, "ok");
  const std::string large(2'000'003, 'x');
  EXPECT_TRUE(client.request("POST", "/echo", large).body == large);
  client.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(server.arrived.wait());
  const auto exchange = server.take_held();
  exchange->begin(text_response("one"));
  client.read_head();
  EXPECT_EQ(client.read_chunk(), "one");
  exchange->write("two");
  EXPECT_EQ(client.read_chunk(), "two");
  exchange->finish();
  EXPECT_EQ(client.read_chunk(), std::nullopt);
  client.send("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "ok");
  EXPECT_TRUE(client.is_at_end());
}

TEST_F(HttpTls, NoticesClientsThatGoAndThoseThatSpeakPlainly) {
  options_.limits.header_time = std::chrono::milliseconds(50);
  TestHttpServer server(options_);
  HttpClient plain = server.client();
  plain.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.read_to_end().find("HTTP/1.1 200"), std::string::npos);
  HttpClient silent = server.client();  // never shakes hands
  EXPECT_TRUE(silent.is_at_end());
  HttpClient client = server.client(HttpClient::Security::kTls);
  client.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(server.arrived.wait());
  client.close();
  EXPECT_TRUE(server.left.wait());
}

TEST_F(HttpTls, StopsWithOpenConnections) {
  TestHttpServer server(options_);
  HttpClient idle = server.client(HttpClient::Security::kTls);
  EXPECT_EQ(idle.get("/health").body, "ok");
  HttpClient busy = server.client(HttpClient::Security::kTls);
  busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(server.arrived.wait());
  std::thread stopping([&] { server->stop(std::chrono::seconds(10)); });
  EXPECT_TRUE(idle.is_at_end());
  server.take_held()->send(text_response("last"));
  EXPECT_EQ(busy.read_answer().body, "last");
  busy.close();
  stopping.join();
}

TEST_F(HttpTls, ANewCertificateIsForNewConnections) {
  TestHttpServer server(options_);
  HttpClient before = server.client(HttpClient::Security::kTls);
  EXPECT_EQ(before.get("/health").body, "ok");
  const std::string first = before.certificate();
  write_self_signed(options_.tls_certificate, options_.tls_key);
  server->reload_certificate();
  HttpClient after = server.client(HttpClient::Security::kTls);
  EXPECT_NE(after.certificate(), first);
  EXPECT_EQ(after.get("/health").body, "ok");
  EXPECT_EQ(before.get("/health").body, "ok");
  std::ofstream(options_.tls_certificate) << "not a certificate";
  EXPECT_ERROR(server->reload_certificate(), kBadFile, "cert.pem: no certificate in PEM");
  EXPECT_EQ(server.client(HttpClient::Security::kTls).get("/health").body, "ok");
}

TEST_F(HttpTls, AKeyOfAnotherCertificateIsRefused) {
  write_self_signed(folder_.path() / "other.pem", folder_.path() / "other-key.pem");
  options_.tls_key = folder_.path() / "other-key.pem";
  EXPECT_ERROR(HttpServer(Router(), options_), kBadFile, "other-key.pem: no key in PEM that fits");
  std::ofstream(folder_.path() / "junk.pem") << "not a certificate";
  options_.tls_certificate = folder_.path() / "junk.pem";
  EXPECT_ERROR(HttpServer(Router(), options_), kBadFile, "junk.pem: no certificate in PEM");
}

}  // namespace
}  // namespace wick
