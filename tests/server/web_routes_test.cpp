#include "server/web_routes.h"

#include <gtest/gtest.h>

#include "server/http/http_server.h"
#include "server/web_page.h"
#include "support/http_client.h"

namespace wick {
namespace {

TEST(WebRoutesTest, EveryFileIsServedWithItsTypeAndPolicy) {
  Router router;
  add_web_routes(router);
  HttpServer server(std::move(router), {});
  HttpClient client(server.port());
  for (const WebFile& file : web_files()) {
    const HttpAnswer answer = client.get(file.path);
    EXPECT_EQ(answer.status, 200) << file.path;
    EXPECT_EQ(answer.body, file.body) << file.path;
    EXPECT_EQ(answer.field("content-type"), file.content_type);
    EXPECT_EQ(answer.field("content-security-policy"), kContentSecurityPolicy);
    const HttpAnswer again = client.get(file.path, {{"If-None-Match", answer.field("etag")}});
    EXPECT_EQ(again.status, 304) << file.path;
    EXPECT_EQ(again.body, "");
  }
  EXPECT_EQ(client.get("/").body, find_web_file("/index.html")->body);
  EXPECT_EQ(client.get("/", {{"If-None-Match", "\"another\""}}).status, 200);
  EXPECT_EQ(client.get("/script/../../etc/passwd").status, 404);
}

TEST(WebRoutesTest, FilesArePackedForThoseWhoTakeThem) {
  Router router;
  add_web_routes(router);
  HttpServer server(std::move(router), {});
  HttpClient client(server.port());
  const WebFile& file = *find_web_file("/page.js");
  for (const char* accepted : {"gzip", "deflate, gzip, br", "br;q=1.0, gzip;q=0.8", "gzip ; q=0.001"}) {
    const HttpAnswer answer = client.get("/page.js", {{"Accept-Encoding", accepted}});
    EXPECT_EQ(answer.field("content-encoding"), "gzip") << accepted;
    EXPECT_EQ(answer.body, file.gzip) << accepted;
    EXPECT_EQ(answer.field("vary"), "Accept-Encoding");
    EXPECT_NE(answer.field("etag"), file.etag);
    const HttpAnswer again =
        client.get("/page.js", {{"Accept-Encoding", accepted}, {"If-None-Match", answer.field("etag")}});
    EXPECT_EQ(again.status, 304);
  }
  for (const char* refused : {"", "br", "gzip;q=0", "gzip;q=0.000", "xgzip", "deflate,,", ";", "gzipped, identity"}) {
    const HttpAnswer answer = client.get("/page.js", {{"Accept-Encoding", refused}});
    EXPECT_EQ(answer.field("content-encoding"), "") << refused;
    EXPECT_EQ(answer.body, file.body) << refused;
  }
  // A packed file is none of its own, and sound has nothing to gain.
  EXPECT_EQ(client.get("/page.js.gz").status, 404);
  EXPECT_EQ(client.get("/example.wav", {{"Accept-Encoding", "gzip"}}).field("content-encoding"), "");
}

}  // namespace
}  // namespace wick
