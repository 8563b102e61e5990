// Anthropic's API from end to end, against what its documentation says, and Ember's sure-fire answers.
#include <gtest/gtest.h>

#include "server/api/messages/messages_request.h"
#include "server/api/messages/messages_writer.h"
#include "server/http/clients/api_keys.h"
#include "server/http/error_response.h"
#include "support/api_server.h"
#include "support/for_all_tests.h"
#include "support/needs_ember.h"
#include "support/played_answer.h"

namespace wick {
namespace {

constexpr char kMessages[] = "/v1/messages";

ApiServer& anthropic() {
  return for_all_tests([] { return std::make_unique<ApiServer>(); });
}

std::string message_body(std::string_view more) {
  return cat(R"({"model": "ember", "max_tokens": 100, "temperature": 0, )", more, "}");
}
std::string asking(std::string_view question, std::string_view more = "") {
  return message_body(cat(R"("messages": [{"role": "user", "content": ")", question, "\"}]", more));
}

const char kWeatherTool[] = R"(, "tools": [{"name": "get_weather", "description": "Get the weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string",
    "description": "The name of the city"}}, "required": ["city"]}}])";

MessageAnswerOptions message_options(bool stream) {
  MessageAnswerOptions options;
  options.id = "msg_1";
  options.model = "tiny";
  options.stream = stream;
  options.prompt_tokens = 10;
  options.format = thinking_format();
  return options;
}

const std::vector<std::string> kThinksAndUses = {"<think>",
                                                 "Let me",
                                                 " see.",
                                                 "</think>",
                                                 "\n\nI call.\n",
                                                 "<tool_call>",
                                                 "\n{\"name\": \"f\", \"arguments\": {\"x\"",
                                                 ": 1}}",
                                                 "\n</tool_call>"};

TEST(Messages, AnAnswer) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = anthropic().answer(kMessages, asking("What is 348 plus 275?"));
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(answer["type"], "message");
  EXPECT_EQ(answer["content"], OrderedJson::parse(R"([{"type": "text", "text": "348 + 275 = 623"}])"));
  EXPECT_EQ(answer["stop_reason"], "end_turn");
  EXPECT_TRUE(answer["stop_sequence"].is_null());
  const OrderedJson stopped =
      anthropic().answer(kMessages, asking("What is 348 plus 275?", R"(, "stop_sequences": ["= 6"])"));
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], "= 6");
}

TEST(Messages, ToolsAreUsedAndTheirResultsRead) {
  WICK_NEEDS_EMBER();
  const OrderedJson first = anthropic().answer(kMessages, asking("What is the weather in Lyon?", kWeatherTool));
  EXPECT_EQ(first["stop_reason"], "tool_use");
  const OrderedJson call = first["content"].back();
  EXPECT_TRUE(call["id"].get<std::string>().starts_with("toolu_"));
  EXPECT_EQ(call["input"], (OrderedJson{{"city", "Lyon"}}));
  const OrderedJson second = anthropic().answer(
      kMessages, message_body(cat(R"("messages": [{"role": "user", "content": [{"type": "text", "text":
          "What is the weather in Lyon?"}]}, {"role": "assistant", "content": )",
                                  first["content"].dump(), R"(}, {"role": "user", "content": [{"type": "tool_result",
          "tool_use_id": )",
                                  call["id"].dump(), R"(, "content": [{"type": "text", "text":
          "{\"temperature\": 12, \"sky\": \"cloudy\"}"}]}]}])",
                                  kWeatherTool)));
  EXPECT_EQ(second["content"][0]["text"], "In Lyon it is cloudy and 12 degrees.");
  const OrderedJson forced = anthropic().answer(
      kMessages,
      asking("Who are you?", cat(kWeatherTool, R"(, "tool_choice": {"type": "tool", "name": "get_weather"})")));
  EXPECT_EQ(forced["content"].back()["name"], "get_weather");
}

TEST(Messages, CountsWhatAnAnswerTakes) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = anthropic().answer(kMessages, asking("Who are you?", kWeatherTool));
  const OrderedJson count = anthropic().answer(
      "/v1/messages/count_tokens",
      cat(R"({"model": "ember", "messages": [{"role": "user", "content": "Who are you?"}])", kWeatherTool, "}"));
  const OrderedJson& usage = answer["usage"];
  EXPECT_EQ(count["input_tokens"],
            usage["input_tokens"].get<int64_t>() + usage["cache_read_input_tokens"].get<int64_t>());
}

