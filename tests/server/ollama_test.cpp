// Ollama's API from end to end, against what its documentation says, and Ember's sure-fire answers.
#include <gtest/gtest.h>

#include "server/api/ollama/ollama_request.h"
#include "server/api/ollama/ollama_writer.h"
#include "server/http/clients/api_keys.h"
#include "server/http/error_response.h"
#include "support/api_server.h"
#include "support/comes_true.h"
#include "support/for_all_tests.h"
#include "support/needs_ember.h"
#include "support/played_answer.h"
#include "support/sentence_folder.h"

namespace wick {
namespace {

ApiServer& ollama() {
  return for_all_tests([] { return std::make_unique<ApiServer>(); });
}

const char kOllamaSum[] = R"("messages": [{"role": "user", "content": "What is 348 plus 275?"}])";
const char kOllamaWeather[] = R"("tools": [{"type": "function", "function": {"name": "get_weather",
    "description": "Get the weather of a city", "parameters": {"type": "object", "properties": {"city":
    {"type": "string", "description": "The name of the city"}}, "required": ["city"]}}}])";

std::string ollama_body(std::string_view more) {
  return cat(R"({"model": "ember", "options": {"temperature": 0}, )", more, "}");
}

std::vector<OrderedJson> lines_of(const std::string& text) {
  std::vector<OrderedJson> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(OrderedJson::parse(text.substr(at, end - at)));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

std::string ollama_refusal(std::string_view path, const std::string& body, int status = 400) {
  const HttpAnswer answer = ollama().post(path, body);
  EXPECT_EQ(answer.status, status) << answer.body;
  return OrderedJson::parse(answer.body).at("error").get<std::string>();
}

TEST(Ollama, AnswersAChatWholeAndInLines) {
  WICK_NEEDS_EMBER();
  const OrderedJson whole = ollama().answer("/api/chat", ollama_body(cat(kOllamaSum, R"(, "stream": false)")));
  EXPECT_EQ(whole["message"], (OrderedJson{{"role", "assistant"}, {"content", "348 + 275 = 623"}}));
  EXPECT_EQ(whole["done_reason"], "stop");
  for (const char* name : {"total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count",
                           "eval_duration"}) {
    EXPECT_TRUE(whole[name].is_number_integer()) << name;
  }
  const HttpAnswer answer = ollama().post("/api/chat", ollama_body(kOllamaSum));
  EXPECT_EQ(answer.field("content-type"), "application/x-ndjson");
  const std::vector<OrderedJson> lines = lines_of(answer.body);
  std::string text;
  for (const OrderedJson& line : lines) {
    EXPECT_EQ(line["done"], &line == &lines.back());
    text += line["message"]["content"].get<std::string>();
  }
  EXPECT_EQ(text, "348 + 275 = 623");
  EXPECT_EQ(lines.back()["eval_count"], whole["eval_count"]);
}

TEST(Ollama, GivesTheAnswerOfTheChatApi) {
  WICK_NEEDS_EMBER();
  const std::string story = R"("messages": [{"role": "user", "content": "Tell me a story."}])";
  const OrderedJson other =
      ollama().answer("/v1/chat/completions", cat("{", story, R"(, "temperature": 0.8, "seed": 7, "max_tokens": 30,
          "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.2, "penalty_window": 64})"));
  const OrderedJson same =
      ollama().answer("/api/chat", cat(R"({"model": "ember:latest", "stream": false, )", story,
                                       R"(, "options": {"temperature": 0.8, "seed": 7, "num_predict": 30, "top_k": 20,
          "top_p": 0.9, "repeat_penalty": 1.2, "num_ctx": 2048}})"));
  EXPECT_EQ(same["message"]["content"], other["choices"][0]["message"]["content"]);
  EXPECT_EQ(same["done_reason"], "length");
  EXPECT_EQ(same["eval_count"], 30);
}

TEST(Ollama, CallsATool) {
  WICK_NEEDS_EMBER();
  const std::string question = R"({"role": "user", "content": "What is the weather in Lyon?"})";
  const OrderedJson first = ollama().answer(
      "/api/chat", ollama_body(cat(R"("stream": false, "messages": [)", question, "], ", kOllamaWeather)));
  const OrderedJson call = first["message"]["tool_calls"][0];
  EXPECT_EQ(call["function"], (OrderedJson{{"index", 0}, {"name", "get_weather"}, {"arguments", {{"city", "Lyon"}}}}));
  const OrderedJson second = ollama().answer(
      "/api/chat", ollama_body(cat(R"("stream": false, "messages": [)", question, ", ", first["message"].dump(),
                                   R"(, {"role": "tool", "tool_name": "get_weather",
                                         "content": "{\"temperature\": 12, \"sky\": \"cloudy\"}"}], )",
                                   kOllamaWeather)));
  EXPECT_EQ(second["message"]["content"], "In Lyon it is cloudy and 12 degrees.");
}

