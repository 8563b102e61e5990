// Presets of the config file behind `wick serve`.
#include <gtest/gtest.h>

#include <fstream>

#include "support/needs_ember.h"
#include "support/serve_process.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

// Ember answers by the settings of the preset, and under its own name without them.
TEST(ServedPresets, SayWhatRequestsDoNot) {
  WICK_NEEDS_EMBER();
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "wick");
  std::ofstream(folder.path() / "wick" / "config.toml")
      << "[presets.short]\ntemperature = 0\nmax-tokens = 3\nrepeat-penalty = 1.0\nlogit-bias = [\"5=-1\"]\n"
         "[presets.small]\ncontext = 256\ntemperature = 0\nsystem = \"You are kind.\"\n";
  const ServeProcess server(folder.path(), {"ember", "short", "own=small"},
                            {cat("XDG_CONFIG_HOME=", folder.path().string())});
  const auto ask = [&](std::string_view model, std::string_view more = {}, std::string_view first = {}) {
    const OrderedJson answer = server.json("POST", "/v1/chat/completions",
                                           cat(R"({"model": ")", model, R"(", "messages": [)", first,
                                               R"({"role": "user", "content": "Who are you?"}])", more, "}"));
    return std::pair(answer["choices"][0]["message"]["content"].get<std::string>(),
                     answer["usage"]["prompt_tokens"].get<int64_t>());
  };
  EXPECT_EQ(ask("short").first, "I am Ember");
  EXPECT_EQ(ask("short", R"(, "max_tokens": 2)").first, "I am");
  const auto [text, tokens] = ask("ember", R"(, "temperature": 0)");
  EXPECT_TRUE(text.starts_with("I am Ember, ")) << text;
  // A system message, unless the conversation has one.
  constexpr char kSystem[] = R"({"role": "system", "content": "You are kind."}, )";
  const auto kind = ask("ember", R"(, "temperature": 0)", kSystem);
  EXPECT_GT(kind.second, tokens);
  EXPECT_EQ(ask("own"), kind);
  EXPECT_EQ(ask("own", {}, kSystem), kind);
  const OrderedJson counted = server.json(
      "POST", "/tokenize", R"({"model": "own", "messages": [{"role": "user", "content": "Who are you?"}]})");
  EXPECT_EQ(counted["count"], kind.second);

  std::map<std::string, OrderedJson> models;
  const OrderedJson list = server.json("GET", "/v1/models");
  for (const OrderedJson& model : list["data"]) models[model["id"].get<std::string>()] = model;
  EXPECT_EQ(models["short"]["context"], 4096);  // the model it shares
  EXPECT_EQ(models["own"]["context"], 256);
}

}  // namespace
}  // namespace wick
