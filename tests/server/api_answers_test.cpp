// What clients read, against what OpenAI's API is documented to send.
#include <gtest/gtest.h>

#include "server/api/chat/chat_writer.h"
#include "server/api/completions/completion_writer.h"
#include "server/api/generation/answer_rules.h"
#include "server/api/json_copy.h"
#include "server/api/microscope/live_state.h"
#include "server/api/responses/responses_writer.h"
#include "support/errors.h"
#include "support/played_answer.h"
#include "support/recorded_exchange.h"

namespace wick {
namespace {

ChatAnswerOptions chat_options(int64_t choices = 1) {
  ChatAnswerOptions options;
  options.head = {"chatcmpl-1", 1700000000, "tiny", "fp_1"};
  options.format = thinking_format();
  options.choices = choices;
  return options;
}

OrderedJson parsed(const std::string& text) { return OrderedJson::parse(text); }

const std::vector<std::string> kThinksAndCalls = {"<think>",         "Let me", " see.",
                                                  "</think>",        "\n\nI ", "call.\n",
                                                  "<tool",           "_call>", "\n{\"name\": \"f\", \"argu",
                                                  "ments\": {\"x\"", ": 1}}",  "\n</tool_call>"};

TEST(ApiAnswers, AWholeChatCompletion) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatWhole writer(exchange, chat_options());
  play_answer(writer, {"Hel", "lo\n"});
  writer.finish();
  EXPECT_EQ(parsed(exchange->sent->body), parsed(R"({
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "tiny",
    "system_fingerprint": "fp_1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello\n", "refusal": null},
                 "logprobs": null, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12,
              "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 0}}})"));
  EXPECT_EQ(exchange->sent->content_type, "application/json");
}

