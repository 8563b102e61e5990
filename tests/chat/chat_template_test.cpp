#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <fstream>

#include "chat/response_parser.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

ChatInput conversation(std::string_view messages) {
  ChatInput input;
  input.messages = jinja::Value(Json::parse(messages, "messages"));
  return input;
}

ChatInput hello() {
  return conversation(R"([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"},
                          {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Bye"}])");
}

ChatInput tool_turn() {
  ChatInput input = conversation(
      R"([{"role": "user", "content": [{"type": "text", "text": "Sum?"}]},
          {"role": "assistant", "content": null, "tool_calls": [{"type": "function",
            "function": {"name": "add", "arguments": {"a": 1}}}]},
          {"role": "tool", "content": "2"}])");
  input.tools = jinja::Value(Json::parse(R"([{"type": "function", "function": {"name": "add"}}])", "tools"));
  return input;
}

TEST(ChatTemplate, BuiltInTemplatesWriteTheirFormats) {
  const std::pair<const char*, const char*> expected[] = {
      {"chatml",
       "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n"
       "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"},
      {"llama-3",
       "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|><|start_header_id|>user"
       "<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nYes?<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"gemma",
       "<bos><start_of_turn>user\nBe kind.\n\nHi<end_of_turn>\n<start_of_turn>model\nYes?<end_of_turn>\n"
       "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n"},
      {"mistral", "<s>[INST] Be kind.\n\nHi [/INST] Yes?</s>[INST] Bye [/INST]"},
      {"phi-3",
       "<|system|>\nBe kind.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nYes?<|end|>\n<|user|>\nBye<|end|>\n"
       "<|assistant|>\n"},
  };
  for (const auto& [name, text] : expected) EXPECT_EQ(ChatTemplate::built_in(name).render(hello()), text) << name;
  EXPECT_EQ(std::size(expected), ChatTemplate::built_in_names().size());
}

TEST(ChatTemplate, BuiltInTemplatesKnowToolsWhereTheFormatDoes) {
  const std::string chatml = ChatTemplate::built_in("chatml").render(tool_turn());
  EXPECT_NE(chatml.find("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>"), chatml.npos)
      << chatml;
  EXPECT_NE(chatml.find("<tool_response>\n2\n</tool_response>"), chatml.npos);
  const std::string llama = ChatTemplate::built_in("llama-3").render(tool_turn());
  EXPECT_NE(llama.find("{\"name\": \"add\", \"parameters\": {\"a\": 1}}"), llama.npos) << llama;
  const std::string mistral = ChatTemplate::built_in("mistral").render(tool_turn());
  EXPECT_NE(mistral.find("[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": {\"a\": 1}}]</s>"), mistral.npos) << mistral;
  for (const auto& [name, shape] : {std::pair("chatml", ToolCallShape::kTagged),
                                    {"llama-3", ToolCallShape::kLlama3},
                                    {"mistral", ToolCallShape::kMistral},
                                    {"phi-3", ToolCallShape::kNone}}) {
    EXPECT_EQ(detect_response_format(ChatTemplate::built_in(name).source()).tool_calls, shape) << name;
  }
}

TEST(ChatTemplate, AnUnknownNameListsTheKnownOnes) {
  EXPECT_ERROR(ChatTemplate::built_in("chatlm"), kInvalidArgument,
               "there is no built-in template 'chatlm': they are chatml, llama-3, gemma, mistral, phi-3; did you mean "
               "'chatml'?");
}

TEST(ChatTemplate, ReadsTokenizerConfig) {
  const auto chat = ChatTemplate::from_config(Json::parse(
      R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false},
          "chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ tools is none }}{{ extra }}"})",
      "tokenizer_config.json"));
  ASSERT_TRUE(chat);
  ChatInput input = conversation(R"([{"role": "user", "content": "x"}])");
  input.variables.set("extra", 5);
  EXPECT_EQ(chat->render(input), "<s>x</s>True5");
  EXPECT_FALSE(ChatTemplate::from_config(Json::parse("{}", "c")));
}

