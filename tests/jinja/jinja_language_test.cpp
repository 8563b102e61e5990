// The template language feature by feature; expectations come from Jinja2 (tests/fixtures/jinja/make_cases.py).
#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "jinja/template.h"
#include "support/fixtures.h"

namespace wick {
namespace {

jinja::RenderOptions at_fixed_time() {
  jinja::RenderOptions options;
  options.clock = [] { return jinja::LocalTime{2026, 3, 9, 14, 5, 7}; };
  return options;
}

TEST(JinjaLanguage, EveryFeatureRendersAsJinja2DoesIt) {
  std::map<std::string, int> passed;
  for (const auto& folder : fixture_folders("jinja")) {
    const Json file = Json::load(folder / "cases.json");
    const jinja::Value context(file.at("context"));
    for (const Json& item : file.at("cases").as_array()) {
      const std::string feature = item.at("feature").as_text(), source = item.at("source").as_text();
      SCOPED_TRACE(feature + ": " + source);
      try {
        const std::string text = jinja::Template::parse(source).render(context.as_dict(), at_fixed_time());
        if (const Json* expected = item.find("expected")) {
          EXPECT_EQ(text, expected->as_text());
        } else {
          ADD_FAILURE() << "rendered '" << text << "', expected " << item.at("error").as_text();
        }
      } catch (const Error& error) {
        if (item.find("expected")) ADD_FAILURE() << error.what();
        EXPECT_NE(std::string(error.what()).find("template, line "), std::string::npos) << error.what();
        const bool is_syntax = error.code() == ErrorCode::kBadFile;
        EXPECT_TRUE(is_syntax || error.code() == ErrorCode::kInvalidArgument);
        EXPECT_TRUE(is_syntax || feature != "syntax errors") << error.what();
      }
      ++passed[feature];
    }
  }
  EXPECT_GE(passed.size(), 16u);
}

}  // namespace
}  // namespace wick
