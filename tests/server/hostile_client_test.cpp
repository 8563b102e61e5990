// One hostile client, one honest one: whatever the first does, the second is answered in good time. The bounds are
// wide, so that a loaded machine keeps them; what each attack once did was ten times worse.
#include <gtest/gtest.h>

#include "server/http/clients/key_guard.h"
#include "support/api_server.h"
#include "support/comes_true.h"
#include "support/hostile_client.h"
#include "support/needs_ember.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

constexpr char kHostile[] = "127.0.0.66", kHonest[] = "127.0.0.7";

class HostileClient : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }

  static HonestRequest small_chat() {
    return {"POST", "/v1/chat/completions",
            R"({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "temperature": 0})"};
  }
  static std::string wav(uint32_t rate, size_t bytes) {
    const auto u32 = [](uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); };
    const std::string format = cat(std::string("\1\0\1\0", 4), u32(rate), u32(rate), std::string("\1\0\10\0", 4));
    const auto size = static_cast<uint32_t>(bytes);
    return cat("RIFF", u32(size + 36), "WAVEfmt ", u32(16), format, "data", u32(size), std::string(bytes, '\x80'));
  }
  static HonestRequest recording(uint32_t rate, size_t bytes) {
    std::string form = "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"talk.wav\"\r\n\r\n";
    form += cat(wav(rate, bytes), "\r\n--edge--\r\n");
    return {"POST", "/v1/audio/transcriptions", form, {{"Content-Type", "multipart/form-data; boundary=edge"}}};
  }
};

TEST_F(HostileClient, LongTextsDoNotHoldUpShortOnes) {
  ApiServer server;
  std::string text;
  while (text.size() < (30u << 20)) text += cat("word", text.size() % 9973, " and ");
  const std::string body = cat(R"({"messages": [{"role": "user", "content": ")", text, R"("}]})");
  EXPECT_EQ(server.post(small_chat().target, small_chat().body).status, 200);
  std::atomic<int> refused{0};
  const Attack attack = [&](uint16_t port, const std::atomic<bool>& over) {
    for (int i = 0; i < 3 && !over; ++i) {
      HttpClient client(port, HttpClient::Security::kPlain, kHostile);
      const HttpAnswer answer = client.request("POST", "/v1/chat/completions", body);
      refused += answer.status == 400 || answer.status == 503;
    }
  };
  HonestRequest honest = small_chat();
  honest.address = kHonest;
  const HonestReport report = under_attack(server.port(), attack, 8, 60, honest);
  EXPECT_UNHURT(report, 5.0);
  EXPECT_GT(refused, 0);
}

