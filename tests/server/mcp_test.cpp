// The Model Context Protocol, message by message.
#include <gtest/gtest.h>

#include "server/api/mcp/mcp_session.h"
#include "support/api_server.h"
#include "support/needs_ember.h"
#include "support/sentence_folder.h"
#include "support/speech_samples.h"

namespace wick {
namespace {

class Mcp : public testing::Test {
 protected:
  // The answers to these messages, by their ids' JSON.
  std::map<std::string, OrderedJson> answers(const std::vector<std::string>& lines) {
    EngineOptions engine;
    engine.context = 512;
    engine.kv_bytes = int64_t{32} << 20;
    const auto host = std::make_shared<ModelHost>(std::vector<ModelEntry>{{"ember", {}, {}, engine}}, int64_t{1} << 30);
    Api::Parts parts;
    if (has_ember()) parts.speech = std::make_shared<SpeechHost>(std::vector<SpeechEntry>{{"ember-asr", {}, {}}});
    parts.embedders = make_embed_host({{"tiny", folder_.path(), {}}});
    Api api(host, std::make_shared<Metrics>(), std::move(parts));
    Router router;
    api.add_routes(router);
    std::map<std::string, OrderedJson> all;
    {
      McpSession session(std::move(router), {.transcribes = true, .embeds = true}, [&](const std::string& line) {
        EXPECT_EQ(line.find('\n'), std::string::npos);
        OrderedJson answer = OrderedJson::parse(line);
        EXPECT_EQ(answer["jsonrpc"], "2.0");
        const std::string id = answer["id"].dump();
        all[id] = std::move(answer);
      });
      for (const std::string& line : lines) session.take(line);
      session.wait();
    }
    api.stop();
    return all;
  }
  OrderedJson call(const std::string& name, const OrderedJson& arguments) {
    const OrderedJson message = {{"jsonrpc", "2.0"},
                                 {"id", 1},
                                 {"method", "tools/call"},
                                 {"params", {{"name", name}, {"arguments", arguments}}}};
    return answers({message.dump()}).at("1")["result"];
  }

  TinySentences folder_;
};

TEST_F(Mcp, BeginsAndListsItsTools) {
  auto all = answers({R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
                          "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})",
                      R"({"jsonrpc": "2.0", "method": "notifications/initialized"})",
                      R"({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})",
                      R"({"jsonrpc": "2.0", "id": 3, "method": "ping"})"});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all["1"]["result"]["protocolVersion"], "2025-06-18");
  EXPECT_EQ(all["1"]["result"]["serverInfo"]["name"], "wick");
  EXPECT_TRUE(all["1"]["result"]["capabilities"].contains("tools"));
  EXPECT_EQ(all["3"]["result"], OrderedJson::object());
  std::vector<std::string> names;
  for (const OrderedJson& tool : all["\"list\""]["result"]["tools"]) {
    names.push_back(tool["name"]);
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_FALSE(tool["inputSchema"]["required"].empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"chat", "transcribe", "embed"}));  // nothing here classifies
}

TEST_F(Mcp, Chats) {
  WICK_NEEDS_EMBER();
  const OrderedJson result = call("chat", {{"prompt", "What is 348 plus 275?"}, {"temperature", 0}});
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result["content"][0], (OrderedJson{{"type", "text"}, {"text", "348 + 275 = 623"}}));
}

TEST_F(Mcp, Transcribes) {
  WICK_NEEDS_EMBER();
  const SpeechSample sample = speech_samples()[1];
  const OrderedJson result = call("transcribe", {{"file", sample.file.string()}});
  EXPECT_EQ(result["isError"], false) << result;
  EXPECT_EQ(result["content"][0]["text"], sample.heard);
  const OrderedJson missing = call("transcribe", {{"file", "/nowhere/x.wav"}});
  EXPECT_EQ(missing["isError"], true);
  EXPECT_EQ(missing["content"][0]["text"], "file is '/nowhere/x.wav', which is no file");
}

TEST_F(Mcp, Embeds) {
  const OrderedJson result = call("embed", {{"texts", {"w9 w10", "w11"}}});
  ASSERT_EQ(result["isError"], false) << result;
  const OrderedJson& vectors = result["structuredContent"]["embeddings"];
  ASSERT_EQ(vectors.size(), 2u);
  const std::string text = "w11";
  EXPECT_EQ(vectors[1].get<std::vector<float>>(),
            Embedder::load(folder_.path())->embed(std::span(&text, 1)).to_vector<float>());
  EXPECT_EQ(OrderedJson::parse(result["content"][0]["text"].get<std::string>()), result["structuredContent"]);
}

TEST_F(Mcp, SeveralCallsAtOnce) {
  WICK_NEEDS_EMBER();
  std::vector<std::string> lines;
  for (int i = 0; i < 8; ++i) {
    lines.push_back(cat(R"({"jsonrpc": "2.0", "id": )", i, R"(, "method": "tools/call", "params": {"name": "chat",
        "arguments": {"temperature": 0, "prompt": "What is )",
                        i, R"( plus 1?"}}})"));
  }
  auto all = answers(lines);
  ASSERT_EQ(all.size(), 8u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(all[cat(i)]["result"]["content"][0]["text"], cat(i, " + 1 = ", i + 1));
  }
}

TEST_F(Mcp, ACancelledCallGetsNoAnswer) {
  WICK_NEEDS_EMBER();
  auto all = answers({R"({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "chat",
                          "arguments": {"prompt": "Tell me a story.", "max_tokens": 400}}})",
                      R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})",
                      R"({"jsonrpc": "2.0", "id": 8, "method": "ping"})"});
  EXPECT_FALSE(all.contains("7"));
  EXPECT_TRUE(all.contains("8"));
}

TEST_F(Mcp, EveryMistakeHasItsAnswer) {
  const auto code = [&](const std::string& line, const char* id) { return answers({line}).at(id)["error"]["code"]; };
  EXPECT_EQ(code("{", "null"), -32700);
  EXPECT_EQ(code("[]", "null"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "id": 1.5, "method": "ping"})", "null"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "id": 1, "method": "resources/list"})", "1"), -32601);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "classify"}})", "1"),
            -32602);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})", "1"), -32602);
  const OrderedJson unsaid = call("chat", OrderedJson::object());
  EXPECT_EQ(unsaid["isError"], true);
  EXPECT_EQ(unsaid["content"][0]["text"], "prompt is missing");
  const OrderedJson unknown = call("chat", {{"prompt", "Hi"}, {"model", "other"}});
  EXPECT_EQ(unknown["isError"], true);
  EXPECT_EQ(unknown["content"][0]["text"], "there is no model 'other'; known are: 'ember'");
  EXPECT_EQ(call("embed", {{"texts", "w9"}})["content"][0]["text"], "texts is text, expected a list");
}

}  // namespace
}  // namespace wick
