// Requests of the API: what is read from them, and the sentence for each mistake.
#include <gtest/gtest.h>

#include "server/api/api.h"
#include "server/api/chat/chat_request.h"
#include "server/api/completions/completion_request.h"
#include "server/api/openapi.h"
#include "server/api/responses/responses_request.h"
#include "server/api/token_requests.h"

namespace wick {
namespace {

struct Refusal {
  std::string param, message, code;
  int status = 0;
};

template <typename Request>
Refusal refusal_of(const std::string& body) {
  try {
    Request::parse(Json::parse(body, "the body"));
  } catch (const RequestError& error) {
    return {error.param(), error.what(), error.word(), error.status()};
  }
  return {"", "no error", "", 200};
}

// A chat request that is right but for these fields.
std::string chat_with(const std::string& fields) {
  return R"({"messages": [{"role": "user", "content": "Hi"}], )" + fields + "}";
}

ChatRequest chat(const std::string& body) { return ChatRequest::parse(Json::parse(body, "the body")); }

struct Mistake {
  const char *fields, *param, *message;
};

TEST(ApiRequests, EveryMistakeHasItsSentenceAndItsParam) {
  const Mistake mistakes[] = {
      {R"("temperature": 3)", "temperature", "temperature is 3, allowed is 0 to 2"},
      {R"("temperature": -0.5)", "temperature", "temperature is -0.5, allowed is 0 to 2"},
      {R"("temperature": "hot")", "temperature", "temperature is text, expected a number"},
      {R"("top_p": 1.5)", "top_p", "top_p is 1.5, allowed is 0 to 1"},
      {R"("n": 0)", "n", "n is 0, allowed is 1 to 128"},
      {R"("n": 1.5)", "n", "n is 1.5, expected a whole number"},
      {R"("n": 1e30)", "n", "n is 1e+30, which is too large"},
      {R"("max_tokens": 0)", "max_tokens", "max_tokens is 0, allowed is 1 or more"},
      {R"("frequency_penalty": 2.5)", "frequency_penalty", "frequency_penalty is 2.5, allowed is -2 to 2"},
      {R"("stream": "yes")", "stream", "stream is text, expected true or false"},
      {R"("stop": 7)", "stop", "stop is a number, expected text or a list of texts"},
      {R"("stop": ["a", 7])", "stop[1]", "stop[1] is a number, expected text"},
      {R"("stop": "")", "stop", "stop has an empty text"},
      {R"("stop": ["1","2","3","4","5"])", "stop", "stop has 5 texts, allowed are 4"},
      {R"("tools": [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}])",
       "tools[1].function.name", "tools[1].function.name is 'f', like one before it"},
      {R"("tools": [{"type": "function", "function": {"name": "get weather"}}])", "tools[0].function.name",
       "tools[0].function.name is 'get weather', allowed are 1 to 64 letters, digits, underscores and dashes"},
      {R"("tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": "allowed_tools",
           "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "g"}}]}})",
       "tool_choice", "tool_choice allows 'g', which is not among tools"},
      {R"("tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "often", "tools": []}})",
       "tool_choice.allowed_tools.mode", "tool_choice.allowed_tools.mode is 'often', allowed are 'auto', 'required'"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"schema": {}}})",
       "response_format.json_schema.name", "response_format.json_schema.name is missing"},
      {R"("logit_bias": {"x": 1})", "logit_bias", "logit_bias has the name 'x', expected the number of a token"},
      {R"("logit_bias": {"5": 101})", "logit_bias[5]", "logit_bias[5] is 101, allowed is -100 to 100"},
      {R"("top_logprobs": 3)", "top_logprobs", "top_logprobs is set, but logprobs is not true"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs", "top_logprobs is 21, allowed is 0 to 20"},
      {R"("stream_options": {"include_usage": true})", "stream_options",
       "stream_options is set, but stream is not true"},
      {R"("response_format": {"type": "xml"})", "response_format.type",
       "response_format.type is 'xml', allowed are 'text', 'json_object', 'json_schema'"},
      {R"("response_format": {})", "response_format.type", "response_format.type is missing"},
      {R"("response_format": {"type": "text", "member_order": "none"})", "response_format.member_order",
       "response_format.member_order is 'none', allowed are 'schema', 'any'"},
      {R"("response_format": {"type": "json_schema"})", "response_format.json_schema",
       "response_format.json_schema is missing"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "x"}})",
       "response_format.json_schema.schema", "response_format.json_schema.schema is missing"},
      {R"("tools": [{"type": "retrieval"}])", "tools[0].type", "tools[0].type is 'retrieval', allowed is 'function'"},
      {R"("tools": [{"type": "function", "function": {}}])", "tools[0].function.name",
       "tools[0].function.name is missing"},
      {R"("tool_choice": "required")", "tool_choice", "tool_choice asks for a call, but there are no tools"},
      {R"("tool_choice": "sometimes")", "tool_choice",
       "tool_choice is 'sometimes', allowed are 'auto', 'none', 'required'"},
      {R"("tools": [{"type": "function", "function": {"name": "f"}}],
          "tool_choice": {"type": "function", "function": {"name": "g"}})",
       "tool_choice", "tool_choice names 'g', which is not among tools"},
      {R"("tool_choice": {"type": "function", "function": {}})", "tool_choice.function.name",
       "tool_choice.function.name is missing"},
      {R"("priority": "urgent")", "priority", "priority is 'urgent', allowed are 'low', 'normal', 'high', 'critical'"},
      {R"("timeout": 0)", "timeout", "timeout is 0, allowed is 0.001 to 86400"},
      {R"("mirostat": 1)", "mirostat", "mirostat is 1, allowed are 0 and 2"},
      {R"("modalities": ["text", "audio"])", "modalities", "modalities has 'audio', and answers here are text"},
      {R"("audio": {"voice": "x"})", "audio", "audio is not supported: answers here are text"},
      {R"("web_search_options": {})", "web_search_options",
       "web_search_options is not supported: there is no search here"},
      {R"("functions": [])", "functions", "functions is not supported: it was replaced by tools"},
  };
  for (const Mistake& mistake : mistakes) {
    const Refusal refusal = refusal_of<ChatRequest>(chat_with(mistake.fields));
    EXPECT_EQ(refusal.param, mistake.param) << mistake.fields;
    EXPECT_EQ(refusal.message, mistake.message);
    EXPECT_EQ(refusal.status, 400) << mistake.fields;
  }
}