TEST(ChatTemplate, NamedTemplatesAreChosenByTools) {
  const auto chat = ChatTemplate::from_config(Json::parse(
      R"({"chat_template": [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]})",
      "c"));
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->render(hello()), "plain");
  EXPECT_EQ(chat->render(tool_turn()), "tools");
}

TEST(ChatTemplate, LoadsAFolder) {
  const TempFolder folder;
  EXPECT_FALSE(ChatTemplate::load(folder.path()));
  std::ofstream(folder.path() / "tokenizer_config.json") << R"({"bos_token": "<s>", "chat_template": "old"})";
  EXPECT_EQ(ChatTemplate::load(folder.path())->render(hello()), "old");
  std::ofstream(folder.path() / "chat_template.jinja") << "{{ bos_token }}new\n";
  EXPECT_EQ(ChatTemplate::load(folder.path())->render(hello()), "<s>new");
}

TEST(ChatTemplate, MessagesNameThePlace) {
  EXPECT_ERROR(ChatTemplate::parse("a\n{% if %}"), kBadFile, "chat template, line 2: an expression is missing");
  EXPECT_ERROR(ChatTemplate::parse("\n\n{{ raise_exception('roles must alternate') }}").render(hello()),
               kInvalidArgument, "chat template, line 3: roles must alternate");
  EXPECT_ERROR(ChatTemplate::parse("{{ user.name }}").render(hello()), kInvalidArgument,
               "chat template, line 1: 'user' is undefined");
  EXPECT_ERROR(ChatTemplate::from_config(Json::parse(R"({"chat_template": "{{"})", "config.json")), kBadFile,
               "config.json: 'chat_template', line 1: a tag is not closed with '}}'");
  EXPECT_ERROR(ChatTemplate::parse("\xFF"), kBadFile, "not valid UTF-8");
}

TEST(ChatTemplate, TheClockCanBeSet) {
  jinja::RenderOptions options;
  options.clock = [] { return jinja::LocalTime{2024, 12, 30, 9, 8, 7}; };
  EXPECT_EQ(ChatTemplate::parse("{{ strftime_now('%d %b %Y %G-W%V %j %c') }}").render(hello(), options),
            "30 Dec 2024 2025-W01 365 Mon Dec 30 09:08:07 2024");
  EXPECT_EQ(ChatTemplate::parse("{{ strftime_now('%Y')|int > 2020 }}").render(hello()), "True");
}

TEST(ChatTemplate, ArgumentsThatAreJsonTextBecomeMappings) {
  const auto render = [](std::string_view body, const char* arguments) {
    ChatInput input;
    input.messages = jinja::Value(
        Json::parse(cat(R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [
            {"type": "function", "function": {"name": "f", "arguments": )",
                        arguments, "}}]}]"),
                    "messages"));
    return ChatTemplate::parse(
               cat("{% for m in messages %}{% for c in m.tool_calls %}{% set a = c.function.arguments %}", body,
                   "{% endfor %}{% endfor %}"))
        .render(input);
  };
  const char* const text = R"("{\"a\":1,\"b\":\"x\"}")";
  EXPECT_EQ(render("{% for k, v in a.items() %}{{ k }}={{ v }};{% endfor %}", text), "a=1;b=x;");
  EXPECT_EQ(render("{{ a|tojson }}", text), R"({"a": 1, "b": "x"})");
  EXPECT_EQ(render("{{ a if a is string else a|tojson }}", text), R"({"a": 1, "b": "x"})");
  // Templates that put the text itself into the prompt get the text.
  EXPECT_EQ(render("{{ 'call ' + a }}", text), R"(call {"a":1,"b":"x"})");
  EXPECT_EQ(render("call {{ a }}", text), R"(call {"a":1,"b":"x"})");
  // What is no JSON object stays what it is.
  EXPECT_EQ(render("{{ a }}", R"("{\"a\": ")"), "{\"a\": ");
  EXPECT_EQ(render("{{ a is string }}", R"("[1]")"), "True");
  EXPECT_EQ(render("{{ a.b }}", R"({"b": 2})"), "2");
}

}  // namespace
}  // namespace wick