TEST(Messages, BlocksBecomeMessages) {
  const auto request = CountTokensRequest::fields().read(Json::parse(R"({"model": "m", "system": [{"type": "text",
      "text": "Be "}, {"type": "text", "text": "kind."}], "messages": [
      {"role": "user", "content": "a"},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"},
          {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "b"},
          {"type": "tool_use", "id": "1", "name": "f", "input": {"x": [1, "y"]}},
          {"type": "tool_use", "id": "2", "name": "g", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "r"},
          {"type": "tool_result", "tool_use_id": "2"}, {"type": "text", "text": "c"}]}]})",
                                                                     "the body"));
  const ChatRequest chat = request.as_chat();
  ASSERT_EQ(chat.messages.size(), 6u);
  EXPECT_EQ(chat.messages[0].content->text, "Be kind.");
  EXPECT_EQ(chat.messages[2].reasoning_content, "t");
  EXPECT_EQ(chat.messages[2].content->text, "b");
  ASSERT_EQ(chat.messages[2].tool_calls.size(), 2u);
  EXPECT_EQ(chat.messages[2].tool_calls[0].function.arguments, R"({"x":[1,"y"]})");
  EXPECT_EQ(chat.messages[3].role, "tool");
  EXPECT_EQ(chat.messages[3].tool_call_id, "1");
  EXPECT_EQ(chat.messages[4].content->text, "");
  EXPECT_EQ(chat.messages[5].role, "user");
  EXPECT_EQ(chat.messages[5].content->text, "c");
  EXPECT_EQ(chat.enable_thinking, false);
}

TEST(Messages, TheEventsOfAStreamAreAnthropics) {
  const auto exchange = std::make_shared<RecordedExchange>();
  MessagesWriter writer(exchange, message_options(true));
  play_answer(writer, kThinksAndUses);
  writer.finish();
  std::vector<std::string> kinds;
  std::string arguments;
  OrderedJson id;
  for (const ServerEvent& event : events_of(exchange->stream)) {
    const OrderedJson data = OrderedJson::parse(event.data);
    EXPECT_EQ(event.name, data["type"]);
    std::string kind = event.name;
    if (kind == "content_block_start") kind += cat(" ", data["index"].get<int>(), data["content_block"]["type"].dump());
    if (kind == "content_block_delta") {
      kind = data["delta"]["type"];
      arguments += data["delta"].value("partial_json", "");
    }
    if (kinds.empty() || kinds.back() != kind) kinds.push_back(kind);
    if (event.name == "message_start") {
      EXPECT_EQ(data["message"], OrderedJson::parse(R"({"id": "msg_1", "type": "message", "role": "assistant",
          "model": "tiny", "content": [], "stop_reason": null, "stop_sequence": null,
          "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                    "output_tokens": 0}})"));
    }
    if (event.name == "message_delta") {
      EXPECT_EQ(data, OrderedJson::parse(R"({"type": "message_delta", "delta": {"stop_reason": "tool_use",
          "stop_sequence": null}, "usage": {"input_tokens": 6, "cache_creation_input_tokens": 0,
          "cache_read_input_tokens": 4, "output_tokens": 9}})"));
    }
  }
  const std::vector<std::string> expected = {"message_start",
                                             "content_block_start 0\"thinking\"",
                                             "thinking_delta",
                                             "content_block_stop",
                                             "content_block_start 1\"text\"",
                                             "text_delta",
                                             "content_block_stop",
                                             "content_block_start 2\"tool_use\"",
                                             "input_json_delta",
                                             "content_block_stop",
                                             "message_delta",
                                             "message_stop"};
  EXPECT_EQ(kinds, expected);
  EXPECT_EQ(OrderedJson::parse(arguments), (OrderedJson{{"x", 1}}));
}

TEST(Messages, WholeAnswersHaveTheSameBlocks) {
  const auto exchange = std::make_shared<RecordedExchange>();
  MessagesWriter writer(exchange, message_options(false));
  play_answer(writer, kThinksAndUses);
  writer.finish();
  OrderedJson content = OrderedJson::parse(exchange->sent->body)["content"];
  content[2].erase("id");
  EXPECT_EQ(content, OrderedJson::parse(R"([{"type": "thinking", "thinking": "Let me see.", "signature": ""},
      {"type": "text", "text": "I call."}, {"type": "tool_use", "name": "f", "input": {"x": 1}}])"));
}

