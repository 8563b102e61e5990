// Real chat templates with what Jinja2 made of them, where a folder of them is given (WICK_EXTRA_FIXTURES).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/response_parser.h"
#include "jinja/template.h"
#include "support/fixtures.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string file_text(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

jinja::RenderOptions at_fixed_time() {
  jinja::RenderOptions options;
  options.clock = [] { return jinja::LocalTime{2026, 3, 9, 14, 5, 7}; };
  return options;
}

TEST(TemplateCases, RealTemplatesRenderAsJinja2DoesIt) {
  int passed = 0, failed_as_told = 0;
  for (const fs::path& folder : fixture_folders("templates")) {
    const Json cases = Json::load(folder / "cases.json");
    for (const Json& item : cases.at("cases").as_array()) {
      const std::string name = item.at("template").as_text();
      SCOPED_TRACE(name + " " + item.at("conversation").as_text());
      const jinja::Value context(item.at("context"));
      const auto render = [&] {
        const auto source = jinja::Template::parse(file_text(folder / name), name);
        return source.render(context.as_dict(), at_fixed_time());
      };
      if (const Json* expected = item.find("expected")) {
        try {
          EXPECT_EQ(render(), expected->as_text());
          ++passed;
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      } else {
        try {
          ADD_FAILURE() << "rendered, expected " << item.at("error").as_text() << "\n" << render();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
          EXPECT_NE(std::string(error.what()).find(", line "), std::string::npos) << error.what();
          ++failed_as_told;
        }
      }
    }
  }
  if (passed == 0) GTEST_SKIP() << "no folder of templates is given";
  RecordProperty("rendered", passed);
  RecordProperty("failed_as_told", failed_as_told);
}

// The messages with the arguments of tool calls as JSON text, the way clients send them.
jinja::Value with_argument_texts(const Json& messages, std::string_view arguments) {
  std::vector<jinja::Value> result;
  for (const Json& item : messages.as_array()) {
    jinja::Dict message = jinja::Value(item).as_dict();
    if (const Json* calls = item.find("tool_calls")) {
      jinja::Dict call = jinja::Value(calls->as_array().at(0)).as_dict();
      jinja::Dict function = call.find(std::string_view("function"))->as_dict();
      function.set("arguments", arguments);
      call.set("function", std::move(function));
      message.set("tool_calls", jinja::Value::list({std::move(call)}));
    }
    result.emplace_back(std::move(message));
  }
  return jinja::Value::list(std::move(result));
}

TEST(TemplateCases, ArgumentsMayBeJsonText) {
  const std::string arguments = R"({"city": "Zürich", "days": 2})";
  int same = 0, text = 0;
  for (const fs::path& folder : fixture_folders("templates")) {
    const Json cases = Json::load(folder / "cases.json");
    for (const Json& item : cases.at("cases").as_array()) {
      if (item.at("conversation").as_text() != "toolturn") continue;
      const std::string name = item.at("template").as_text();
      SCOPED_TRACE(name);
      ChatInput input;
      for (const auto& [key, value] : item.at("context").as_object()) {
        if (key == "messages") {
          input.messages = with_argument_texts(value, arguments);
        } else {
          input.variables.set(key, jinja::Value(value));
        }
      }
      const Json* expected = item.find("expected");
      const bool wants_mapping = expected && expected->as_text().find("{'city'") == std::string::npos;
      try {
        const auto rendered = ChatTemplate::parse(file_text(folder / name)).render(input, at_fixed_time());
        if (wants_mapping) {
          EXPECT_EQ(rendered, expected->as_text());
          ++same;
        } else {
          EXPECT_NE(rendered.find(arguments), std::string::npos) << rendered;
          ++text;
        }
      } catch (const Error& error) {
        EXPECT_FALSE(expected) << error.what();
      }
    }
  }
  if (same == 0) GTEST_SKIP() << "no folder of templates is given";
  RecordProperty("same", same);
  RecordProperty("text", text);
}

TEST(TemplateCases, RealTemplatesTellHowTheirModelsAnswer) {
  using S = ToolCallShape;
  const std::pair<const char*, S> expected[] = {
      {"Qwen-Qwen3-0.6B.jinja", S::kTagged},
      {"Qwen3-Coder.jinja", S::kTagged},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja", S::kTagged},
      {"meta-llama-Llama-3.1-8B-Instruct.jinja", S::kLlama3},
      {"meta-llama-Llama-3.2-3B-Instruct.jinja", S::kLlama3},
      {"mistralai-Mistral-Nemo-Instruct-2407.jinja", S::kMistral},
      {"unsloth-mistral-Devstral-Small-2507.jinja", S::kMistral},
      {"deepseek-ai-DeepSeek-V3.1.jinja", S::kDeepSeek},
      {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja", S::kDeepSeek},
      {"openai-gpt-oss-120b.jinja", S::kHarmony},
      {"GLM-4.7-Flash.jinja", S::kArgKeys},
      {"poolside-Laguna-XS-2.1.jinja", S::kArgKeys},
      {"deepseek-ai-DeepSeek-V4-Flash-0731.jinja", S::kDsml},
      {"MiniMax-M2.jinja", S::kMiniMax},
      {"google-gemma-2-2b-it.jinja", S::kNone},
  };
  int found = 0;
  for (const fs::path& folder : fixture_folders("templates")) {
    for (const auto& [name, shape] : expected) {
      if (!fs::exists(folder / name)) continue;
      EXPECT_EQ(detect_response_format(file_text(folder / name)).tool_calls, shape) << name;
      ++found;
    }
  }
  if (found == 0) GTEST_SKIP() << "no folder of templates is given";
}

}  // namespace
}  // namespace wick
