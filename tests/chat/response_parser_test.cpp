#include <gtest/gtest.h>

#include <random>

#include "chat/response_parser.h"

namespace wick {
namespace {

struct Case {
  std::string what;
  ToolCallShape shape;
  std::string text;
  Response expected;
  bool starts_in_reasoning = false;
};

ResponseFormat format_of(const Case& item) {
  ResponseFormat format;
  format.tool_calls = item.shape;
  if (item.shape != ToolCallShape::kHarmony) {
    format.reasoning_open = "<think>";
    format.reasoning_close = "</think>";
  }
  format.starts_in_reasoning = item.starts_in_reasoning;
  return format;
}

std::string shown(const Response& response) {
  std::string out = "reasoning [" + response.reasoning + "] content [" + response.content + "]";
  for (const ToolCall& call : response.tool_calls) {
    out += " call [" + call.id + "|" + call.name + "|" + call.arguments + "]";
  }
  return out;
}

// The parts that feed() hands out, put together again.
void append(Response& total, const ResponseDelta& delta) {
  total.reasoning += delta.reasoning;
  total.content += delta.content;
  for (const ToolCallDelta& call : delta.tool_calls) {
    if (call.index == total.tool_calls.size()) total.tool_calls.push_back({call.id, call.name, {}});
    ASSERT_LT(call.index, total.tool_calls.size());
    total.tool_calls[call.index].arguments += call.arguments;
  }
}

std::string streamed(const Case& item, const std::vector<size_t>& cuts) {
  ResponseParser parser(format_of(item));
  Response total;
  size_t at = 0;
  for (const size_t cut : cuts) {
    append(total, parser.feed(std::string_view(item.text).substr(at, cut - at)));
    at = cut;
  }
  append(total, parser.feed(std::string_view(item.text).substr(at)));
  append(total, parser.finish());
  EXPECT_EQ(shown(total), shown(parser.response())) << "the parts do not add up";
  return shown(parser.response());
}

std::vector<Case> cases() {
  using S = ToolCallShape;
  return {
      {"plain", S::kNone, "Hello <b>\n", {"", "Hello <b>\n", {}}},
      {"empty", S::kTagged, "", {}},
      {"reasoning", S::kNone, "<think>\nHm.\n\nYes.\n</think>\n\nAnswer", {"Hm.\n\nYes.", "Answer", {}}},
      {"reasoning opened by the prompt", S::kNone, "Hm.\n</think>\nAnswer", {"Hm.", "Answer", {}}, true},
      {"reasoning that never ends", S::kTagged, "<think>on and on <tool_call>", {"on and on <tool_call>", "", {}}},
      {"a marker in the answer is text", S::kNone, "Write <think> first", {"", "Write <think> first", {}}},
      {"almost a marker", S::kTagged, "<thin> <tool_cal> </tool_call", {"", "<thin> <tool_cal> </tool_call", {}}},
      {"hermes",
       S::kTagged,
       "<think>t</think>I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}</tool_call>\\\"\"}}\n"
       "</tool_call>\n<tool_call>{\"arguments\": {\"x\": [1, {\"y\": 2}]}, \"name\": \"g\"}</tool_call>",
       {"t", "I look.", {{"", "f", "{\"a\": \"}</tool_call>\\\"\"}"}, {"", "g", "{\"x\": [1, {\"y\": 2}]}"}}}},
      {"hermes without arguments", S::kTagged, "<tool_call>{\"name\": \"f\"}</tool_call>", {"", "", {{"", "f", "{}"}}}},
      {"arguments as text",
       S::kTagged,
       "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}</tool_call>",
       {"", "", {{"", "f", "{\"a\": 1}"}}}},
      {"a nested function with an id",
       S::kTagged,
       "<tool_call>{\"id\": \"7\", \"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": {\"a\": 1}}}"
       "</tool_call>",
       {"", "", {{"7", "f", "{\"a\": 1}"}}}},
      {"a tag without a call", S::kTagged, "see <tool_call> in the docs", {"", "see <tool_call> in the docs", {}}},
      {"broken json in a tag", S::kTagged, "<tool_call>{nope}</tool_call>", {"", "<tool_call>{nope}</tool_call>", {}}},
      {"a call that is cut off",
       S::kTagged,
       "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"un",
       {"", "", {{"", "f", "{\"a\": \"un"}}}},
      {"qwen3-coder",
       S::kTagged,
       "Ok.\n<tool_call>\n<function=write>\n<parameter=path>\na.txt\n</parameter>\n<parameter=text>\nline \"1\"\n  "
       "<b>\n"
       "</parameter>\n<parameter=count>\n3\n</parameter>\n<parameter=deep>\n{\"a\": [1]}\n</parameter>\n</function>\n"
       "</tool_call>",
       {"",
        "Ok.",
        {{"", "write",
          "{\"path\": \"a.txt\", \"text\": \"line \\\"1\\\"\\u000a  <b>\", \"count\": 3, \"deep\": {\"a\": [1]}}"}}}},
      {"qwen3-coder without parameters",
       S::kTagged,
       "<tool_call><function=now></function></tool_call>done",
       {"", "done", {{"", "now", "{}"}}}},
      {"llama", S::kLlama3, "{\"name\": \"f\", \"parameters\": {\"a\": 1}}", {"", "", {{"", "f", "{\"a\": 1}"}}}},
      {"llama, two",
       S::kLlama3,
       "<|python_tag|>{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", "
       "\"parameters\": {\"b\": null}}",
       {"", "", {{"", "f", "{}"}, {"", "g", "{\"b\": null}"}}}},
      {"llama, built-in tool",
       S::kLlama3,
       "<|python_tag|>brave_search.call(query=\"a, b\", n=2)",
       {"", "", {{"", "brave_search", "{\"query\": \"a, b\", \"n\": 2}"}}}},
      {"llama, code",
       S::kLlama3,
       "<|python_tag|>print(\"x\")",
       {"", "", {{"", "code_interpreter", "{\"code\": \"print(\\\"x\\\")\"}"}}}},
      {"llama, json that is no call", S::kLlama3, "{\"city\": \"x\"} ok", {"", "{\"city\": \"x\"} ok", {}}},
      {"llama, text", S::kLlama3, "Use {\"name\": 1} here", {"", "Use {\"name\": 1} here", {}}},
      {"mistral list",
       S::kMistral,
       "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"]\"}}, {\"name\": \"g\", \"arguments\": {}, \"id\": "
       "\"1\"}]",
       {"", "", {{"", "f", "{\"a\": \"]\"}"}, {"", "g", "{}"}}}},
      {"mistral with [ARGS]",
       S::kMistral,
       "Ok [TOOL_CALLS]f[CALL_ID]abc[ARGS]{\"a\": \"[TOOL_CALLS]\"}[TOOL_CALLS]g[ARGS]{}",
       {"", "Ok", {{"abc", "f", "{\"a\": \"[TOOL_CALLS]\"}"}, {"", "g", "{}"}}}},
      {"mistral, almost", S::kMistral, "[TOOL_CALL] and [TOOL", {"", "[TOOL_CALL] and [TOOL", {}}},
      {"deepseek v3",
       S::kDeepSeek,
       "<think>t</think>Ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
       "\"```\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       {"t", "Ok", {{"", "f", "{\"a\": \"```\"}"}, {"", "g", "{}"}}}},
      {"deepseek v3.1",
       S::kDeepSeek,
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       {"", "", {{"", "f", "{\"a\": 1}"}}}},
      {"kimi",
       S::kKimi,
       "Ok<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": "
       "\"<|tool_call_end|>\"}<|tool_call_end|><|tool_call_begin|> my.g:12 <|tool_call_argument_begin|>{}"
       "<|tool_call_end|><|tool_calls_section_end|>",
       {"", "Ok", {{"functions.f:0", "f", "{\"a\": \"<|tool_call_end|>\"}"}, {"my.g:12", "my.g", "{}"}}}},
      {"kimi, a name that looks numbered",
       S::kKimi,
       "<|tool_call_begin|>functions.at:noon<|tool_call_argument_begin|>{\"b\": 1",
       {"", "", {{"functions.at:noon", "at:noon", "{\"b\": 1"}}}},
      {"gemma4",
       S::kGemma4,
       "Ok\n<|tool_call>call:f{city:<|\"|>a, \"b\"}\n<|\"|>,n:-2.5,on:true,deep:{k:[<|\"|>x]<|\"|>,{<|\"|>q "
       "r<|\"|>:null}],e:{}},list:[]}<tool_call|><|tool_call>call:g{}<tool_call|>",
       {"",
        "Ok",
        {{"", "f",
          "{\"city\": \"a, \\\"b\\\"}\\u000a\", \"n\": -2.5, \"on\": true, \"deep\": "
          "{\"k\":[\"x]\",{\"q r\":null}],\"e\":{}}, \"list\": []}"},
         {"", "g", "{}"}}}},
      {"gemma4, no call", S::kGemma4, "a <|tool_call>{x} b", {"", "a <|tool_call>{x} b", {}}},
      {"gemma4, cut off",
       S::kGemma4,
       "<|tool_call>call:f{a:1,b:<|\"|>un",
       {"", "", {{"", "f", "{\"a\": 1, \"b\": \"un"}}}},
      {"gemma4, what is no value",
       S::kGemma4,
       "<|tool_call>call:f{a:two words}<tool_call|> and more",
       {"", "and more", {{"", "f", "{\"a\": \"two words\"}"}}}},
      {"llama4",
       S::kLlama4,
       "<|python_start|>[f(city=\"a, 'b')\", n=-2, on=True, deep={'k': [1, (None, \"\\\"\")]}), my.g()]<|python_end|>",
       {"",
        "",
        {{"", "f", "{\"city\": \"a, 'b')\", \"n\": -2, \"on\": true, \"deep\": {\"k\": [1, [null, \"\\\"\"]]}}"},
         {"", "my.g", "{}"}}}},
      {"llama4 without markers",
       S::kLlama4,
       " [f( a = 'it\\'s\\n\\u00e9 \\d' )] ok",
       {"", "ok", {{"", "f", "{\"a\": \"it's\\u000a\xC3\xA9 \\\\d\"}"}}}},
      {"llama4, json",
       S::kLlama4,
       "<|python_start|>{\"name\": \"f\", \"parameters\": {\"a\": 1}}<|python_end|>",
       {"", "", {{"", "f", "{\"a\": 1}"}}}},
      {"llama4, two objects",
       S::kLlama4,
       "{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}}",
       {"", "", {{"", "f", "{}"}, {"", "g", "{}"}}}},
      {"llama4, text", S::kLlama4, "[1] says {this}", {"", "[1] says {this}", {}}},
      {"llama4, a list", S::kLlama4, "[one, two]", {"", "[one, two]", {}}},
      {"llama4, a marker in text", S::kLlama4, "a <|python_start|> b", {"", "a <|python_start|> b", {}}},
      {"llama4, cut off", S::kLlama4, "[f(a=1, b='un", {"", "", {{"", "f", "{\"a\": 1}"}}}},
      {"lfm2",
       S::kLfm2,
       "Ok <|tool_call_start|>[f(a=\"x\")]<|tool_call_end|>Then [g(b=1)]",
       {"", "OkThen [g(b=1)]", {{"", "f", "{\"a\": \"x\"}"}}}},
      {"glm",
       S::kArgKeys,
       "<think>t</think>Ok.\n<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>a \"b\".txt</arg_value>\n"
       "<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n<arg_key>deep</arg_key>\n<arg_value>{\"a\": [1, "
       "\"</arg_key>\"]}</arg_value>\n<arg_key>text</arg_key>\n<arg_value> x\ny </arg_value>\n</tool_call>\n"
       "<tool_call>now\n</tool_call>",
       {"t",
        "Ok.",
        {{"", "write",
          "{\"path\": \"a \\\"b\\\".txt\", \"n\": 3, \"deep\": {\"a\": [1, \"</arg_key>\"]}, \"text\": \" "
          "x\\u000ay \"}"},
         {"", "now", "{}"}}}},
      {"glm without white space",
       S::kArgKeys,
       "<tool_call>f<arg_key>a</arg_key><arg_value>\"quoted\"</arg_value><arg_key>b</arg_key><arg_value>true"
       "</arg_value></tool_call>done",
       {"", "done", {{"", "f", "{\"a\": \"\\\"quoted\\\"\", \"b\": true}"}}}},
      {"glm, a tag without a call", S::kArgKeys, "see <tool_call> in docs", {"", "see <tool_call> in docs", {}}},
      {"glm, a tag at the end", S::kArgKeys, "see <tool_call>", {"", "see <tool_call>", {}}},
      {"glm, a key without a value",
       S::kArgKeys,
       "<tool_call>f<arg_key>a</arg_key></tool_call>",
       {"", "", {{"", "f", "{\"a\": null}"}}}},
      {"glm, cut off",
       S::kArgKeys,
       "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b</arg_key><arg_value>2",
       {"", "", {{"", "f", "{\"a\": 1}"}}}},
      {"dsml",
       S::kDsml,
       "<think>t</think>Ok.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
       "string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"false\">[1, \"x\"]"
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n\n</｜DSML｜invoke>\n"
       "</｜DSML｜function_calls>",
       {"t", "Ok.", {{"", "f", "{\"a\": \"12\", \"b\": [1, \"x\"]}"}, {"", "g", "{}"}}}},
      {"dsml of v4",
       S::kDsml,
       "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"true\">x\n\"y\""
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
       {"", "", {{"", "f", "{\"a\": \"x\\u000a\\\"y\\\"\"}"}}}},
      {"dsml, what is called json but is none",
       S::kDsml,
       "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"false\">two words"
       "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
       {"", "", {{"", "f", "{\"a\": \"two words\"}"}}}},
      {"dsml, a marker without calls",
       S::kDsml,
       "a <｜DSML｜tool_calls> block",
       {"", "a <｜DSML｜tool_calls> block", {}}},
      {"dsml, cut off",
       S::kDsml,
       "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\">x",
       {"", "", {{"", "f", "{\"a\": \"x"}}}},
      {"dsml, broken text",
       S::kDsml,
       "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" "
       "string=\"true\">\xC3\xA9\xE2\x82<\xF0"
       "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
       {"", "", {{"", "f", "{\"a\": \"\xC3\xA9\xEF\xBF\xBD<\xEF\xBF\xBD\"}"}}}},
      {"minimax",
       S::kMiniMax,
       "Ok\n<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">x y</parameter>\n<parameter "
       "name=\"n\">2</parameter>\n</invoke>\n</minimax:tool_call>",
       {"", "Ok", {{"", "f", "{\"a\": \"x y\", \"n\": 2}"}}}},
      {"harmony",
       S::kHarmony,
       "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
       "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"<|end\"}<|call|>",
       {"Think.", "I look.", {{"", "f", "{\"a\": \"<|end\"}"}}}},
      {"harmony, recipient before the channel",
       S::kHarmony,
       "<|start|>assistant to=functions.g<|channel|>commentary json<|message|>{}<|call|>",
       {"", "", {{"", "g", "{}"}}}},
      {"harmony, final",
       S::kHarmony,
       "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>Hi <|x|> there<|return|>",
       {"A", "Hi <|x|> there", {}}},
      {"harmony without channels", S::kHarmony, "Just text", {"", "Just text", {}}},
  };
}

