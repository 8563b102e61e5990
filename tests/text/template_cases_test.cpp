// Real chat templates with what Jinja2 made of them, where a folder of them is given (WICK_EXTRA_FIXTURES).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/jinja/template.h"
#include "text/response_parser.h"

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
