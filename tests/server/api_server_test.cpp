// The API from end to end: real connections, the real engine, and Ember's sure-fire answers.
#include <gtest/gtest.h>

#include "engine/text/generator.h"
#include "support/api_server.h"
#include "support/comes_true.h"
#include "support/for_all_tests.h"
#include "support/needs_ember.h"

namespace wick {
namespace {

constexpr char kChat[] = "/v1/chat/completions";

// One for all tests that leave it as it was.
ApiServer& server() {
  return for_all_tests([] { return std::make_unique<ApiServer>(); });
}

std::string ask(std::string_view question, std::string_view more = "") {
  std::string body = R"({"model": "ember", "temperature": 0, "messages": [{"role": "user", "content": )";
  body += OrderedJson(question).dump();
  return cat(body, "}]", more.empty() ? "" : ", ", more, "}");
}

const char kSum[] = "What is 348 plus 275?", kSumAnswer[] = "348 + 275 = 623";
const char kWeather[] = R"("tools": [{"type": "function", "function": {"name": "get_weather",
    "description": "Get the weather of a city", "parameters": {"type": "object", "properties": {"city":
    {"type": "string", "description": "The name of the city"}}, "required": ["city"]}}}])";

OrderedJson error_of(const HttpAnswer& answer) { return OrderedJson::parse(answer.body).at("error"); }

TEST(ApiServer, AnswersAChat) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = server().answer(kChat, ask(kSum));
  EXPECT_EQ(answer["choices"][0]["message"]["content"], kSumAnswer);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["model"], "ember");
  const int64_t prompt = answer["usage"]["prompt_tokens"], generated = answer["usage"]["completion_tokens"];
  EXPECT_GT(prompt, 5);
  EXPECT_GT(generated, 5);
  EXPECT_EQ(answer["usage"]["total_tokens"], prompt + generated);
}

TEST(ApiServer, StreamsTheSameAnswer) {
  WICK_NEEDS_EMBER();
  std::string text, reason;
  for (const ServerEvent& event : server().stream(kChat, ask(kSum, R"("stream": true)"))) {
    if (event.data == "[DONE]") continue;
    const OrderedJson choice = OrderedJson::parse(event.data)["choices"][0];
    text += choice["delta"].value("content", "");
    if (choice["finish_reason"].is_string()) reason = choice["finish_reason"];
  }
  EXPECT_EQ(text, kSumAnswer);
  EXPECT_EQ(reason, "stop");
}

TEST(ApiServer, ThinkingIsApart) {
  WICK_NEEDS_EMBER();
  // The token of <think> is made likely: Ember thinks before some sums only.
  const OrderedJson tokens = server().answer("/tokenize", R"({"content": "<think>"})")["tokens"];
  ASSERT_EQ(tokens.size(), 1u);
  const OrderedJson answer =
      server().answer(kChat, ask(kSum, cat(R"("logit_bias": {")", tokens[0].get<int64_t>(), R"(": 4})")));
  const OrderedJson& message = answer["choices"][0]["message"];
  EXPECT_EQ(message["content"], kSumAnswer);
  EXPECT_NE(message["reasoning_content"].get<std::string>().find("8 + 5 = 13"), std::string::npos);
  EXPECT_GT(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 5);
}

TEST(ApiServer, CallsATool) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = server().answer(kChat, ask("What is the weather in Lyon?", kWeather));
  const OrderedJson& choice = answer["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_TRUE(choice["message"]["content"].is_null());
  const OrderedJson& call = choice["message"]["tool_calls"][0];
  EXPECT_EQ(call["function"]["name"], "get_weather");
  EXPECT_EQ(OrderedJson::parse(call["function"]["arguments"].get<std::string>()), (OrderedJson{{"city", "Lyon"}}));

  const std::string conversation = cat(
      R"({"temperature": 0, "messages": [{"role": "user", "content": "What is the weather in Lyon?"},
          {"role": "assistant", "tool_calls": [)",
      call.dump(), R"(]},
          {"role": "tool", "tool_call_id": )",
      call["id"].dump(), R"(, "content": "{\"temperature\": 12, \"sky\": \"cloudy\"}"}], )", kWeather, "}");
  EXPECT_EQ(server().answer(kChat, conversation)["choices"][0]["message"]["content"],
            "In Lyon it is cloudy and 12 degrees.");
}