TEST(ApiAnswers, AWholeChatCompletionWithThoughtsAndACall) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatWhole writer(exchange, chat_options());
  play_answer(writer, kThinksAndCalls);
  writer.finish();
  OrderedJson answer = parsed(exchange->sent->body);
  OrderedJson& call = answer["choices"][0]["message"]["tool_calls"][0];
  EXPECT_TRUE(call["id"].get<std::string>().starts_with("call_"));
  call["id"] = "call_1";
  EXPECT_EQ(answer["choices"][0], parsed(R"({"index": 0,
      "message": {"role": "assistant", "content": "I call.", "refusal": null, "reasoning_content": "Let me see.",
                  "tool_calls": [{"id": "call_1", "type": "function",
                                  "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
      "logprobs": null, "finish_reason": "tool_calls"})"));
  EXPECT_EQ(answer["usage"]["completion_tokens"], 12);
  EXPECT_EQ(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 3);
}

TEST(ApiAnswers, FinishReasons) {
  GenerateResult result;
  const std::pair<StopReason, const char*> reasons[] = {{StopReason::kEndOfText, "stop"},
                                                        {StopReason::kStopString, "stop"},
                                                        {StopReason::kLength, "length"},
                                                        {StopReason::kContextFull, "length"},
                                                        {StopReason::kDeadline, "length"}};
  for (const auto& [reason, expected] : reasons) {
    result.reason = reason;
    EXPECT_EQ(finish_reason(result, false), expected);
  }
  EXPECT_EQ(finish_reason(result, true), "length");  // a call that was cut off is none to make
  result.reason = StopReason::kEndOfText;
  EXPECT_EQ(finish_reason(result, true), "tool_calls");
}

// Chunks are written by hand: each must be what its description would write.
void expect_described(const OrderedJson& chunk) {
  std::vector<std::string> names, expected = {"id", "object", "created", "model", "system_fingerprint", "choices"};
  for (const auto& [name, value] : chunk.items()) names.push_back(name);
  for (const char* extra : {"usage", "timings"}) {
    if (chunk.contains(extra)) expected.push_back(extra);
  }
  EXPECT_EQ(names, expected);
  for (const OrderedJson& choice : chunk["choices"]) {
    const ChatChunkChoice plain;
    const OrderedJson described = ChatChunkChoice::fields().write(plain);
    for (const auto& [name, value] : choice.items()) EXPECT_TRUE(described.contains(name)) << name;
    for (const auto& [name, value] : described.items()) EXPECT_TRUE(choice.contains(name)) << name;
  }
}

TEST(ApiAnswers, AChatStream) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatAnswerOptions options = chat_options();
  options.include_usage = true;
  ChatStream writer(exchange, options);
  play_answer(writer, {"Hel", "lo"});
  writer.finish();
  EXPECT_EQ(exchange->begun->content_type, "text/event-stream");
  EXPECT_TRUE(exchange->finished);
  const auto events = events_of(exchange->stream);
  ASSERT_EQ(events.size(), 6u) << exchange->stream;
  const char* deltas[] = {R"({"role": "assistant", "content": ""})", R"({"content": "Hel"})", R"({"content": "lo"})",
                          "{}"};
  for (size_t i = 0; i < 4; ++i) {
    const OrderedJson chunk = parsed(events[i].data);
    expect_described(chunk);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_EQ(chunk["id"], "chatcmpl-1");
    EXPECT_EQ(chunk["choices"][0]["delta"], parsed(deltas[i]));
    EXPECT_EQ(chunk["choices"][0]["finish_reason"], i == 3 ? OrderedJson("stop") : OrderedJson());
    EXPECT_TRUE(chunk["usage"].is_null());
  }
  EXPECT_EQ(parsed(events[4].data)["choices"], OrderedJson::array());
  EXPECT_EQ(parsed(events[4].data)["usage"]["total_tokens"], 12);
  expect_described(parsed(events[4].data));
  EXPECT_EQ(parsed(events[4].data)["timings"]["prompt_n"], 6);
  EXPECT_EQ(events[5].data, "[DONE]");
}

TEST(ApiAnswers, TimingsAreThoseOfTheEngine) {
  GenerateResult result;
  result.tokens = {1, 2, 3, 4, 5};
  result.prompt_tokens = 30;
  result.reused_tokens = 10;
  result.prefill_seconds = 0.5;
  result.decode_seconds = 0.25;
  EXPECT_EQ(Timings::fields().write(timings_of(result)), parsed(R"({"cache_n": 10, "prompt_n": 20, "prompt_ms": 500.0,
      "prompt_per_second": 40.0, "predicted_n": 5, "predicted_ms": 250.0, "predicted_per_second": 16.0})"));
  result.tokens = {1};  // nothing behind the first
  EXPECT_EQ(timings_of(result).predicted_per_second, 0);
}

// What several answers took together is not the sum.
TEST(ApiAnswers, SeveralChoicesHaveNoTimings) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatAnswerOptions options = chat_options();
  options.include_usage = true;
  options.choices = 2;
  ChatStream writer(exchange, options);
  play_answer(writer, {"Hel"});
  writer.finish();
  EXPECT_EQ(exchange->stream.find("timings"), std::string::npos);
}

TEST(ApiAnswers, AStreamOfThoughtsAndACallLeaksNoMarker) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatStream writer(exchange, chat_options());
  play_answer(writer, kThinksAndCalls);
  writer.finish();
  std::string content, reasoning, name, arguments, id;
  int heads = 0;
  for (const ServerEvent& event : events_of(exchange->stream)) {
    if (event.data == "[DONE]") continue;
    const OrderedJson delta = parsed(event.data)["choices"][0]["delta"];
    content += delta.value("content", "");
    reasoning += delta.value("reasoning_content", "");
    for (const OrderedJson& call : delta.value("tool_calls", OrderedJson::array())) {
      EXPECT_EQ(call["index"], 0);
      arguments += call["function"]["arguments"].get<std::string>();
      if (!call.contains("id")) continue;
      ++heads;
      id = call["id"];
      EXPECT_EQ(call["type"], "function");
      name = call["function"]["name"];
    }
  }
  EXPECT_EQ(content, "I call.");
  EXPECT_EQ(reasoning, "Let me see.");
  EXPECT_EQ(heads, 1);
  EXPECT_TRUE(id.starts_with("call_"));
  EXPECT_EQ(name, "f");
  EXPECT_EQ(arguments, R"({"x": 1})");
  EXPECT_EQ(exchange->stream.find("tool_call>"), std::string::npos);
}