// As many answers as there may be, each as urgent as can be.
TEST_F(HostileClient, ManyUrgentAnswersDoNotHoldUpAnother) {
  ApiServer server;
  EXPECT_EQ(server.post(small_chat().target, small_chat().body).status, 200);
  const std::string body = R"({"messages": [{"role": "user", "content": "Tell me a long story about a fox."}], "n": 8,
                               "max_tokens": 400, "ignore_eos": true, "temperature": 1, "priority": "critical"})";
  std::atomic<int> asked{0};
  const Attack attack = [&](uint16_t port, const std::atomic<bool>& over) {
    std::vector<HttpClient> open;
    for (int i = 0; i < 42 && !over; ++i) {
      HttpClient& client = open.emplace_back(port, HttpClient::Security::kPlain, kHostile);
      client.send(
          cat("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
      ++asked;
    }
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  HonestRequest honest = small_chat();
  honest.address = kHonest;
  const HonestReport report = under_attack(server.port(), attack, 8, 4, honest);
  EXPECT_UNHURT(report, 5.0);
  EXPECT_EQ(asked, 8 * 42);
}

// 20 KB that claim to be five hours.
TEST_F(HostileClient, SoundOfFewSamplesIsRefused) {
  ApiServer server;
  const HonestRequest forged = recording(1, 20'000);
  const HttpAnswer answer = server.post(forged.target, forged.body, forged.fields);
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("a sample rate of 1 Hz, outside 1000 to 768000"), std::string::npos) << answer.body;
  const Attack attack = [&](uint16_t port, const std::atomic<bool>&) {
    for (int i = 0; i < 10; ++i) {
      HttpClient client(port, HttpClient::Security::kPlain, kHostile);
      client.request("POST", forged.target, forged.body, forged.fields);
    }
  };
  HonestRequest honest = recording(8000, 8000);
  honest.address = kHonest;
  EXPECT_UNHURT(under_attack(server.port(), attack, 8, 30, honest), 5.0);
}

// Four hours of silence each, from somebody who leaves before they are heard.
TEST_F(HostileClient, LongRecordingsOfOneClientLeaveRoomForOthersAndEndWithHim) {
  auto server = std::make_unique<ApiServer>();
  const HonestRequest hours = recording(1000, 14'000'000);
  const Attack attack = [&](uint16_t port, const std::atomic<bool>& over) {
    HttpClient client(port, HttpClient::Security::kPlain, kHostile);
    client.send(cat("POST ", hours.target, " HTTP/1.1\r\nHost: x\r\nContent-Type: ", hours.fields[0].second,
                    "\r\nContent-Length: ", hours.body.size(), "\r\n\r\n", hours.body));
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  HonestRequest honest = recording(8000, 8000);
  honest.address = kHonest;
  EXPECT_UNHURT(under_attack(server->port(), attack, 3, 3, honest), 5.0);
  const auto began = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3));
}

// All connections that one client may have, each with a body that comes byte by byte.
class SlowBodies {
 public:
  explicit SlowBodies(int connections) : connections_(connections) {}
  void operator()(uint16_t port, const std::atomic<bool>& over) const {
    std::vector<HttpClient> clients;
    for (int i = 0; i < connections_; ++i) {
      clients.emplace_back(port, HttpClient::Security::kPlain, kHostile);
      clients.back().try_send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    }
    while (!over) {
      for (HttpClient& client : clients) client.try_send("a");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

 private:
  int connections_;
};

TEST(HostileConnections, SlowBodiesTakeNothingFromOthers) {
  TestHttpServer server;
  EXPECT_UNHURT(under_attack(server->port(), SlowBodies(1100), 1, 3, {"GET", "/show/a", {}, {}, 200, kHonest}), 5.0);
}

TEST(HostileConnections, HealthIsTold) {
  HttpServerOptions options;
  options.limits.patience = std::chrono::seconds(60);  // nobody gives way
  TestHttpServer server(options);
  EXPECT_UNHURT(under_attack(server->port(), SlowBodies(1100), 1, 3, {"GET", "/health", {}, {}, 200, kHostile}), 5.0);
}

TEST(HostileConnections, WhoLetsTheServerWaitGivesWay) {
  HttpServerOptions options;
  options.limits.client_connections = 20;
  options.limits.patience = std::chrono::milliseconds(100);
  TestHttpServer server(options);
  std::vector<HttpClient> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(server.client());
    slow.back().send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
  }
  HttpClient busy = std::move(slow.back());  // the server does not wait for this one
  busy.send("0123456789");
  EXPECT_EQ(busy.read_answer().body, "0123456789");
  busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(server.arrived.wait());
  slow.pop_back();
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(comes_true([&] {
      HttpClient client = server.client();
      try {
        return client.get("/show/a").status == 200;
      } catch (const Error&) {
        return false;
      }
    }));
  }
  server.take_held()->send(text_response("still there"));
  EXPECT_EQ(busy.read_answer().body, "still there");
}

TEST(HostileConnections, ParkedBodiesTakeBoundedMemoryAndAreCutOff) {
  HttpServerOptions options;
  options.limits.bodies_bytes = 16 << 20;
  options.limits.rate_time = std::chrono::milliseconds(1500);
  TestHttpServer server(options);
  std::vector<HttpClient> parked;
  int refused = 0;
  for (int i = 0; i < 12; ++i) {
    parked.emplace_back(server->port(), HttpClient::Security::kPlain, kHostile);
    parked.back().send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n");
    parked.back().try_send(std::string(1'900'000, 'x'));
  }
  // He has half of the memory, the others still have theirs.
  HttpClient honest(server->port(), HttpClient::Security::kPlain, kHonest);
  EXPECT_EQ(honest.request("POST", "/echo", std::string(6'000'000, 'y')).status, 200);
  HttpClient small(server->port(), HttpClient::Security::kPlain, kHostile);
  EXPECT_EQ(small.request("POST", "/echo", std::string(1000, 'y')).status, 200);
  for (HttpClient& client : parked) {
    const HttpAnswer answer = client.read_answer();
    refused += answer.status == 503;
    if (answer.status == 503) {
      EXPECT_EQ(answer.field("retry-after"), "1");
    } else {
      EXPECT_EQ(answer.status, 408);
      EXPECT_NE(answer.body.find("The body came slower than 4096 bytes per second."), std::string::npos);
    }
  }
  EXPECT_EQ(refused, 8);  // four of 1.9 MB fit 8 MB
  EXPECT_EQ(small.request("POST", "/echo", std::string(6'000'000, 'y')).status, 200);
}

TEST(HostileConnections, WrongKeysShutOutTheirClientAlone) {
  HttpServerOptions options;
  options.keys = std::make_shared<ApiKeys>(ApiKeys::parse("secret", "keys"));
  TestHttpServer server(options);
  const auto status = [&](const char* from, const char* key) {
    HttpClient client(server->port(), HttpClient::Security::kPlain, from);
    return client.get("/show/a", {{"Authorization", cat("Bearer ", key)}}).status;
  };
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status(kHostile, "guess"), 401);
  HttpClient client(server->port(), HttpClient::Security::kPlain, kHostile);
  const HttpAnswer refused = client.get("/show/a", {{"Authorization", "Bearer guess"}});
  EXPECT_EQ(refused.status, 429);
  EXPECT_GT(std::stoi(refused.field("retry-after")), 50);
  EXPECT_EQ(status(kHostile, "secret"), 429);  // or he could go on trying
  EXPECT_EQ(status(kHonest, "secret"), 200);
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST(KeyGuard, KeysThatWereRightAreStillTaken) {
  HttpLimits limits;
  limits.wrong_keys = 3;
  KeyGuard guard(std::make_shared<ApiKeys>(ApiKeys::parse("anna: a\nbob: b", "keys")), limits);
  using Verdict = KeyGuard::Verdict;
  const auto start = KeyGuard::Clock::now();
  const auto look = [&](const char* key, int seconds) {
    return guard.look("here", key, start + std::chrono::seconds(seconds));
  };
  EXPECT_EQ(look("a", 0).name, "anna");
  EXPECT_EQ(look("", 0).verdict, Verdict::kWrong);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look("x", 1 + i).verdict, Verdict::kWrong);
  EXPECT_EQ(look("x", 5).verdict, Verdict::kTooMany);
  EXPECT_EQ(look("b", 5).verdict, Verdict::kTooMany);
  EXPECT_EQ(look("b", 11).wait, std::chrono::seconds(50));
  EXPECT_EQ(look("a", 5).name, "anna");
  EXPECT_EQ(guard.look("there", "b").name, "bob");
  EXPECT_EQ(look("b", 62).name, "bob");
  guard.replace(std::make_shared<ApiKeys>(ApiKeys::parse("carl: c", "keys")));
  EXPECT_EQ(look("a", 63).verdict, Verdict::kWrong);
  EXPECT_EQ(look("c", 63).name, "carl");
}

}  // namespace
}  // namespace wick