TEST(ApiServer, ACallCanBeForced) {
  WICK_NEEDS_EMBER();
  for (const char* choice : {R"("required")", R"({"type": "function", "function": {"name": "get_weather"}})"}) {
    const OrderedJson answer =
        server().answer(kChat, ask("Who are you?", cat(kWeather, R"(, "tool_choice": )", choice)));
    const OrderedJson& message = answer["choices"][0]["message"];
    ASSERT_TRUE(message.contains("tool_calls")) << answer;
    EXPECT_EQ(message["tool_calls"][0]["function"]["name"], "get_weather");
    const auto arguments = OrderedJson::parse(message["tool_calls"][0]["function"]["arguments"].get<std::string>());
    EXPECT_TRUE(arguments["city"].is_string()) << arguments;
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "tool_calls");
  }
  const OrderedJson none =
      server().answer(kChat, ask("What is the weather in Lyon?", cat(kWeather, R"(, "tool_choice": "none")")));
  EXPECT_FALSE(none["choices"][0]["message"].contains("tool_calls"));
}

TEST(ApiServer, KeepsToASchema) {
  WICK_NEEDS_EMBER();
  const auto format = [](std::string_view more) {
    return cat(R"("response_format": {"type": "json_schema", "json_schema": {"name": "person", "strict": true,
      "schema": {"type": "object", "properties": {"age": {"type": "integer"}, "name": {"enum": ["Tom", "Ann"]}},
                 "required": ["age", "name"], "additionalProperties": false}})",
               more, "}");
  };
  const char question[] = "Give me JSON with name and age: Tom is 7 years old.";
  const OrderedJson answer = server().answer(kChat, ask(question, format("")));
  const auto content = OrderedJson::parse(answer["choices"][0]["message"]["content"].get<std::string>());
  EXPECT_TRUE(content["age"].is_number_integer()) << content;
  EXPECT_TRUE(content["name"] == "Tom" || content["name"] == "Ann") << content;
  EXPECT_EQ(content.size(), 2u);
  // The schema's order, and the one that the question suggests.
  EXPECT_EQ(content.begin().key(), "age");
  const OrderedJson any = server().answer(kChat, ask(question, format(R"(, "member_order": "any")")));
  EXPECT_EQ(OrderedJson::parse(any["choices"][0]["message"]["content"].get<std::string>()),
            OrderedJson({{"name", "Tom"}, {"age", 7}}));

  const OrderedJson object =
      server().answer(kChat, ask("Tell me a story.", R"("response_format": {"type": "json_object"},
      "max_tokens": 400, "repetition_penalty": 1.1)"));
  if (object["choices"][0]["finish_reason"] == "stop") {
    EXPECT_TRUE(OrderedJson::parse(object["choices"][0]["message"]["content"].get<std::string>()).is_object());
  }
}

