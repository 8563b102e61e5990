// Real chat templates with what Jinja2 made of them, where a folder of them is given (WICK_EXTRA_FIXTURES).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "support/fixtures.h"
#include "text/jinja/template.h"

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

}  // namespace
}  // namespace wick
