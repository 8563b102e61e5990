// A hostile template ends in an error, soon and in little memory.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "fuzz/template_harness.h"
#include "jinja/template.h"
#include "support/hostile_templates.h"
#include "support/sanitized.h"

namespace wick {
namespace {

TEST(HostileTemplates, EachEndsInASentence) {
  jinja::RenderOptions options;
  options.limits.work = 5'000'000;
  for (const HostileTemplate& item : hostile_templates()) {
    SCOPED_TRACE(item.what);
    const std::clock_t start = std::clock();  // of the CPU: the machine may be busy
    try {
      jinja::Template::parse(item.source).render({}, options);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with("template, line ") || message.starts_with("template: ")) << message;
      EXPECT_LT(message.size(), 400u) << message;
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 5 * kSlowness);
  }
}

// What real conversations need stays far below the limits, also when the prompt is put together piece by piece.
TEST(HostileTemplates, LimitsLeaveRoomForLongConversations) {
  jinja::Dict variables;
  std::vector<jinja::Value> messages;
  std::string expected;
  for (int i = 0; i < 20000; ++i) {
    jinja::Dict message;
    const std::string role = i % 2 ? "assistant" : "user", content = std::string(190, 'x') + "é" + std::to_string(i);
    message.set("role", role);
    message.set("content", content + " ");
    messages.emplace_back(std::move(message));
    expected += role + content;
  }
  variables.set("messages", jinja::Value::list(std::move(messages)));
  for (const char* source :
       {"{% set ns = namespace(out='') %}{% for m in messages %}{% set ns.out = ns.out + m.role + m.content|trim %}"
        "{% endfor %}{{ ns.out }}",
        "{% set ns = namespace(out='') %}{% for m in messages %}{% set ns.out = ns.out ~ m.role ~ m.content|trim %}"
        "{% endfor %}{{ ns.out }}",
        "{% set ns = namespace(out=[]) %}{% for m in messages %}{% set ns.out = ns.out + [m.role, m.content|trim] %}"
        "{% endfor %}{{ ns.out|join }}"}) {
    EXPECT_EQ(jinja::Template::parse(source).render(variables), expected) << source;
  }
}

// A text or list that grows in place leaves those it grew from as they were.
TEST(HostileTemplates, GrowingValuesAreNotSeenThroughOlderOnes) {
  const auto render = [](const char* source) { return jinja::Template::parse(source).render({}); };
  EXPECT_EQ(render("{% set a = 'x' * 600 + 'é' %}{% set b = a + 'bé' %}{% set c = a + 'c' %}{% set d = b + b %}"
                   "{{ a[-2:] }} {{ b[-3:] }} {{ c[-2:] }} {{ a|length }} {{ b|length }} {{ c|length }} {{ d|length }} "
                   "{{ d[600:605] }} {{ a == c[:-1] }} {{ b.endswith('xébé') }}"),
            "xé ébé éc 601 603 602 1206 ébéxx True True");
  EXPECT_EQ(render("{% set a = [0] * 20 + [1] %}{% set b = a + [2] %}{% set c = a + [3] %}{% set d = b + b %}"
                   "{{ a[19:] }} {{ b[19:] }} {{ c[19:] }} {{ d[19:23] }} {{ d|length }} {{ (a + [[a]])[20:21] }}"),
            "[0, 1] [0, 1, 2] [0, 1, 3] [0, 1, 2, 0] 44 [1]");
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
    for (int trial = 0; trial < 15; ++trial) {
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