TEST(ApiAnswers, OnlyOneCallWhereOnlyOneIsWanted) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatAnswerOptions options = chat_options();
  options.one_call = true;
  ChatWhole writer(exchange, options);
  play_answer(writer, {R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)",
                       R"(<tool_call>{"name": "g", "arguments": {}}</tool_call>)"});
  writer.finish();
  const OrderedJson message = parsed(exchange->sent->body)["choices"][0]["message"];
  ASSERT_EQ(message["tool_calls"].size(), 1u);
  EXPECT_EQ(message["tool_calls"][0]["function"]["name"], "f");
  EXPECT_TRUE(message["content"].is_null());
}

TEST(ApiAnswers, ChoicesOfAStreamKeepApart) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatStream writer(exchange, chat_options(2));
  play_answer(writer, {"A"}, StopReason::kLength, 1);
  play_answer(writer, {"B"}, StopReason::kEndOfText, 0);
  writer.finish();
  std::string texts[2], reasons[2];
  for (const ServerEvent& event : events_of(exchange->stream)) {
    if (event.data == "[DONE]") continue;
    const OrderedJson choice = parsed(event.data)["choices"][0];
    texts[choice["index"].get<size_t>()] += choice["delta"].value("content", "");
    if (!choice["finish_reason"].is_null()) reasons[choice["index"].get<size_t>()] = choice["finish_reason"];
  }
  EXPECT_EQ(texts[0], "B");
  EXPECT_EQ(texts[1], "A");
  EXPECT_EQ(reasons[0], "stop");
  EXPECT_EQ(reasons[1], "length");
}

TEST(ApiAnswers, AnErrorBehindTheFirstChunkIsAnEvent) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ChatStream writer(exchange, chat_options());
  const SampledToken token;
  RequestEvent event{RequestEvent::Kind::kToken};
  event.token = &token;
  event.text = "Hi";
  writer.on_token(0, event);
  HttpResponse error;
  error.status = 500;
  error.body = "{\"error\":{\"message\":\"x\"}}\n";
  writer.fail(error);
  EXPECT_FALSE(exchange->sent);
  EXPECT_TRUE(exchange->stream.ends_with("data: {\"error\":{\"message\":\"x\"}}\n\n")) << exchange->stream;
  EXPECT_TRUE(exchange->finished);
}

TEST(ApiAnswers, CompletionsOfTwoPrompts) {
  const auto exchange = std::make_shared<RecordedExchange>();
  CompletionAnswerOptions options;
  options.head = {"cmpl-1", 1700000000, "tiny", "fp_1"};
  options.prompts = 2;
  options.echo = {"One ", "Two "};
  CompletionWriter writer(exchange, options);
  play_answer(writer, {"a", "b"}, StopReason::kLength, 0);
  play_answer(writer, {"c"}, StopReason::kEndOfText, 1);
  writer.finish();
  const OrderedJson answer = parsed(exchange->sent->body);
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"], parsed(R"([{"text": "One ab", "index": 0, "logprobs": null, "finish_reason": "length"},
                       {"text": "Two c", "index": 1, "logprobs": null, "finish_reason": "stop"}])"));
  EXPECT_EQ(answer["usage"]["completion_tokens"], 3);
}

TEST(ApiAnswers, EventsOfAResponse) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ResponsesRequest request;
  request.stream = true;
  ResponsesWriter writer(exchange, {"resp_1", 1700000000, "tiny", "fp_1"}, request, thinking_format(), Json());
  play_answer(writer, kThinksAndCalls);
  writer.finish();
  std::vector<std::string> names;
  std::string text, arguments;
  int64_t number = 0;
  OrderedJson last;
  for (const ServerEvent& event : events_of(exchange->stream)) {
    last = parsed(event.data);
    EXPECT_EQ(last["type"], event.name);
    EXPECT_EQ(last["sequence_number"], number++);
    if (event.name == "response.output_text.delta") text += last["delta"];
    if (event.name == "response.function_call_arguments.delta") arguments += last["delta"];
    if (names.empty() || names.back() != event.name) names.push_back(event.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
                "response.reasoning_text.delta", "response.reasoning_text.done", "response.content_part.done",
                "response.output_item.done", "response.output_item.added", "response.content_part.added",
                "response.output_text.delta", "response.output_text.done", "response.content_part.done",
                "response.output_item.done", "response.output_item.added", "response.function_call_arguments.delta",
                "response.function_call_arguments.done", "response.output_item.done", "response.completed"}));
  EXPECT_EQ(text, "I call.");
  EXPECT_EQ(arguments, R"({"x": 1})");
  const OrderedJson& response = last["response"];
  EXPECT_EQ(response["status"], "completed");
  ASSERT_EQ(response["output"].size(), 3u);
  EXPECT_EQ(response["output"][0]["type"], "reasoning");
  EXPECT_EQ(response["output"][1]["content"][0]["text"], "I call.");
  EXPECT_EQ(response["output"][2]["type"], "function_call");
  EXPECT_EQ(response["output"][2]["arguments"], R"({"x": 1})");
  EXPECT_EQ(response["usage"]["input_tokens"], 10);
  EXPECT_TRUE(exchange->finished);
}