TEST(ApiServer, ASchemaBindsTheAnswerAndNotTheThinking) {
  WICK_NEEDS_EMBER();
  const OrderedJson tokens = server().answer("/tokenize", R"({"content": "<think>"})")["tokens"];
  const OrderedJson answer =
      server().answer(kChat, ask(kSum, cat(R"("grammar": "root ::= \"sum: \" [0-9]+", "logit_bias": {")",
                                           tokens[0].get<int64_t>(), R"(": 4})")));
  const OrderedJson& message = answer["choices"][0]["message"];
  EXPECT_NE(message["reasoning_content"].get<std::string>().find("8 + 5 = 13"), std::string::npos) << answer;
  EXPECT_TRUE(message["content"].get<std::string>().starts_with("sum: ")) << answer;
}

TEST(ApiServer, ThinkingThatIsSwitchedOffIsForbiddenByAGrammar) {
  WICK_NEEDS_EMBER();
  const OrderedJson tokens = server().answer("/tokenize", R"({"content": "<think>"})")["tokens"];
  for (const char* off :
       {R"("enable_thinking": false)", R"("reasoning_effort": "none")",
        R"("chat_template_kwargs": {"enable_thinking": false})", R"("chat_template_kwargs": {"thinking": false})"}) {
    const OrderedJson answer =
        server().answer(kChat, ask(kSum, cat(R"("grammar": "root ::= \"sum: \" [0-9] [0-9]?", "logit_bias": {")",
                                             tokens[0].get<int64_t>(), R"(": 90}, "max_tokens": 12, )", off)));
    const OrderedJson& message = answer["choices"][0]["message"];
    EXPECT_FALSE(message.contains("reasoning_content")) << answer;
    EXPECT_TRUE(message["content"].get<std::string>().starts_with("sum: ")) << off << answer;
  }
}

TEST(ApiServer, StopsBeforeAText) {
  WICK_NEEDS_EMBER();
  for (const char* stream : {"", R"(, "stream": true)"}) {
    std::string text;
    const std::string body = ask(kSum, cat(R"("stop": ["= 6"])", stream));
    if (*stream) {
      for (const ServerEvent& event : server().stream(kChat, body)) {
        if (event.data == "[DONE]") continue;
        text += OrderedJson::parse(event.data)["choices"][0]["delta"].value("content", "");
      }
    } else {
      const OrderedJson answer = server().answer(kChat, body);
      text = answer["choices"][0]["message"]["content"];
      EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
    }
    EXPECT_EQ(text, "348 + 275 ");
  }
}

TEST(ApiServer, CountsAndCutsOff) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = server().answer(kChat, ask(kSum, R"("max_completion_tokens": 3)"));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 3);
}

TEST(ApiServer, LogprobsAreThoseOfTheTokens) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = server().answer(kChat, ask(kSum, R"("logprobs": true, "top_logprobs": 2)"));
  const OrderedJson& content = answer["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), answer["usage"]["completion_tokens"].get<size_t>());
  std::string text;
  for (const OrderedJson& entry : content) {
    text += entry["token"];
    EXPECT_LE(entry["logprob"], 0.0);
    ASSERT_EQ(entry["top_logprobs"].size(), 2u);
    EXPECT_EQ(entry["top_logprobs"][0]["token"], entry["token"]);  // the likeliest: temperature is 0
    EXPECT_EQ(entry["top_logprobs"][0]["logprob"], entry["logprob"]);
    EXPECT_EQ(entry["bytes"].size(), entry["token"].get<std::string>().size());
  }
  EXPECT_EQ(text, kSumAnswer);
  size_t streamed = 0;
  for (const ServerEvent& event :
       server().stream(kChat, ask(kSum, R"("logprobs": true, "top_logprobs": 2, "stream": true)"))) {
    if (event.data == "[DONE]") continue;
    const OrderedJson logprobs = OrderedJson::parse(event.data)["choices"][0]["logprobs"];
    for (const OrderedJson& entry : logprobs.is_null() ? OrderedJson::array() : logprobs["content"]) {
      EXPECT_EQ(entry, content[streamed++]);
    }
  }
  EXPECT_EQ(streamed, content.size());
}

TEST(ApiServer, SeedsAndChoices) {
  WICK_NEEDS_EMBER();
  const char story[] = R"({"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 20,
      "temperature": 1.5, "n": 3, "seed": 7})";
  const OrderedJson once = server().answer(kChat, story)["choices"], again = server().answer(kChat, story)["choices"];
  ASSERT_EQ(once.size(), 3u);
  EXPECT_EQ(once, again);
  EXPECT_NE(once[0]["message"], once[1]["message"]);
}