TEST(ApiRequests, MessagesAreCheckedOneByOne) {
  const Mistake mistakes[] = {
      {R"({})", "messages", "messages is missing"},
      {R"({"messages": []})", "messages", "messages is empty"},
      {R"({"messages": {}})", "messages", "messages is an object, expected a list"},
      {R"({"messages": ["Hi"]})", "messages[0]", "messages[0] is text, expected an object"},
      {R"({"messages": [{"content": "Hi"}]})", "messages[0].role", "messages[0].role is missing"},
      {R"({"messages": [{"role": "king", "content": "Hi"}]})", "messages[0].role",
       "messages[0].role is 'king', allowed are 'developer', 'system', 'user', 'assistant', 'tool'"},
      {R"({"messages": [{"role": "user"}]})", "messages[0].content", "messages[0].content is missing"},
      {R"({"messages": [{"role": "user", "content": 3}]})", "messages[0].content",
       "messages[0].content is a number, expected text or a list of parts"},
      {R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}]})",
       "messages[0].content[1].image_url", "messages[0].content[1].image_url is missing"},
      {R"({"messages": [{"role": "user", "content": [{"type": "smell"}]}]})", "messages[0].content[0].type",
       "messages[0].content[0].type is 'smell', and models here read text and pictures"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a/b.png"}}]}]})",
       "messages[0].content[0]",
       "messages[0].content[0] is of the kind 'http': pictures come as data: URLs with base64, the server fetches "
       "none"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png,a"}}]}]})",
       "messages[0].content[0]", "messages[0].content[0] is a data: URL without base64"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:;base64,!"}}]}]})",
       "messages[0].content[0]", "messages[0].content[0] holds no base64"},
      {R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})", "messages[0].content[0].text",
       "messages[0].content[0].text is missing"},
      {R"({"messages": [{"role": "user", "content": "a", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]})",
       "messages[0].tool_calls", "messages[0].tool_calls stands in a message of role 'user', which makes no calls"},
      {R"({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]})",
       "messages[0].tool_calls[0].function.arguments", "messages[0].tool_calls[0].function.arguments is missing"},
  };
  for (const Mistake& mistake : mistakes) {
    const Refusal refusal = refusal_of<ChatRequest>(mistake.fields);
    EXPECT_EQ(refusal.param, mistake.param) << mistake.fields;
    EXPECT_EQ(refusal.message, mistake.message);
  }
  EXPECT_EQ(refusal_of<ChatRequest>("[]").message, "the body is a list, expected an object");
}

