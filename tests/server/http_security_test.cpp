#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/json.h"
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
  EXPECT_EQ(keys.name_of("plain-key"), "key-1");
  EXPECT_EQ(keys.name_of("key:with:colons"), "anna");
  EXPECT_EQ(keys.name_of("third"), "bob");
  EXPECT_EQ(keys.name_of("last"), "key-4");
  for (const char* wrong : {"", "plain-ke", "plain-keyy", "plain-key ", "anna", "# who may", "LAST"}) {
    EXPECT_EQ(keys.name_of(wrong), "") << wrong;
  }
}

TEST(ApiKeys, BadFilesGetASentenceWithoutTheKey) {
  EXPECT_ERROR(ApiKeys::parse("", "k.txt"), kBadFile, "k.txt: there is no key in it");
  EXPECT_ERROR(ApiKeys::parse("# none\n\n", "k.txt"), kBadFile, "k.txt: there is no key in it");
  EXPECT_ERROR(ApiKeys::parse("a\nb c\n", "k.txt"), kBadFile, "k.txt: line 2: a key holds visible ASCII");
  EXPECT_ERROR(ApiKeys::parse("k\xc3\xa9y", "k.txt"), kBadFile, "line 1: a key holds visible ASCII");
  EXPECT_ERROR(ApiKeys::parse("anna:\n", "k.txt"), kBadFile, "line 1: no key follows the name 'anna'");
  EXPECT_ERROR(ApiKeys::parse(": key", "k.txt"), kBadFile, "line 1: the name before ':' is empty");
  EXPECT_ERROR(ApiKeys::parse("a: x\nb: x", "k.txt"), kBadFile, "line 2: the same key as 'a'");
  EXPECT_ERROR(ApiKeys::parse("a: x\na: y", "k.txt"), kBadFile, "line 2: the name 'a' is there twice");
  EXPECT_ERROR(ApiKeys::load("/nowhere/keys"), kIo, "/nowhere/keys: cannot be opened");
}

TEST(ApiKeys, AreAskedForExceptOnPublicRoutes) {
  Router router;
  router.add("GET", "/who",
             [](const HttpRequest& request, auto exchange) { exchange->send(text_response(request.key_name)); });
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