TEST(Ollama, GeneratesKeepsToASchemaAndContinuesARawText) {
  WICK_NEEDS_EMBER();
  const OrderedJson person = ollama().answer(
      "/api/generate", ollama_body(R"("prompt": "Give me JSON with name and age: Tom is 7 years old.", "stream": false,
          "format": {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"],
                     "additionalProperties": false})"));
  EXPECT_TRUE(OrderedJson::parse(person["response"].get<std::string>())["age"].is_number_integer());
  const char raw[] = R"("prompt": "Once upon a time", "raw": true, "stream": false})";
  const OrderedJson plain = ollama().answer(
      "/api/generate", cat(R"({"model": "ember", "options": {"temperature": 0, "num_predict": 5}, )", raw));
  EXPECT_EQ(
      plain["response"],
      ollama().answer("/v1/completions",
                      R"({"prompt": "Once upon a time", "max_tokens": 5, "temperature": 0})")["choices"][0]["text"]);
  EXPECT_EQ(ollama().answer("/api/generate", R"({"model": "ember"})")["done_reason"], "load");
}

TEST(Ollama, LongChatsLoseTheirOldestTurns) {
  WICK_NEEDS_EMBER();
  EngineOptions engine;
  engine.context = 256;
  const ApiServer small(engine);
  OrderedJson messages = OrderedJson::array({{{"role", "system"}, {"content", "You are kind."}}});
  for (int i = 0; i < 60; ++i) {
    messages.push_back({{"role", "user"}, {"content", cat("What is ", i, " plus ", i, "?")}});
    messages.push_back({{"role", "assistant"}, {"content", cat(i, " + ", i, " = ", 2 * i)}});
  }
  messages.push_back({{"role", "user"}, {"content", "What is 348 plus 275?"}});
  const auto body = [&](const char* more) {
    return cat(R"({"model": "ember", "stream": false, "options": {"temperature": 0, "num_predict": 20}, )", more,
               R"("messages": )", messages.dump(), "}");
  };
  const OrderedJson answer = small.answer("/api/chat", body(""));
  EXPECT_EQ(answer["message"]["content"], "348 + 275 = 623");
  EXPECT_LE(answer["prompt_eval_count"], 256 - 20);
  EXPECT_GT(answer["prompt_eval_count"], 150);
  const HttpAnswer refused = small.post("/api/chat", body(R"("truncate": false, )"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("but the context is 256"), std::string::npos) << refused.body;
}

TEST(Ollama, TellsOfItsModels) {
  WICK_NEEDS_EMBER();
  ollama().answer("/api/generate", R"({"model": "ember"})");
  const OrderedJson model = OrderedJson::parse(ollama().get("/api/tags").body)["models"][0];
  EXPECT_EQ(model["name"], "ember");
  EXPECT_GT(model["size"], 10'000'000);
  EXPECT_EQ(model["digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(model["details"]["family"], "qwen3");
  EXPECT_EQ(model["details"]["parameter_size"], "7.35M");
  const OrderedJson shown = ollama().answer("/api/show", R"({"model": "ember"})");
  EXPECT_EQ(shown["capabilities"], OrderedJson::array({"completion", "tools", "thinking"}));
  EXPECT_EQ(shown["model_info"]["general.architecture"], "qwen3");
  EXPECT_EQ(shown["model_info"]["qwen3.context_length"], 4096);
  EXPECT_NE(shown["template"].get<std::string>().find("<|im_start|>"), std::string::npos);
  EXPECT_EQ(OrderedJson::parse(ollama().get("/api/ps").body)["models"][0]["context_length"], 4096);
  EXPECT_TRUE(OrderedJson::parse(ollama().get("/api/version").body)["version"].is_string());
}

TEST(Ollama, EveryMistakeHasItsSentence) {
  const auto chat = [](std::string_view more) { return ollama_refusal("/api/chat", ollama_body(more)); };
  EXPECT_EQ(ollama_refusal("/api/chat", R"({"messages": []})"), "model is missing");
  EXPECT_EQ(chat(R"("messages": [{"role": "user", "content": "a", "images": ["!"]}])"),
            "messages[0].content[0] holds no base64");
  EXPECT_EQ(chat(cat(kOllamaSum, R"(, "format": "xml")")), "format is 'xml', allowed are '', 'json'");
  EXPECT_EQ(chat(cat(kOllamaSum, R"(, "think": "a lot")")), "think is 'a lot', allowed are 'low', 'medium', 'high'");
  EXPECT_EQ(chat(cat(kOllamaSum, R"(, "keep_alive": "soon")")),
            "keep_alive is 'soon', expected a duration like \"5m\"");
  EXPECT_EQ(ollama_refusal("/api/chat", cat(R"({"model": "ember", "options": {"top_p": 2}, )", kOllamaSum, "}")),
            "options.top_p is 2, allowed is 0 to 1");
  const auto generate = [](std::string_view more) {
    return ollama_refusal("/api/generate", cat(R"({"model": "ember", )", more, "}"));
  };
  EXPECT_EQ(generate(R"("prompt": "a", "suffix": "b")"),
            "suffix is not supported: Wick continues texts and does not fill gaps");
  EXPECT_EQ(generate(R"("prompt": "a", "context": [1])"),
            "context is not supported: send the conversation so far to /api/chat");
  EXPECT_NE(generate(R"("prompt": "a", "template": "{{ .Prompt }}")").find("chat template"), std::string::npos);
  EXPECT_EQ(ollama_refusal("/api/pull", R"({"model": "llama3"})", 404),
            "there is nothing at '/api/pull': the models here are those that wick serve was started with");
  EXPECT_NE(ollama_refusal("/api/embed", R"({"model": "ember", "input": "a"})", 404).find("--embedding-model"),
            std::string::npos);
}

TEST(Ollama, KeepAliveIsReadAsGoWritesIt) {
  const auto seconds = [](const std::string& text) {
    OllamaKeepAlive read;
    FieldKind<OllamaKeepAlive>::read(Json::parse(text, "it"), "keep_alive", {}, read);
    return read.seconds;
  };
  for (const char* text : {"0", "0.0", R"("0")", R"("0s")", R"("0h0m0s")", R"("-0")"}) EXPECT_EQ(seconds(text), 0);
  EXPECT_EQ(seconds("300"), 300);
  EXPECT_EQ(seconds("-1"), -1);
  EXPECT_EQ(seconds(R"("5m")"), 300);
  EXPECT_EQ(seconds(R"("1h30m")"), 5400);
  EXPECT_EQ(seconds(R"("-1m")"), -60);
  EXPECT_EQ(seconds(R"("1.5h")"), 5400);
  EXPECT_EQ(seconds(R"("300ms")"), 0.3);
  for (const char* text : {R"("5")", R"("m")", R"("")", R"("5 m")", R"("5m3")", R"("1e3s")", "[]", "true"}) {
    EXPECT_THROW(seconds(text), RequestError) << text;
  }
}

TEST(Ollama, ModelsStayAsLongAsAClientWishes) {
  WICK_NEEDS_EMBER();
  const ApiServer server;
  const auto generate = [&](std::string_view more) {
    return server.answer("/api/generate", cat(R"({"model": "ember", "stream": false, )", more, "}"));
  };
  const auto models = [&] { return OrderedJson::parse(server.get("/api/ps").body)["models"]; };
  EXPECT_EQ(generate(R"("keep_alive": 0)")["done_reason"], "unload");  // of what is not there
  EXPECT_TRUE(models().empty());
  EXPECT_EQ(generate(R"("keep_alive": "5m")")["done_reason"], "load");
  ASSERT_EQ(models().size(), 1u);
  EXPECT_TRUE(models()[0]["expires_at"].is_string());
  EXPECT_EQ(generate(R"("prompt": "Who are you?", "keep_alive": -1)")["done_reason"], "stop");
  EXPECT_TRUE(models()[0]["expires_at"].is_null());
  EXPECT_EQ(generate(R"("keep_alive": 0)")["done_reason"], "unload");
  EXPECT_TRUE(comes_true([&] { return models().empty(); }));
  // After an answer, as much as instead of one.
  EXPECT_FALSE(generate(R"("prompt": "Who are you?", "keep_alive": 0)")["response"].get<std::string>().empty());
  EXPECT_TRUE(comes_true([&] { return models().empty(); }));
}

TEST(Ollama, ThoughtsAndCallsAreApart) {
  OllamaAnswerOptions options;
  options.model = "tiny";
  options.format = thinking_format();
  const auto exchange = std::make_shared<RecordedExchange>();
  OllamaWriter writer(exchange, options);
  play_answer(writer, {"<think>", "Let me", " see.", "</think>", "\n\nI call.", "\n<tool_call>",
                       "\n{\"name\": \"f\", \"arguments\": {\"x\"", ": 1}}", "\n</tool_call>\n<tool_call>",
                       "\n{\"name\": \"g\", \"arguments\": {\"y\": [2", "]}}\n</tool_call>"});
  writer.finish();
  EXPECT_TRUE(exchange->finished);
  std::string thinking, text;
  std::vector<OrderedJson> functions;
  const std::vector<OrderedJson> lines = lines_of(exchange->stream);
  for (const OrderedJson& line : lines) {
    thinking += line["message"].value("thinking", "");
    text += line["message"]["content"].get<std::string>();
    for (const OrderedJson& call : line["message"].value("tool_calls", OrderedJson::array())) {
      functions.push_back(call["function"]);
    }
  }
  EXPECT_EQ(thinking, "Let me see.");
  EXPECT_EQ(text, "I call.");
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0], (OrderedJson{{"index", 0}, {"name", "f"}, {"arguments", {{"x", 1}}}}));
  EXPECT_EQ(functions[1], (OrderedJson{{"index", 1}, {"name", "g"}, {"arguments", {{"y", {2}}}}}));
  EXPECT_EQ(lines.back()["prompt_eval_count"], 10);
}

TEST(Ollama, AStreamThatFailsSaysSo) {
  const auto exchange = std::make_shared<RecordedExchange>();
  OllamaWriter writer(exchange, {});
  RequestEvent event{RequestEvent::Kind::kToken};
  event.text = "Hi";
  writer.on_token(0, event);
  writer.fail(error_response(500, "the model \"x\" broke"));
  EXPECT_EQ(lines_of(exchange->stream).back(), (OrderedJson{{"error", "the model \"x\" broke"}}));
  EXPECT_TRUE(exchange->finished);
}

TEST(Ollama, ErrorsOfTheTransportAreItsOwn) {
  HttpServerOptions options;
  options.keys = std::make_shared<const ApiKeys>(ApiKeys::parse("me: secret\n", "keys"));
  const ApiServer guarded(EngineOptions{}, std::move(options));
  const HttpAnswer refused = guarded.get("/api/tags");
  EXPECT_EQ(refused.status, 401);
  EXPECT_TRUE(OrderedJson::parse(refused.body)["error"].is_string()) << refused.body;
  EXPECT_EQ(guarded.client().get("/api/tags", {{"Authorization", "Bearer secret"}}).status, 200);
  EXPECT_EQ(guarded.client().get("/api/tags", {{"X-Api-Key", "secret"}}).status, 200);
  EXPECT_EQ(guarded.client().get("/api/tags", {{"X-Api-Key", "wrong"}}).status, 401);
}

TEST(Ollama, EmbedsAsTheEmbeddingsApiDoes) {
  const TinySentences folder;
  folder.write("config_sentence_transformers.json", "{}");
  const ApiServer server(std::vector<ModelEntry>{{"unasked", "/nowhere", {}, {}}}, {}, nullptr, nullptr, nullptr,
                         make_embed_host({{"tiny", folder.path(), {}}}));
  const OrderedJson other = server.answer("/v1/embeddings", R"({"input": ["w9 w10", "w11"]})");
  const auto expected = [&](size_t i) { return other["data"][i]["embedding"].get<std::vector<float>>(); };
  const OrderedJson answer = server.answer("/api/embed", R"({"model": "tiny:latest", "input": ["w9 w10", "w11"]})");
  EXPECT_EQ(answer["model"], "tiny:latest");
  EXPECT_EQ(answer["prompt_eval_count"], other["usage"]["prompt_tokens"]);
  ASSERT_EQ(answer["embeddings"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto vector = answer["embeddings"][i].get<std::vector<float>>();
    double norm = 0, plain = 0;
    for (const float x : vector) norm += double{x} * x;
    for (const float x : expected(i)) plain += double{x} * x;
    EXPECT_NEAR(norm, 1, 1e-5);
    for (size_t k = 0; k < vector.size(); ++k) EXPECT_NEAR(vector[k], expected(i)[k] / std::sqrt(plain), 1e-5);
  }
  EXPECT_EQ(server.answer("/api/embeddings", R"({"model": "tiny", "prompt": "w11"})")["embedding"],
            other["data"][1]["embedding"]);
  EXPECT_EQ(server.answer("/api/show", R"({"model": "tiny"})")["capabilities"], OrderedJson::array({"embedding"}));
}

}  // namespace
}  // namespace wick