TEST(ApiRequests, AChatRequestIsReadWhole) {
  const ChatRequest request = chat(R"({
      "model": "ember", "temperature": 0.5, "seed": -3, "n": 2, "stop": ["a", "b"], "max_completion_tokens": 9,
      "logit_bias": {"5": -100, "7": 2}, "stream": true, "stream_options": {"include_usage": true}, "user": null,
      "metadata": {"any": "thing"}, "something_new": [1], "dry_breakers": ["\n"], "mirostat": 2, "priority": "high",
      "messages": [{"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                   {"role": "assistant", "content": null, "tool_calls":
                      [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                   {"role": "tool", "tool_call_id": "c1", "content": "4"}]})");
  EXPECT_EQ(request.model, "ember");
  EXPECT_EQ(request.temperature, 0.5f);
  EXPECT_EQ(request.seed, -3);
  EXPECT_EQ(request.n, 2);
  EXPECT_EQ(request.stop.texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.max_completion_tokens, 9);
  EXPECT_EQ(request.max_tokens, std::nullopt);
  EXPECT_EQ(request.logit_bias.entries, (std::vector<std::pair<int32_t, float>>{{5, -100.f}, {7, 2.f}}));
  EXPECT_TRUE(request.stream_options->include_usage);
  EXPECT_EQ(request.user, std::nullopt);
  EXPECT_TRUE(request.mirostat->on);
  EXPECT_EQ(request.priority, "high");
  EXPECT_EQ(request.messages[0].content->text, "ab");
  EXPECT_FALSE(request.messages[1].content);
  EXPECT_EQ(request.messages[1].tool_calls[0].function.name, "f");
  EXPECT_EQ(request.messages[2].tool_call_id, "c1");
  EXPECT_TRUE(request.tool_list.is_null());
}

std::string completion_with(const std::string& fields) { return R"({"prompt": "Hi", )" + fields + "}"; }

TEST(ApiRequests, ToolsThatAreNotAllowedAreNotOffered) {
  const ChatRequest request = chat(chat_with(R"("tools": [{"type": "function", "function": {"name": "f"}},
      {"type": "function", "function": {"name": "g"}}], "tool_choice": {"type": "allowed_tools", "allowed_tools":
      {"mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}]}})"));
  ASSERT_EQ(request.tools.size(), 1u);
  EXPECT_EQ(request.tools[0].function.name, "g");
  EXPECT_EQ(request.tool_list.as_array().size(), 1u);
  EXPECT_EQ(request.tool_list.as_array()[0].at("function").at("name").as_text(), "g");
  EXPECT_TRUE(request.tool_choice->forces());
  const ChatRequest flat = ResponsesRequest::parse(Json::parse(R"({"input": "Hi", "tools": [
      {"type": "function", "name": "f"}, {"type": "function", "name": "g"}], "tool_choice": {"type": "allowed_tools",
      "mode": "auto", "tools": [{"type": "function", "name": "f"}]}})",
                                                               "the body"))
                               .as_chat();
  ASSERT_EQ(flat.tools.size(), 1u);
  EXPECT_EQ(flat.tool_list.as_array()[0].at("function").at("name").as_text(), "f");
  EXPECT_FALSE(flat.tool_choice->forces());
}

TEST(ApiRequests, RefusalsAreWhatTheAssistantSaid) {
  const ChatRequest request = chat(R"({"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": [{"type": "text", "text": "I "}, {"type": "refusal", "refusal": "cannot."}]},
      {"role": "assistant", "refusal": "No."}, {"role": "user", "content": "Why?"}]})");
  EXPECT_EQ(request.messages[1].content->text, "I cannot.");
  EXPECT_EQ(request.messages[2].refusal, "No.");
  EXPECT_EQ(refusal_of<ChatRequest>(R"({"messages": [{"role": "tool", "content": "4"}]})").param,
            "messages[0].tool_call_id");
}