TEST(ResponseParser, TakesWholeTextsApart) {
  for (const Case& item : cases()) {
    SCOPED_TRACE(item.what);
    EXPECT_EQ(shown(parse_response(item.text, format_of(item))), shown(item.expected));
  }
}

TEST(ResponseParser, AnySplitGivesTheSame) {
  std::mt19937 random(11);
  for (const Case& item : cases()) {
    SCOPED_TRACE(item.what);
    const std::string whole = shown(item.expected);
    std::vector<size_t> every;
    for (size_t cut = 0; cut <= item.text.size(); ++cut) {
      ASSERT_EQ(streamed(item, {cut}), whole) << "cut at " << cut;
      every.push_back(cut);
    }
    ASSERT_EQ(streamed(item, every), whole) << "byte by byte";
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<size_t> cuts;
      for (size_t at = 0; at < item.text.size(); at += 1 + random() % 12) cuts.push_back(at);
      ASSERT_EQ(streamed(item, cuts), whole);
    }
  }
}

// Texts made of pieces of markers: whatever they mean, the split does not matter.
TEST(ResponseParser, AnySplitOfNonsenseGivesTheSame) {
  const std::vector<std::string> pieces = {"<think>",
                                           "</think>",
                                           "<tool_call>",
                                           "</tool_call>",
                                           "{\"name\": \"f\", ",
                                           "\"arguments\": {\"a\": 1}}",
                                           "{",
                                           "}",
                                           "<function=f>",
                                           "<parameter=k>",
                                           "</parameter>",
                                           "</function>",
                                           "[TOOL_CALLS]",
                                           "[ARGS]",
                                           "f",
                                           "[{",
                                           "]",
                                           "<|channel|>",
                                           "final",
                                           "<|message|>",
                                           "<|end|>",
                                           "<|start|>",
                                           "<|python_tag|>",
                                           "<｜tool▁calls▁begin｜>",
                                           "<｜tool▁call▁begin｜>",
                                           "<｜tool▁sep｜>",
                                           "<｜tool▁call▁end｜>",
                                           "<arg_key>",
                                           "</arg_key>",
                                           "<arg_value>",
                                           "</arg_value>",
                                           "<｜DSML｜tool_calls>",
                                           "<｜DSML｜invoke name=\"",
                                           "<｜DSML｜parameter name=\"",
                                           "\" string=\"true\">",
                                           "\">",
                                           "</｜DSML｜parameter>",
                                           "</｜DSML｜invoke>",
                                           "<minimax:tool_call>",
                                           "<|tool_calls_section_begin|>",
                                           "<|tool_call_begin|>",
                                           "<|tool_call_argument_begin|>",
                                           "<|tool_call_end|>",
                                           "<|tool_call>",
                                           "call:f{",
                                           "a:",
                                           "<|\"|>",
                                           "<tool_call|>",
                                           "<|python_start|>",
                                           "<|tool_call_start|>",
                                           "[f(a='",
                                           "', b=\"\\",
                                           ")]",
                                           "<invoke name=\"",
                                           " ",
                                           "\n",
                                           "\"",
                                           "text"};
  std::mt19937 random(5);
  for (int trial = 0; trial < 6000; ++trial) {
    Case item;
    item.shape = static_cast<ToolCallShape>(random() % kToolCallShapes);
    for (unsigned i = 0; i < 2 + random() % 12; ++i) item.text += pieces[random() % pieces.size()];
    if (random() % 3 == 0) item.text.resize(random() % (item.text.size() + 1));
    const std::string whole = shown(parse_response(item.text, format_of(item)));
    std::vector<size_t> every, some;
    for (size_t at = 0; at < item.text.size(); ++at) every.push_back(at);
    for (size_t at = 0; at < item.text.size(); at += 1 + random() % 9) some.push_back(at);
    ASSERT_EQ(streamed(item, every), whole) << static_cast<int>(item.shape) << " " << item.text;
    ASSERT_EQ(streamed(item, some), whole) << static_cast<int>(item.shape) << " " << item.text;
  }
}

