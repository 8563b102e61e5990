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

}  // namespace
}  // namespace wick