TEST(ApiAnswers, AResponseThatWasCutOff) {
  const auto exchange = std::make_shared<RecordedExchange>();
  ResponsesWriter writer(exchange, {"resp_1", 1700000000, "tiny", "fp_1"}, {}, thinking_format(), Json());
  play_answer(writer, {"Once"}, StopReason::kLength);
  writer.finish();
  const OrderedJson response = parsed(exchange->sent->body);
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(response["output"][0]["status"], "incomplete");
  EXPECT_EQ(response["object"], "response");
}

TEST(ApiAnswers, ReferencesInAToolsSchemaStillLead) {
  std::vector<ToolRequest> tools(2);
  tools[0].function.name = "f";
  tools[1].function.name = "g";
  tools[1].function.parameters = Json::parse(
      R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"enum": [7]}},
          "required": ["a"], "additionalProperties": false})",
      "schema");
  const OrderedJson schema = call_schema(tools, "", "arguments");
  EXPECT_EQ(schema["anyOf"][1]["properties"]["arguments"]["properties"]["a"]["$ref"],
            "#/anyOf/1/properties/arguments/$defs/A");
  Grammar::from_json_schema(to_json(schema, "schema"));  // throws where a reference leads nowhere
  EXPECT_EQ(call_schema(tools, "g", "parameters")["anyOf"].size(), 1u);
}

TEST(ApiAnswers, EqualSchemasShareAGrammar) {
  GrammarCache cache(2);
  const Json a = Json::parse(R"({"type": "integer"})", "a"), same = Json::parse(R"({ "type":"integer" })", "b");
  const Grammar first = cache.json_schema(a);
  EXPECT_TRUE(first == cache.json_schema(same));
  EXPECT_FALSE(first == cache.json_object());
  cache.gbnf("root ::= \"x\"");  // the third: the one not used for longest goes
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_FALSE(first == cache.json_schema(a));
}

TEST(ApiAnswers, TheStateOfAnEngine) {
  EngineSnapshot snapshot;
  snapshot.waiting = 2;
  snapshot.block_tokens = 16;
  snapshot.blocks_total = 7;
  snapshot.block_uses = {0, 1, 1, 2, 3, 2, 0};
  snapshot.block_is_cached = {false, true, false, true, true, false, false};
  SequenceView sequence;
  sequence.request = 5;
  sequence.phase = SequencePhase::kDecode;
  sequence.blocks = {3, 4};
  snapshot.sequences = {sequence};
  snapshot.counters.prefix_hits = 9;
  const OrderedJson state = snapshot_json("ember", snapshot);
  EXPECT_EQ(state["blocks"]["runs"], parsed("[[0,1],[1,1],[2,2],[3,2],[0,1]]"));
  EXPECT_EQ(state["sequences"][0], parsed(R"({"request": 5, "choice": 0, "phase": "decode", "priority": "normal",
      "prompt": 0, "computed": 0, "generated": 0, "age": 0.0, "blocks": [3, 4]})"));
  EXPECT_EQ(state["counters"]["prefix_hits"], 9);
  EXPECT_EQ(state["counters"].size(), 26u);
  std::vector<std::string> names;
  for (const auto& [name, value] : state.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"model", "waiting", "running", "paused", "context", "block_tokens",
                                             "blocks", "pressure", "budget", "batch", "sequences", "counters"}));
}

}  // namespace
}  // namespace wick
