#include "formats/pre_tokenizer.h"

#include <array>

#include "base/error.h"
#include "base/utf8.h"

namespace wick {
namespace {

// The steps of a pre-tokenizer as one text: a pattern per line, or the name of a built-in step.
constexpr std::string_view kDigits = "Digits";  // each by itself

// Patterns as tokenizer.json files spell them.
constexpr std::string_view kGpt2 = R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kGpt4 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kQwen2 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kQwen35 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kGpt4o =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kTekken =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kBloom = R"re( ?[^(\s|[.,!?…。，、।۔،])]+)re";
constexpr std::string_view kSeed =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kDeepseek3 =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";

struct Named {
  std::string_view name;
  std::array<std::string_view, 4> steps;  // empty ones at the end do not count
  int ignore_merges = -1;                 // the name implies this; -1: either
};
constexpr Named kNames[] = {
    {"gpt-2", {kGpt2}},
    {"smollm", {kDigits, kGpt2}},
    {"llama-bpe", {kGpt4}, 1},
    {"dbrx", {kGpt4}, 0},
    {"qwen2", {kQwen2}, 0},
    {"qwen35", {kQwen35}, 0},
    {"gpt-4o", {kGpt4o}, 0},
    {"tekken", {kTekken}, 1},
    {"bloom", {kBloom}},
    {"seed-coder", {kSeed}},
    {"falcon", {"Punctuation", kGpt2, "Digits together", "[0-9][0-9][0-9]"}},
    {"deepseek-v3", {R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+", kDeepseek3}},
};

// Patterns with line breaks spelled as themselves, as some files have them, mean the same as with escapes.
std::string with_escapes(std::string_view pattern) {
  std::string out;
  for (const char c : pattern) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out;
}

std::string pattern_of(const Json& split) {
  const Json& pattern = split.at("pattern");
  if (const Json* regex = pattern.find("Regex")) return with_escapes(regex->as_text());
  return cat("the text ", in_quotes(pattern.at("String").as_text()));
}

void add_steps(const Json& step, std::vector<std::string>& steps) {
  if (step.is_null()) return;
  const std::string& type = step.at("type").as_text();
  if (type == "Sequence") {
    for (const Json& part : step.at("pretokenizers").as_array()) add_steps(part, steps);
  } else if (type == "Split") {
    steps.push_back(pattern_of(step));
  } else if (type == "ByteLevel") {
    if (step.get("add_prefix_space", false)) steps.emplace_back("a space in front");
    if (step.get("use_regex", true)) steps.emplace_back(kGpt2);
  } else if (type == "Digits") {
    steps.push_back(step.get("individual_digits", false) ? std::string(kDigits) : "Digits together");
  } else {
    steps.push_back(type);
  }
}

bool fits(const Named& row, const std::vector<std::string>& steps, bool ignore_merges) {
  for (size_t i = 0; i < row.steps.size(); ++i) {
    const std::string_view step = i < steps.size() ? std::string_view(steps[i]) : std::string_view();
    if (row.steps[i] != step) return false;
  }
  return steps.size() <= row.steps.size() && (row.ignore_merges < 0 || (row.ignore_merges == 1) == ignore_merges);
}

// True when a step of this type, alone or inside a sequence, satisfies the test.
template <typename Test>
bool any_step(const Json& step, std::string_view list, std::string_view type, const Test& test) {
  if (!step.is_object()) return false;
  if (step.at("type").as_text() == type) return test(step);
  const Json* parts = step.find(list);
  if (!parts) return false;
  for (const Json& part : parts->as_array()) {
    if (any_step(part, list, type, test)) return true;
  }
  return false;
}

}  // namespace

std::string_view gguf_pre_tokenizer(const TokenizerJson& tokenizer) {
  std::vector<std::string> steps;
  add_steps(tokenizer.pre_tokenizer, steps);
  for (const Named& row : kNames) {
    if (fits(row, steps, tokenizer.ignore_merges)) return row.name;
  }
  std::string shown;
  for (const std::string& step : steps) shown += cat(shown.empty() ? "" : ", then ", in_quotes(step));
  throw Error(ErrorCode::kUnsupported,
              cat("the tokenizer cuts words by ", shown.empty() ? "nothing" : shown,
                  tokenizer.ignore_merges ? " (with ignore_merges)" : "", ", which GGUF has no name for"));
}

bool adds_space_prefix(const TokenizerJson& tokenizer) {
  const auto prepends = [](const Json& step) { return step.get("prepend", "") == "\u2581"; };
  const auto scheme = [](const Json& step) {
    return step.get("prepend_scheme", step.get("add_prefix_space", true) ? "always" : "never") != "never";
  };
  return any_step(tokenizer.normalizer, "normalizers", "Prepend", prepends) ||
         any_step(tokenizer.pre_tokenizer, "pretokenizers", "Metaspace", scheme);
}

}  // namespace wick