TEST(ApiServer, CompletionsWithEchoAndLogprobs) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer = server().answer("/v1/completions", R"({"prompt": "Once upon a time", "max_tokens": 4,
      "temperature": 0, "echo": true, "logprobs": 1})");
  const OrderedJson& choice = answer["choices"][0];
  const std::string text = choice["text"];
  EXPECT_TRUE(text.starts_with("Once upon a time")) << text;
  const OrderedJson& logprobs = choice["logprobs"];
  std::string joined;
  for (const OrderedJson& token : logprobs["tokens"]) joined += token;
  EXPECT_EQ(joined, text);
  EXPECT_EQ(logprobs["tokens"].size(),
            answer["usage"]["prompt_tokens"].get<size_t>() + answer["usage"]["completion_tokens"].get<size_t>());
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  EXPECT_LT(logprobs["token_logprobs"][1], 0.0);
  EXPECT_EQ(logprobs["top_logprobs"][1].size(), 1u);
  EXPECT_EQ(logprobs["text_offset"][0], 0);
  EXPECT_EQ(logprobs["text_offset"][1], logprobs["tokens"][0].get<std::string>().size());

  // The prompt's own numbers are those that the same tokens get when they are generated.
  const OrderedJson longer =
      server().answer("/v1/completions", cat(R"({"prompt": )", OrderedJson(text).dump(),
                                             R"(, "max_tokens": 0, "temperature": 0, "echo": true, "logprobs": 1})"));
  EXPECT_EQ(longer["choices"][0]["text"], text);
  EXPECT_EQ(longer["choices"][0]["logprobs"]["tokens"], logprobs["tokens"]);
  for (size_t i = 1; i < logprobs["tokens"].size(); ++i) {
    EXPECT_NEAR(longer["choices"][0]["logprobs"]["token_logprobs"][i].get<double>(),
                logprobs["token_logprobs"][i].get<double>(), 1e-5);
  }
}

TEST(ApiServer, CompletionsOfSeveralPrompts) {
  WICK_NEEDS_EMBER();
  const OrderedJson tokens = server().answer("/tokenize", R"({"content": "Once upon a time"})");
  const std::string ids = tokens["tokens"].dump();
  const OrderedJson answer =
      server().answer("/v1/completions", cat(R"({"prompt": [)", ids, R"(, "The capital of France", )", ids,
                                             R"(], "max_tokens": 5, "temperature": 0, "n": 2})"));
  const OrderedJson& choices = answer["choices"];
  ASSERT_EQ(choices.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(choices[i]["index"], i);
  EXPECT_EQ(choices[0]["text"], choices[1]["text"]);
  EXPECT_EQ(choices[0]["text"], choices[4]["text"]);
  EXPECT_NE(choices[0]["text"], choices[2]["text"]);
}

TEST(ApiServer, Responses) {
  WICK_NEEDS_EMBER();
  const char question[] = R"({"input": "What is 348 plus 275?", "temperature": 0, "instructions": "Be exact."})";
  const OrderedJson answer = server().answer("/v1/responses", question);
  EXPECT_EQ(answer["status"], "completed");
  EXPECT_EQ(answer["output"][0]["content"][0]["text"], kSumAnswer);
  EXPECT_GT(answer["usage"]["output_tokens"], 5);
  std::string text;
  std::vector<ServerEvent> events =
      server().stream("/v1/responses", R"({"input": [{"role": "user", "content": "What is 348 plus 275?"}],
                                           "temperature": 0, "stream": true})");
  for (const ServerEvent& event : events) {
    if (event.name == "response.output_text.delta") text += OrderedJson::parse(event.data)["delta"];
  }
  EXPECT_EQ(text, kSumAnswer);
  EXPECT_EQ(events.front().name, "response.created");
  EXPECT_EQ(events.back().name, "response.completed");
}

