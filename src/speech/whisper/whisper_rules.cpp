#include "speech/whisper/whisper_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr int32_t kLatestFirstTime = 50;  // 1 s

std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  EncodeOptions options;
  options.add_special = false;
  options.special = SpecialTokens::kAsText;
  const std::vector<int> ids = tokenizer.encode(text, options);
  return {ids.begin(), ids.end()};
}

// Signs that are not spoken: brackets, notes, marks that captions use. A hyphen and an apostrophe may stand inside
// words, but not begin one.
std::set<int32_t> unspoken(const Tokenizer& tokenizer) {
  constexpr std::string_view kSigns[] = {"\"",  "#",  "(",  ")",   "*",   "+",   "/",   ":",  ";",   "<",  "=",  ">",
                                         "@",   "[",  "\\", "]",   "^",   "_",   "`",   "{",  "|",   "}",  "~",  "「",
                                         "」",  "『", "』", "<<",  ">>",  "<<<", ">>>", "--", "---", "-(", "-[", "('",
                                         "(\"", "((", "))", "(((", ")))", "[[",  "]]",  "{{", "}}",  "♪♪", "♪♪♪"};
  constexpr std::string_view kNotes[] = {"♩", "♪", "♫", "♬", "♭", "♮", "♯"};
  std::set<int32_t> found;
  for (const std::string_view sign : {" -", " '"}) {
    if (const auto ids = encode(tokenizer, sign); !ids.empty()) found.insert(ids.front());
  }
  const auto add = [&](std::string_view sign, bool any_length) {
    for (const std::string& text : {std::string(sign), cat(" ", sign)}) {
      const auto ids = encode(tokenizer, text);
      if (!ids.empty() && (ids.size() == 1 || any_length)) found.insert(ids.front());
    }
  };
  for (const std::string_view sign : kSigns) add(sign, false);
  for (const std::string_view note : kNotes) add(note, true);
  return found;
}

// Empty when the settings have no such list.
std::vector<int32_t> listed(const Json& generation, std::string_view name, int64_t vocabulary) {
  const Json* list = generation.is_object() ? generation.find(name) : nullptr;
  if (!list || list->is_null()) return {};
  auto tokens = list->to<std::vector<int32_t>>();
  for (const int32_t token : tokens) {
    if (token >= 0 && token < vocabulary) continue;
    throw Error(ErrorCode::kBadFile, cat(list->place(), " names token ", token, ", but there are ", vocabulary));
  }
  return tokens;
}

void forbid(std::span<float> logits, int64_t begin, int64_t end) {
  if (begin < end) std::fill(logits.begin() + begin, logits.begin() + end, kNever);
}

}  // namespace

WhisperRules::WhisperRules(const WhisperTokens& tokens, const Tokenizer& tokenizer, int64_t vocabulary,
                           const Json& generation)
    : tokens_(tokens) {
  const std::vector<int32_t> given = listed(generation, "suppress_tokens", vocabulary);
  std::set<int32_t> never(given.begin(), given.end());
  if (given.empty()) never = unspoken(tokenizer);
  never.erase(tokens.end);
  for (const int32_t token : {tokens.start, tokens.translate, tokens.transcribe, tokens.start_of_lm.value_or(-1),
                              tokens.previous, tokens.no_speech, tokens.no_times}) {
    if (token >= 0) never.insert(token);
  }
  for (const WhisperTokens::Spoken& spoken : tokens.languages) never.insert(spoken.token);
  for (auto id = int64_t{tokens.first_time} + tokens.times; id < vocabulary; ++id) {
    never.insert(static_cast<int32_t>(id));
  }
  never_.assign(never.begin(), never.end());

  std::vector<int32_t> first = listed(generation, "begin_suppress_tokens", vocabulary);
  if (first.empty()) first = encode(tokenizer, " ");
  first.push_back(tokens.end);
  const std::set<int32_t> not_first(first.begin(), first.end());
  not_first_.assign(not_first.begin(), not_first.end());
}

void WhisperRules::apply(std::span<float> logits, std::span<const int32_t> generated, bool times) const {
  for (const int32_t token : never_) logits[static_cast<size_t>(token)] = kNever;
  const int64_t first = tokens_.first_time, last = first + tokens_.times;
  if (generated.empty()) {
    for (const int32_t token : not_first_) logits[static_cast<size_t>(token)] = kNever;
  }
  if (!times) return forbid(logits, first, last);
  if (generated.empty()) {
    forbid(logits, 0, first);
    forbid(logits, std::min(first + kLatestFirstTime + 1, last), last);
    return;
  }
  const size_t count = generated.size();
  const bool behind_time = tokens_.is_time(generated[count - 1]);
  const bool behind_two = count < 2 || tokens_.is_time(generated[count - 2]);
  if (behind_time && behind_two) forbid(logits, first, last);      // a segment has begun
  if (behind_time && !behind_two) forbid(logits, 0, tokens_.end);  // one has ended: another one, or the end
  for (size_t i = count; i-- > 0;) {
    if (!tokens_.is_time(generated[i])) continue;
    const bool ended = behind_time && !behind_two;
    forbid(logits, first, generated[i] + (ended ? 0 : 1));
    break;
  }
}

void WhisperRules::prefer_times(std::span<float> logprobs) const {
  const auto times = logprobs.subspan(static_cast<size_t>(tokens_.first_time), static_cast<size_t>(tokens_.times));
  const auto others = logprobs.first(static_cast<size_t>(tokens_.first_time));
  const float largest = *std::max_element(times.begin(), times.end());
  if (largest == kNever) return;
  double sum = 0;
  for (const float logprob : times) sum += std::exp(static_cast<double>(logprob - largest));
  const float all = largest + static_cast<float>(std::log(sum));
  if (!(all > *std::max_element(others.begin(), others.end()))) return;
  std::fill(others.begin(), others.end(), kNever);
  for (float& logprob : times) logprob -= all;
}

}  // namespace wick