TEST(ResponseParser, ArgumentsArriveAsTheyAreWritten) {
  ResponseFormat format;
  format.tool_calls = ToolCallShape::kTagged;
  ResponseParser parser(format);
  parser.feed("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\"");
  ASSERT_EQ(parser.response().tool_calls.size(), 1u);
  EXPECT_EQ(parser.response().tool_calls[0].arguments, "{\"a\"");
  const ResponseDelta delta = parser.feed(": 1}");
  ASSERT_EQ(delta.tool_calls.size(), 1u);
  EXPECT_EQ(delta.tool_calls[0].arguments, ": 1}");
  EXPECT_EQ(delta.tool_calls[0].name, "");
}

TEST(ResponseParser, TextsOfTaggedCallsArriveAsTheyAreWritten) {
  ResponseFormat format;
  format.tool_calls = ToolCallShape::kDsml;
  ResponseParser parser(format);
  parser.feed("<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\">one \"");
  ASSERT_EQ(parser.response().tool_calls.size(), 1u);
  EXPECT_EQ(parser.response().tool_calls[0].arguments, R"({"a": "one \")");
  const ResponseDelta delta = parser.feed("two\xC3");
  ASSERT_EQ(delta.tool_calls.size(), 1u);
  EXPECT_EQ(delta.tool_calls[0].arguments, "two");
}