TEST(ApiRequests, CompletionsTakePromptsOfFourKinds) {
  const auto prompts = [](const std::string& prompt) {
    return CompletionRequest::parse(Json::parse(R"({"prompt": )" + prompt + "}", "the body")).prompt.prompts;
  };
  using Tokens = std::vector<int32_t>;
  EXPECT_EQ(std::get<std::string>(prompts(R"("a")").at(0)), "a");
  EXPECT_EQ(std::get<std::string>(prompts(R"(["a", "b"])").at(1)), "b");
  EXPECT_EQ(std::get<Tokens>(prompts("[1, 2]").at(0)), (Tokens{1, 2}));
  EXPECT_EQ(std::get<Tokens>(prompts("[[1, 2], [3]]").at(1)), (Tokens{3}));
}

TEST(ApiRequests, CompletionsRefuseWhatTheyCannotDo) {
  const Mistake mistakes[] = {
      {R"("suffix": "x")", "suffix", "suffix is not supported: Wick continues texts and does not fill gaps"},
      {R"("best_of": 3)", "best_of", "best_of is 3, but Wick sends every answer: use n"},
      {R"("max_tokens": 0)", "max_tokens", "max_tokens is 0 and echo is not true, so there would be no answer"},
      {R"("logprobs": 21)", "logprobs", "logprobs is 21, allowed is 0 to 20"},
  };
  for (const Mistake& mistake : mistakes) {
    const Refusal refusal = refusal_of<CompletionRequest>(completion_with(mistake.fields));
    EXPECT_EQ(refusal.param, mistake.param);
    EXPECT_EQ(refusal.message, mistake.message);
  }
  EXPECT_EQ(refusal_of<CompletionRequest>(R"({"prompt": []})").message, "prompt is empty");
  EXPECT_EQ(refusal_of<CompletionRequest>(R"({"prompt": [[1], "x", [-1]]})").message,
            "prompt[2][0] is -1, allowed is 0 to 2147483647");
  EXPECT_EQ(refusal_of<CompletionRequest>(R"({"prompt": [1, "x"]})").message,
            "prompt[1] is text, expected a whole number");
  EXPECT_EQ(refusal_of<CompletionRequest>(completion_with(R"("suffix": "", "best_of": 2, "n": 2)")).message,
            "no error");
}

TEST(ApiRequests, ResponsesBecomeChats) {
  const ChatRequest request = ResponsesRequest::parse(Json::parse(R"({
      "instructions": "Be brief.", "max_output_tokens": 5, "tool_choice": {"type": "function", "name": "f"},
      "tools": [{"type": "function", "name": "f", "description": "does it", "parameters": {"type": "object"},
                 "strict": true}],
      "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
      "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "4"}]})",
                                                                  "the body"))
                                  .as_chat();
  ASSERT_EQ(request.messages.size(), 4u);
  EXPECT_EQ(request.messages[0].role, "system");
  EXPECT_EQ(request.messages[0].content->text, "Be brief.");
  EXPECT_EQ(request.messages[1].content->text, "Hi");
  EXPECT_EQ(request.messages[2].role, "assistant");
  EXPECT_EQ(request.messages[2].tool_calls.at(0).function.name, "f");
  EXPECT_EQ(request.messages[3].role, "tool");
  EXPECT_EQ(request.messages[3].content->text, "4");
  EXPECT_EQ(request.max_completion_tokens, 5);
  EXPECT_EQ(request.tool_choice->name, "f");
  EXPECT_EQ(request.tools.at(0).function.description, "does it");
  EXPECT_EQ(request.tool_list.as_array().at(0).at("function").at("name").as_text(), "f");
  ASSERT_TRUE(request.response_format.wanted_schema());
  EXPECT_EQ(request.response_format.wanted_schema()->at("type").as_text(), "object");
}