TEST(Messages, ACallThatWasCutOffIsText) {
  const auto exchange = std::make_shared<RecordedExchange>();
  MessagesWriter writer(exchange, message_options(false));
  play_answer(writer, {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": [[1"}, StopReason::kLength);
  writer.finish();
  const OrderedJson answer = OrderedJson::parse(exchange->sent->body);
  EXPECT_EQ(answer["stop_reason"], "max_tokens");
  for (const OrderedJson& block : answer["content"]) EXPECT_EQ(block["type"], "text");
}

TEST(Messages, AStreamThatFailsSaysSo) {
  const auto exchange = std::make_shared<RecordedExchange>();
  MessagesWriter writer(exchange, message_options(true));
  RequestEvent event{RequestEvent::Kind::kToken};
  event.text = "Hi";
  writer.on_token(0, event);
  writer.fail(error_response(503, "no memory"));
  const ServerEvent last = events_of(exchange->stream).back();
  EXPECT_EQ(last.name, "error");
  EXPECT_EQ(OrderedJson::parse(last.data),
            OrderedJson::parse(R"({"type": "error", "error": {"type": "overloaded_error", "message": "no memory"}})"));
}

TEST(Messages, EveryMistakeHasItsSentence) {
  const auto refusal = [](const std::string& body, int status = 400) {
    const HttpAnswer answer = anthropic().post(kMessages, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    const OrderedJson error = OrderedJson::parse(answer.body);
    EXPECT_EQ(error["type"], "error");
    EXPECT_EQ(error["error"]["type"], status == 404 ? "not_found_error" : "invalid_request_error");
    return error["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(refusal(R"({"model": "ember", "messages": [{"role": "user", "content": "a"}]})"), "max_tokens is missing");
  EXPECT_EQ(refusal(message_body(R"("messages": [])")), "messages is empty");
  EXPECT_EQ(refusal(asking("a", R"(, "top_p": 2)")), "top_p is 2, allowed is 0 to 1");
  EXPECT_EQ(refusal(message_body(R"("messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}])")),
            "messages[0].content[0].source.type is missing");
  EXPECT_EQ(
      refusal(message_body(
          R"("messages": [{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}])")),
      "messages[0].content[0] is of the type 'tool_use', which belongs to a message of the assistant");
  EXPECT_NE(refusal(message_body(R"("messages": [{"role": "user", "content": "a"}, {"role": "assistant",
                "content": "The answer is"}])"))
                .find("does not continue"),
            std::string::npos);
  EXPECT_EQ(refusal(asking("a", R"(, "tools": [{"type": "web_search_20250305", "name": "web_search"}])")),
            "tools[0].type is 'web_search_20250305', allowed is 'custom'");
  EXPECT_EQ(refusal(asking("a", R"(, "mcp_servers": [{}])")),
            "mcp_servers is not supported: Wick calls no other servers");
  EXPECT_EQ(refusal(asking("a", R"(, "tool_choice": {"type": "any"})")),
            "tool_choice asks for a call, but there are no tools");
  EXPECT_NE(refusal(R"({"model": "other", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}]})", 404)
                .find("there is no model 'other'"),
            std::string::npos);
}

TEST(Messages, KeysComeInAFieldOfTheirOwn) {
  HttpServerOptions options;
  options.keys = std::make_shared<const ApiKeys>(ApiKeys::parse("me: secret\n", "keys"));
  const ApiServer guarded(EngineOptions{}, std::move(options));
  const auto ask = [&](const HttpClient::Fields& fields) {
    return guarded.post("/v1/messages/count_tokens",
                        R"({"model": "other", "messages": [{"role": "user", "content": "a"}]})", fields);
  };
  EXPECT_EQ(ask({{"X-Api-Key", "secret"}}).status, 404);
  const HttpAnswer refused = ask({{"X-Api-Key", "wrong"}});
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(OrderedJson::parse(refused.body)["error"]["type"], "authentication_error");
}

}  // namespace
}  // namespace wick
