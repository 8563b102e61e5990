#include "grammar/schema/text_rules.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxStates = 40000;

ExprId list_from(const std::vector<std::string>& texts, size_t begin, size_t end, size_t at, RuleSet& rules) {
  // What all of them go on with.
  size_t stop = at;
  while (stop < texts[begin].size() && stop < texts[end - 1].size() && texts[begin][stop] == texts[end - 1][stop])
    ++stop;
  std::vector<ExprId> options;
  size_t next = begin;
  if (texts[begin].size() == stop) {
    options.push_back(rules.empty());
    ++next;
  }
  while (next < end) {
    size_t last = next;
    while (last < end && texts[last][stop] == texts[next][stop]) ++last;
    options.push_back(list_from(texts, next, last, stop, rules));
    next = last;
  }
  return rules.sequence(
      {rules.bytes(std::string_view(texts[begin]).substr(at, stop - at)), rules.choice(std::move(options))});
}

}  // namespace

ExprId compile_product(TextProduct& product, const Count& length, const std::string& place, RuleSet& rules,
                       const std::function<ExprId(const CodepointSet&)>& chars,
                       const std::function<ExprId(int state)>& finish) {
  const int start = product.start();
  if (start == TextMachine::kDead) return rules.never();
  // How many characters have been read matters up to the least, or the most when there is one.
  using Key = std::pair<int, int64_t>;
  std::map<Key, uint32_t> known;
  std::vector<Key> open;
  ExprGraph graph;
  const auto state_of = [&](const Key& key) {
    const auto [entry, is_new] = known.try_emplace(key, static_cast<uint32_t>(graph.states.size()));
    if (is_new) {
      if (known.size() > kMaxStates) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat(place, ": the patterns and lengths of this text are too large together"));
      }
      graph.states.emplace_back();
      open.push_back(key);
    }
    return entry->second;
  };
  std::vector<std::vector<ExprId>> written;  // the characters of each state's steps
  state_of({start, 0});
  for (size_t at = 0; at < open.size(); ++at) {
    const Key key = open[at];
    const auto state = static_cast<size_t>(key.first);
    if (key.second >= length.min) graph.states[at].end = finish(key.first);
    if (length.max && key.second >= *length.max) continue;
    const auto& steps = product.steps(key.first);
    if (written.size() <= state) written.resize(state + 1);
    if (written[state].empty()) {
      for (const auto& step : steps) written[state].push_back(chars(step.chars));
    }
    const int64_t count = length.max ? key.second + 1 : std::min(key.second + 1, length.min);
    for (size_t i = 0; i < steps.size(); ++i) {
      const uint32_t target = state_of({steps[i].target, count});
      graph.states[at].steps.push_back({written[state][i], target});
    }
  }
  return rules.graph(std::move(graph));
}

ExprId compile_list(std::vector<std::string> texts, RuleSet& rules) {
  if (texts.empty()) return rules.never();
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return list_from(texts, 0, texts.size(), 0, rules);
}

}  // namespace wick::grammar