TEST(ApiRequests, ResponsesRefuseWhatNeedsMemory) {
  const Mistake mistakes[] = {
      {R"("include": ["web_search_call.results"])", "include[0]",
       "include[0] is 'web_search_call.results', allowed are 'message.output_text.logprobs', "
       "'reasoning.encrypted_content'"},
      {R"("truncation": "some")", "truncation", "truncation is 'some', allowed are 'auto', 'disabled'"},
      {R"("text": {"format": {"type": "json_schema", "schema": {}}})", "text.format.name",
       "text.format.name is missing"},
      {R"("tools": [{"type": "web_search"}])", "tools[0].type", "tools[0].type is 'web_search', allowed is 'function'"},
      {R"("text": {"format": {"type": "json_schema"}})", "text.format.schema", "text.format.schema is missing"},
  };
  for (const Mistake& mistake : mistakes) {
    const Refusal refusal = refusal_of<ResponsesRequest>(cat(R"({"input": "Hi", )", mistake.fields, "}"));
    EXPECT_EQ(refusal.param, mistake.param);
    EXPECT_EQ(refusal.message, mistake.message);
  }
  EXPECT_EQ(refusal_of<ResponsesRequest>(R"({"input": [{"type": "item_reference", "id": "x"}]})").message,
            "input[0].type is 'item_reference', allowed are 'message', 'function_call', 'function_call_output', "
            "'reasoning'");
  EXPECT_EQ(refusal_of<ResponsesRequest>(R"({"input": []})").message, "input is empty");
}

TEST(ApiRequests, TokenizeWantsOneOfTwo) {
  EXPECT_EQ(refusal_of<TokenizeRequest>("{}").message, "content is missing, and messages too");
  EXPECT_EQ(refusal_of<TokenizeRequest>(R"({"content": "a", "messages": []})").message,
            "content and messages are both there, expected one of them");
}

// Every reference of the document leads somewhere, and what requests are checked for stands in it.
void check_references(const OrderedJson& part, const OrderedJson& schemas) {
  if (part.is_object() && part.contains("$ref")) {
    const auto name = part["$ref"].get<std::string>();
    ASSERT_TRUE(name.starts_with("#/components/schemas/")) << name;
    EXPECT_TRUE(schemas.contains(name.substr(21))) << name;
  }
  if (!part.is_structured()) return;
  for (const auto& item : part) check_references(item, schemas);
}

// Each value takes memory once it is read, however short it is in the body; a text is one value.
TEST(ApiRequests, ABodyHasSoManyValuesAtMost) {
  const auto body_of = [](std::string_view piece, int times, std::string_view end) {
    HttpRequest request;
    request.body = R"(["\\\"")";
    for (int i = 0; i < times; ++i) request.body += piece;
    request.body += end;
    return request;
  };
  EXPECT_EQ(json_body(body_of(",1", 999'998, "]")).as_array().size(), 999'999u);
  for (const std::string_view piece : {",1", ",[]", ",{}", ",\"\""}) {
    try {
      json_body(body_of(piece, 1'500'001, "]"));
      ADD_FAILURE() << piece;
    } catch (const RequestError& error) {
      EXPECT_EQ(error.what(), std::string("the body has more than 1500000 values"));
      EXPECT_EQ(error.status(), 413);
    }
  }
  HttpRequest text = body_of("", 0, ",\"");
  for (int i = 0; i < 2'000'000; ++i) text.body += ",[";
  text.body += "\"]";
  EXPECT_EQ(json_body(text).as_array().at(1).as_text().size(), 4'000'000u);
}

TEST(ApiRequests, TheOpenApiDocumentComesFromTheSameDescriptions) {
  const OrderedJson document = openapi_document();
  EXPECT_EQ(document["openapi"], "3.1.0");
  const OrderedJson& schemas = document["components"]["schemas"];
  check_references(document, schemas);
  const OrderedJson& chat = schemas["ChatCompletionRequest"];
  EXPECT_EQ(chat["properties"]["temperature"]["maximum"], 2.0);
  EXPECT_EQ(chat["properties"]["n"]["default"], 1);
  EXPECT_EQ(chat["properties"]["priority"]["enum"], OrderedJson({"low", "normal", "high", "critical"}));
  EXPECT_EQ(chat["required"], OrderedJson({"messages"}));
  EXPECT_FALSE(chat["properties"].contains("audio"));
  EXPECT_EQ(schemas["ChatChoice"]["required"], OrderedJson({"index", "message", "logprobs", "finish_reason"}));
  EXPECT_EQ(document["paths"].size(), 47u);
}

}  // namespace
}  // namespace wick
