#include "grammar/automaton/text_machine.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "grammar/automaton/frames.h"
#include "grammar/automaton/text_reader.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxStates = 20000;
constexpr size_t kMaxWork = 4'000'000;  // characters tried in machines

}  // namespace

std::vector<uint32_t> codepoints_of(std::string_view utf8) {
  std::vector<uint32_t> codepoints;
  for (TextReader reader(utf8, "text"); !reader.at_end();) codepoints.push_back(reader.take_codepoint());
  return codepoints;
}

bool TextMachine::matches(std::string_view utf8) {
  int state = start();
  for (const uint32_t codepoint : codepoints_of(utf8)) {
    if (state == kDead) return false;
    state = next(state, codepoint);
  }
  return state != kDead && accepts(state);
}

TextList::TextList(const std::vector<std::string_view>& texts) : nodes_(1) {
  for (const std::string_view text : texts) {
    size_t node = 0;
    for (const uint32_t codepoint : codepoints_of(text)) {
      const auto [child, is_new] = nodes_[node].children.try_emplace(codepoint, static_cast<int>(nodes_.size()));
      node = static_cast<size_t>(child->second);
      if (is_new) nodes_.emplace_back();
    }
    nodes_[node].is_end = true;
  }
}

int TextList::next(int state, uint32_t codepoint) {
  const auto& children = nodes_[static_cast<size_t>(state)].children;
  const auto found = children.find(codepoint);
  return found == children.end() ? kDead : found->second;
}

void TextList::add_interval_starts(int state, std::vector<uint32_t>& starts) {
  for (const auto& [codepoint, child] : nodes_[static_cast<size_t>(state)].children) {
    starts.push_back(codepoint);
    starts.push_back(codepoint + 1);
  }
}

size_t TextProduct::KeyHash::operator()(const Key& key) const {
  uint64_t hash = key.size();
  for (const int state : key) hash = mix_hash(hash, static_cast<uint32_t>(state));
  return hash;
}

bool TextProduct::is_over(size_t machine, int state) const {
  const auto [of, use] = machines_[machine];
  if (state == TextMachine::kDead) return use == Use::kWanted;
  return use == Use::kUnwanted && of->accepts_all(state);
}

int TextProduct::intern(Key key) {
  const auto [entry, is_new] = known_.try_emplace(std::move(key), static_cast<int>(keys_.size()));
  if (is_new) {
    if (keys_.size() >= kMaxStates) {
      throw Error(ErrorCode::kInvalidArgument, cat(place_, ": the patterns of this text are too large together"));
    }
    keys_.push_back(&entry->first);
    steps_.emplace_back();
  }
  return entry->second;
}

int TextProduct::start() {
  Key key;
  for (size_t i = 0; i < machines_.size(); ++i) {
    key.push_back(machines_[i].machine->start());
    if (is_over(i, key.back())) return TextMachine::kDead;
  }
  return intern(std::move(key));
}

const std::vector<TextProduct::Step>& TextProduct::steps(int state) {
  const auto at = static_cast<size_t>(state);
  if (steps_[at]) return *steps_[at];
  const Key& from = *keys_[at];
  std::vector<uint32_t> starts = {0};
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != TextMachine::kDead) machines_[i].machine->add_interval_starts(from[i], starts);
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  std::erase_if(starts, [](uint32_t start) { return start > kMaxCodepoint; });
  work_ += starts.size() * from.size();
  if (work_ > kMaxWork) {
    throw Error(ErrorCode::kInvalidArgument, cat(place_, ": the patterns of this text are too large together"));
  }
  std::vector<std::pair<int, std::vector<CodepointRange>>> targets;
  std::unordered_map<int, size_t> target_at;
  for (size_t i = 0; i < starts.size(); ++i) {
    Key next(from.size(), TextMachine::kDead);
    bool is_dead = false;
    for (size_t m = 0; m < from.size() && !is_dead; ++m) {
      if (from[m] != TextMachine::kDead) next[m] = machines_[m].machine->next(from[m], starts[i]);
      is_dead = is_over(m, next[m]);
    }
    if (is_dead) continue;
    const int target = intern(std::move(next));
    const auto [found, is_new] = target_at.try_emplace(target, targets.size());
    if (is_new) targets.push_back({target, {}});
    targets[found->second].second.push_back({starts[i], i + 1 < starts.size() ? starts[i + 1] - 1 : kMaxCodepoint});
  }
  std::vector<Step> steps;
  for (auto& [target, ranges] : targets) steps.push_back({CodepointSet(std::move(ranges)), target});
  return *(steps_[at] = std::move(steps));
}

bool TextProduct::accepts(int state, size_t machine) const {
  const int at = (*keys_[static_cast<size_t>(state)])[machine];
  return at != TextMachine::kDead && machines_[machine].machine->accepts(at);
}

}  // namespace wick::grammar
