// A hostile template ends in an error, soon and in little memory.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "fuzz/template_harness.h"
#include "support/hostile_templates.h"
#include "text/jinja/template.h"

namespace wick {
namespace {

TEST(HostileTemplates, EachEndsInASentence) {
  jinja::RenderOptions options;
  options.limits.work = 5'000'000;
  for (const HostileTemplate& item : hostile_templates()) {
    SCOPED_TRACE(item.what);
    const auto start = std::chrono::steady_clock::now();
    try {
      jinja::Template::parse(item.source).render({}, options);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with("template, line ") || message.starts_with("template: ")) << message;
      EXPECT_LT(message.size(), 400u) << message;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 30) << "with sanitizers; far less without";
  }
}

// What real conversations need stays far below the limits.
TEST(HostileTemplates, LimitsLeaveRoomForLongConversations) {
  jinja::Dict variables;
  std::vector<jinja::Value> messages;
  for (int i = 0; i < 2000; ++i) {
    jinja::Dict message;
    message.set("role", i % 2 ? "assistant" : "user");
    message.set("content", std::string(400, 'x'));
    messages.emplace_back(std::move(message));
  }
  variables.set("messages", jinja::Value::list(std::move(messages)));
  const auto chat = jinja::Template::parse(
      "{% set ns = namespace(out='') %}{% for m in messages %}{% set ns.out = ns.out + m.role + m.content|trim %}"
      "{% endfor %}{{ ns.out }}");
  EXPECT_EQ(chat.render(variables).size(), 2000u * 400 + 1000 * 4 + 1000 * 9);
}

// A short fixed run of what the fuzzer does at length. The harness aborts on a finding.
TEST(HostileTemplates, SurvivesMutations) {
  std::vector<std::string> seeds;
  for (const HostileTemplate& item : hostile_templates()) {
    if (item.source.size() < 2000) seeds.push_back(item.source);
  }
  for (const std::string& seed : template_seeds()) seeds.push_back(seed);
  std::mt19937 random(3);
  for (const std::string& seed : seeds) {
    for (int trial = 0; trial < 30; ++trial) {
      std::string source = seed;
      for (unsigned change = 0; change <= random() % 4 && !source.empty(); ++change) {
        const std::string& other = seeds[random() % seeds.size()];
        const size_t at = random() % source.size();
        switch (random() % 4) {
          case 0: source[at] = static_cast<char>(random() % 96 + 32); break;
          case 1: source.erase(at, random() % 12); break;
          case 2: source.insert(at, other.substr(random() % other.size(), random() % 24)); break;
          default: source.insert(at, source.substr(random() % source.size(), random() % 16));
        }
      }
      fuzz_template(source);
    }
  }
}

}  // namespace
}  // namespace wick