TEST(ApiServer, TokensThereAndBack) {
  WICK_NEEDS_EMBER();
  const OrderedJson tokens =
      server().answer("/tokenize", R"({"content": "Naïve 日本", "with_pieces": true, "add_special": false})");
  EXPECT_EQ(tokens["count"], tokens["tokens"].size());
  EXPECT_EQ(tokens["pieces"].size(), tokens["tokens"].size());
  EXPECT_EQ(server().answer("/detokenize", cat(R"({"tokens": )", tokens["tokens"].dump(), "}"))["content"],
            "Naïve 日本");
  const OrderedJson chat = server().answer("/tokenize", R"({"messages": [{"role": "user", "content": "Hi"}]})");
  EXPECT_EQ(server().answer("/detokenize", cat(R"({"tokens": )", chat["tokens"].dump(), "}"))["content"],
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(error_of(server().post("/detokenize", R"({"tokens": [3, 999999]})"))["message"],
            "tokens[1] is 999999, which is no token of the model");
}

TEST(ApiServer, ModelsAndProbes) {
  WICK_NEEDS_EMBER();
  server().answer(kChat, ask(kSum));  // now it is loaded
  const OrderedJson list = OrderedJson::parse(server().get("/v1/models").body);
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0]["id"], "ember");
  EXPECT_EQ(list["data"][0]["object"], "model");
  EXPECT_EQ(list["data"][0]["status"], "ready");
  EXPECT_EQ(list["data"][0]["context"], 4096);
  EXPECT_EQ(OrderedJson::parse(server().get("/v1/models/ember").body), list["data"][0]);
  EXPECT_EQ(server().get("/v1/models/other").status, 404);
  EXPECT_EQ(server().get("/health").status, 200);
  EXPECT_EQ(server().get("/ready").status, 200);
  EXPECT_EQ(OrderedJson::parse(server().get("/openapi.json").body)["openapi"], "3.1.0");
  const std::string metrics = server().get("/metrics").body;
  for (const char* name : {"wick_first_token_seconds_bucket{model=\"ember\"", "wick_next_token_seconds_count",
                           "wick_engine_generated_tokens_total{model=\"ember\"}", "wick_kv_blocks_free",
                           "wick_prefix_hit_rate", "wick_model_ready{model=\"ember\"} 1"}) {
    EXPECT_NE(metrics.find(name), std::string::npos) << name << "\n" << metrics;
  }
}

TEST(ApiServer, NotReadyBeforeAModelIs) {
  WICK_NEEDS_EMBER();
  ApiServer fresh;
  const HttpAnswer answer = fresh.get("/ready");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(OrderedJson::parse(answer.body)["status"], "unloaded");
}