TEST(ResponseParser, HoldsBackOnlyWhatMayBeAMarker) {
  ResponseFormat format;
  format.tool_calls = ToolCallShape::kTagged;
  ResponseParser parser(format);
  EXPECT_EQ(parser.feed("Hello <tool").content, "Hello");
  EXPECT_EQ(parser.feed("s> x").content, " <tools> x");
}

TEST(ResponseParser, SchemasTellTextFromNumbers) {
  const Json tools = Json::parse(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}}}])",
      "tools");
  ResponseFormat format;
  format.tool_calls = ToolCallShape::kTagged;
  const std::string text =
      "<tool_call><function=f><parameter=a>12</parameter><parameter=b>12</parameter></function></tool_call>";
  EXPECT_EQ(parse_response(text, format, &tools).tool_calls.at(0).arguments, "{\"a\": \"12\", \"b\": 12}");
  format.tool_calls = ToolCallShape::kArgKeys;
  const std::string glm =
      "<tool_call>f<arg_key>a</arg_key><arg_value>12</arg_value><arg_key>b</arg_key><arg_value>12</arg_value>"
      "</tool_call>";
  EXPECT_EQ(parse_response(glm, format, &tools).tool_calls.at(0).arguments, "{\"a\": \"12\", \"b\": 12}");
}

