#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/json.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

std::vector<Json> lines_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line, "log"));
  return lines;
}

class HttpLog : public testing::Test {
 protected:
  HttpServerOptions options(RequestLog::Bodies bodies = RequestLog::Bodies::kNo) const {
    HttpServerOptions options;
    options.log = std::make_shared<RequestLog>(path_, bodies);
    return options;
  }
  TempFolder folder_;
  std::filesystem::path path_ = folder_.path() / "requests.jsonl";
};

TEST_F(HttpLog, ContentsAreForTheOwnerAlone) {
  namespace fs = std::filesystem;
  const auto others = fs::perms::group_all | fs::perms::others_all;
  RequestLog(path_, RequestLog::Bodies::kYes);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(path_, fs::perms::group_read | fs::perms::others_read, fs::perm_options::add);
  RequestLog(path_, RequestLog::Bodies::kYes);
  EXPECT_EQ(fs::status(path_).permissions() & others, fs::perms::none);
}

TEST_F(HttpLog, TellsEachRequest) {
  HttpServerOptions some = options();
  some.keys = std::make_shared<ApiKeys>(ApiKeys::parse("anna: secret", "keys"));
  TestHttpServer server(some);
  HttpClient client = server.client();
  const std::string request =
      "POST /echo?token=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 5\r\n\r\nhello";
  client.send(request);
  const std::string id = client.read_answer().field("x-request-id");
  EXPECT_EQ(client.get("/no%22th\xc3\xa9ing").status, 404);
  client.send("GET /hold HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n");
  ASSERT_TRUE(server.arrived.wait());
  client.close();
  ASSERT_TRUE(server.left.wait());
  server.take_held().reset();
  server.destroy();

  const std::vector<Json> lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(cat(lines[0].at("id").as_int()), id);
  EXPECT_EQ(lines[0].at("client").as_text(), "127.0.0.1");
  EXPECT_EQ(lines[0].at("key").as_text(), "anna");
  EXPECT_EQ(lines[0].at("method").as_text(), "POST");
  EXPECT_EQ(lines[0].at("path").as_text(), "/echo");
  EXPECT_EQ(lines[0].at("status").as_int(), 200);
  EXPECT_EQ(lines[0].at("bytes_in").as_int(), static_cast<int64_t>(request.size()));
  EXPECT_GT(lines[0].at("bytes_out").as_int(), 100);
  EXPECT_GE(lines[0].at("seconds").as_number(), 0);
  EXPECT_TRUE(lines[0].at("complete").as_bool());
  EXPECT_EQ(lines[0].at("time").as_text().size(), std::string_view("2026-03-01T12:00:00.123Z").size());
  EXPECT_EQ(lines[0].find("request_body"), nullptr);
  EXPECT_EQ(lines[1].at("status").as_int(), 404);
  EXPECT_EQ(lines[1].at("path").as_text(), "/no\"th\xc3\xa9ing");
  EXPECT_EQ(lines[1].at("key").as_text(), "");
  EXPECT_EQ(lines[2].at("status").as_int(), 499);
  EXPECT_FALSE(lines[2].at("complete").as_bool());
  std::ifstream in(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}).find("secret"), std::string::npos);
}

TEST_F(HttpLog, HoldsBodiesWhenAskedTo) {
  TestHttpServer server(options(RequestLog::Bodies::kYes));
  HttpClient client = server.client();
  client.request("POST", "/echo", "{\"a\": \"\xff\n\"}");
  client.request("POST", "/echo", std::string(200'000, 'x'));
  client.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(server.arrived.wait());
  const auto exchange = server.take_held();
  exchange->begin(text_response("one "));
  exchange->write("two");
  exchange->finish();
  client.read_answer();
  server.destroy();
  const std::vector<Json> lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].at("request_body").as_text(), "{\"a\": \"\xef\xbf\xbd\n\"}");
  EXPECT_EQ(lines[0].at("response_body").as_text(), lines[0].at("request_body").as_text());
  EXPECT_EQ(lines[1].at("request_body").as_text().size(), RequestLog::kMaxBody);
  EXPECT_EQ(lines[1].at("response_body").as_text().size(), RequestLog::kMaxBody);
  EXPECT_EQ(lines[2].at("response_body").as_text(), "one two");
}

TEST_F(HttpLog, LinesOfManyThreadsStayWhole) {
  HttpServerOptions some = options();
  some.io_threads = 2;
  TestHttpServer server(some);
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      HttpClient client = server.client();
      for (int n = 0; n < 50; ++n) EXPECT_EQ(client.get(n % 2 == 0 ? "/health" : "/show/x").status, 200);
    });
  }
  for (std::thread& client : clients) client.join();
  server.destroy();
  const std::vector<Json> lines = lines_of(path_);
  EXPECT_EQ(lines.size(), 200u);
  std::vector<int64_t> ids;
  for (const Json& line : lines) ids.push_back(line.at("id").as_int());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST_F(HttpLog, AFileThatCannotBeOpenedIsAnError) {
  EXPECT_ERROR(RequestLog(folder_.path() / "no" / "log"), kIo, "cannot be opened for the log");
}

}  // namespace
}  // namespace wick