TEST(ApiServer, ErrorsAreOpenAis) {
  WICK_NEEDS_EMBER();
  HttpAnswer answer = server().post(kChat, R"({"model": "gpt-9", "messages": [{"role": "user", "content": "Hi"}]})");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(error_of(answer), OrderedJson::parse(R"({"message": "there is no model 'gpt-9'; known are: 'ember'",
      "type": "invalid_request_error", "param": "model", "code": "model_not_found"})"));
  answer = server().post(kChat, ask(kSum, R"("top_p": 7)"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(error_of(answer)["param"], "top_p");
  answer = server().post(kChat, "{\"messages\": ");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(error_of(answer)["code"], "invalid_json");
  answer = server().post(kChat, "");
  EXPECT_EQ(answer.status, 400);
  answer = server().post(kChat, ask(kSum, R"("logit_bias": {"999999": 1})"));  // found by the engine
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_EQ(error_of(answer)["param"], "logit_bias");
  EXPECT_EQ(error_of(answer)["code"], "invalid_value");
  answer = server().post(kChat, ask(kSum, R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "n", "schema": {"type": "object", "$ref": "#/nowhere"}}})"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(error_of(answer)["param"], "response_format") << answer.body;
  answer = server().post(kChat, ask(kSum, R"("grammar": "root ::= x")"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(error_of(answer)["param"], "grammar") << answer.body;
  EXPECT_EQ(error_of(answer)["code"], "invalid_value");
  EXPECT_EQ(answer.body.find("grammar: grammar:"), std::string::npos) << answer.body;
  answer = server().post(kChat, ask(kSum, R"("grammar": "a ::= \"x\"")"));
  EXPECT_EQ(error_of(answer)["message"], "grammar: there is no rule 'root'");
  answer = server().post(kChat, ask(kSum, R"("timeout": 1e999)"));
  EXPECT_EQ(answer.status, 400) << answer.body;
  std::string words;
  for (int i = 0; i < 5000; ++i) words += "word ";
  answer = server().post(kChat, ask(words));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(error_of(answer)["code"], "context_length_exceeded") << answer.body;
  answer = server().post("/v1/completions", R"({"prompt": [1, 999999]})");
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_EQ(error_of(answer)["param"], "prompt") << answer.body;
  EXPECT_EQ(error_of(answer)["code"], "invalid_value");
}

TEST(ApiServer, KeysAreAskedFor) {
  WICK_NEEDS_EMBER();
  HttpServerOptions options;
  options.keys = std::make_shared<ApiKeys>(ApiKeys::parse("me: secret", "keys"));
  ApiServer guarded(EngineOptions(), std::move(options));
  EXPECT_EQ(guarded.post(kChat, ask(kSum)).status, 401);
  EXPECT_EQ(guarded.get("/health").status, 200);
  EXPECT_EQ(guarded.post(kChat, ask(kSum), {{"Authorization", "Bearer secret"}}).status, 200);
}

const char kEndless[] = R"("ignore_eos": true, "max_tokens": 3900, "stream": true)";

TEST(ApiServer, AFullQueueSaysWhenToComeBackAndAClientThatGoesMakesRoom) {
  WICK_NEEDS_EMBER();
  EngineOptions engine;
  engine.max_running = 1;
  engine.max_waiting = 1;
  ApiServer small(engine);
  small.answer(kChat, ask(kSum));
  const auto snapshot = [&] { return small.host().loaded("ember")->snapshot(); };
  HttpClient first = small.begin_stream(kChat, ask("Tell me a story.", kEndless));
  ASSERT_TRUE(comes_true([&] { return snapshot().running == 1; }));
  HttpClient second = small.begin_stream(kChat, ask("Tell me another story.", kEndless));
  ASSERT_TRUE(comes_true([&] { return snapshot().waiting == 1; }));
  const HttpAnswer third = small.post(kChat, ask(kSum));
  EXPECT_EQ(third.status, 429) << third.body;
  EXPECT_GE(std::stoi(third.field("retry-after")), 1);
  EXPECT_EQ(error_of(third)["code"], "rate_limit_exceeded");

  const auto cancelled = snapshot().counters.cancelled;
  second.close();
  first.close();
  EXPECT_TRUE(comes_true([&] { return snapshot().counters.cancelled == cancelled + 2; }));
  EXPECT_EQ(small.answer(kChat, ask(kSum))["choices"][0]["message"]["content"], kSumAnswer);
}

TEST(ApiServer, ADeadlineGivesWhatThereIs) {
  WICK_NEEDS_EMBER();
  const OrderedJson answer =
      server().answer(kChat, ask("Tell me a story.", R"("ignore_eos": true, "max_tokens": 3900, "timeout": 0.2)"));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_LT(answer["usage"]["completion_tokens"], 3900);
}

TEST(ApiServer, TheLiveStateIsStreamedUntilTheClientGoes) {
  WICK_NEEDS_EMBER();
  server().answer(kChat, ask(kSum));
  HttpClient watcher = server().client();
  watcher.send("GET /v1/engine?model=ember HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(watcher.read_head().field("content-type"), "text/event-stream");
  for (int i = 0; i < 2; ++i) {
    const auto events = events_of(watcher.read_chunk().value());
    ASSERT_FALSE(events.empty());
    const OrderedJson state = OrderedJson::parse(events[0].data);
    EXPECT_EQ(state["model"], "ember");
    EXPECT_EQ(state["block_tokens"], 16);
    int64_t blocks = 0;
    for (const OrderedJson& run : state["blocks"]["runs"]) blocks += run[1].get<int64_t>();
    EXPECT_EQ(blocks, state["blocks"]["total"]);
  }
  EXPECT_EQ(server().get("/v1/engine?model=other").status, 404);
}

TEST(ApiServer, AServerThatGoesSaysSo) {
  WICK_NEEDS_EMBER();
  ApiServer going;
  going.answer(kChat, ask(kSum));
  going.api().stop();
  const HttpAnswer answer = going.post(kChat, ask(kSum));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(error_of(answer)["code"], "shutting_down");
}

}  // namespace
}  // namespace wick