TEST(ResponseParser, TheTemplateTellsTheFormat) {
  const auto shape = [](std::string_view source) { return detect_response_format(source).tool_calls; };
  EXPECT_EQ(shape("... <tool_call> ..."), ToolCallShape::kTagged);
  EXPECT_EQ(shape("... [TOOL_CALLS] ..."), ToolCallShape::kMistral);
  EXPECT_EQ(shape("<|start|>assistant<|channel|>final"), ToolCallShape::kHarmony);
  EXPECT_EQ(shape("<｜tool▁calls▁begin｜>"), ToolCallShape::kDeepSeek);
  EXPECT_EQ(shape("<|python_tag|>"), ToolCallShape::kLlama3);
  EXPECT_EQ(shape("<tool_call>{name}<arg_key>"), ToolCallShape::kArgKeys);
  EXPECT_EQ(shape("{% set dsml_token = '｜DSML｜' %}"), ToolCallShape::kDsml);
  EXPECT_EQ(shape("<minimax:tool_call>"), ToolCallShape::kMiniMax);
  EXPECT_EQ(shape("<|tool_call_begin|>{{ id }}<|tool_call_argument_begin|>"), ToolCallShape::kKimi);
  EXPECT_EQ(shape("'<|tool_call>call:' + function['name']"), ToolCallShape::kGemma4);
  EXPECT_EQ(shape("'<|python_start|>' + \"parameters\": "), ToolCallShape::kLlama4);
  EXPECT_EQ(shape("<|tool_call_start|>"), ToolCallShape::kLfm2);
  EXPECT_EQ(shape("nothing"), ToolCallShape::kNone);
  EXPECT_EQ(detect_response_format("x.split('</think>')").reasoning_open, "<think>");
  EXPECT_FALSE(detect_response_format("</think>", "<|assistant|>").starts_in_reasoning);
  EXPECT_TRUE(detect_response_format("</think>", "<|assistant|><think>\n").starts_in_reasoning);
  EXPECT_FALSE(detect_response_format("</think>", "<think>\n\n</think>\n\n").starts_in_reasoning);
  EXPECT_TRUE(detect_response_format("</think>", "<think>\n\n</think>\n\n").is_reasoning_off);
  EXPECT_FALSE(detect_response_format("</think>", "<|assistant|><think>\n").is_reasoning_off);
  EXPECT_FALSE(detect_response_format("</think>", "</think>\n<|assistant|>").is_reasoning_off);
}

}  // namespace
}  // namespace wick
