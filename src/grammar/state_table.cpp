#include "grammar/state_table.h"

#include <algorithm>
#include <bitset>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxItems = 50000;
constexpr size_t kMaxSteps = 20000;  // returns looked at for one state
constexpr size_t kFewItems = 24;
constexpr uint32_t kNoMark = UINT32_MAX;

}  // namespace

StateTable::StateTable(const Automaton& automaton) : automaton_(automaton) {
  const size_t classes = automaton_.class_byte.size();
  dead_.next = std::make_unique<std::atomic<State*>[]>(classes);
  for (size_t i = 0; i < classes; ++i) dead_.next[i] = &dead_;
  complete_ = automaton_.matches_empty;
  pushes_.push_back({automaton_.rule_rank[automaton_.root], automaton_.root, {0, FrameTable::kOutermost}, true});
  follow_calls();
  merge_positions();
  start_ = intern(items_, complete_);
}

bool StateTable::add(Item item) {
  if (items_.size() < kFewItems) {
    if (std::find(items_.begin(), items_.end(), item) != items_.end()) return false;
  } else {
    const auto key = [](const Item& of) { return uint64_t{of.position} << 32 | of.frame; };
    if (seen_.empty()) {
      for (const Item& known : items_) seen_.insert(key(known));
    }
    if (!seen_.insert(key(item)).second) return false;
    if (items_.size() >= kMaxItems) {
      throw Error(ErrorCode::kUnsupported, cat("grammar: too ambiguous: more than ", kMaxItems, " ways to go on"));
    }
  }
  items_.push_back(item);
  return true;
}

State* StateTable::compute_next(State& state, uint8_t byte_class) {
  const uint8_t byte = automaton_.class_byte[byte_class];
  items_.clear();
  seen_.clear();
  for (const Item& item : state.items) {
    for (const ByteEdge& edge : automaton_.edges_of(automaton_.positions[item.position])) {
      if (edge.bytes.first <= byte && byte <= edge.bytes.last) add({edge.target, item.frame});
    }
  }
  State* next = items_.empty() ? &dead_ : close();
  state.next[byte_class].store(next, std::memory_order_release);
  return next;
}

State* StateTable::close() {
  complete_ = false;
  steps_ = 0;
  pushes_.clear();
  follow_returns();
  for (const Item& item : items_) push_calls(item);
  follow_calls();
  merge_positions();
  if (items_.empty() && !complete_) return &dead_;
  return intern(items_, complete_);
}

void StateTable::count_steps(size_t steps) {
  steps_ += steps;
  if (steps_ > kMaxSteps) {
    throw Error(ErrorCode::kUnsupported, cat("grammar: too ambiguous: more than ", kMaxSteps, " steps for one byte"));
  }
}

void StateTable::follow_returns() {
  for (size_t at = 0; at < items_.size();) {  // add() appends to them
    const Item item = items_[at++];
    const Position& position = automaton_.positions[item.position];
    const Frame& frame = frames_[item.frame];
    if (!position.can_end) continue;
    if (position.needs != kNoMark && !has_marks(frame.marks, automaton_.mark_sets[position.needs])) continue;
    complete_ |= frame.is_outermost;
    count_steps(frame.returns.size());
    for (const ReturnTo& to : frame.returns) add({to.position, to.frame});
  }
}

namespace {

// The lowest rank on top of the heap.
constexpr auto kByRank = [](const auto& a, const auto& b) { return a.rank > b.rank; };

}  // namespace

void StateTable::push_calls(const Item& item) {
  for (const CallEdge& call : automaton_.calls_of(automaton_.positions[item.position])) {
    if (!call.is_tail && frames_[item.frame].depth >= kMaxDepth) continue;
    FrameId frame = item.frame;
    if (call.marks != kNoMark) {
      const MarkSet& marks = automaton_.mark_sets[call.marks];
      if (share_marks(frames_[frame].marks, marks)) continue;
      frame = frames_.with_marks(frame, marks);
    }
    pushes_.push_back({automaton_.rule_rank[call.rule], call.rule, {call.return_to, frame}, call.is_tail});
    std::push_heap(pushes_.begin(), pushes_.end(), kByRank);
  }
}

// All calls of a rule at this place in the text share one frame. Ranks make sure that they are all known by then.
void StateTable::follow_calls() {
  while (!pushes_.empty()) {
    const uint32_t rule = pushes_.front().rule;
    returns_.clear();
    bool is_outermost = false;
    std::optional<FrameId> only;  // a frame that is passed on as it is
    for (bool is_first = true; !pushes_.empty() && pushes_.front().rule == rule; is_first = false) {
      const Push push = pushes_.front();
      std::pop_heap(pushes_.begin(), pushes_.end(), kByRank);
      pushes_.pop_back();
      only.reset();
      if (push.is_tail) {
        const Frame& caller = frames_[push.to.frame];
        if (is_first && caller.marks.empty()) only = push.to.frame;
        is_outermost |= caller.is_outermost;
        count_steps(caller.returns.size());
        returns_.insert(returns_.end(), caller.returns.begin(), caller.returns.end());
      } else {
        returns_.push_back(push.to);
      }
    }
    const Item entry{automaton_.rule_start[rule], only ? *only : frames_.intern(is_outermost, returns_)};
    if (add(entry)) push_calls(entry);
  }
}

void StateTable::merge_positions() {
  std::erase_if(items_, [&](const Item& item) {
    const Position& position = automaton_.positions[item.position];
    return position.edges_begin == position.edges_end;
  });
  std::sort(items_.begin(), items_.end());
  size_t kept = 0;
  for (const Item& item : items_) {
    size_t same = kept;  // the item of this position and these marks
    while (same > 0 && items_[same - 1].position == item.position &&
           frames_[items_[same - 1].frame].marks != frames_[item.frame].marks) {
      --same;
    }
    count_steps(kept - same);
    if (same > 0 && items_[same - 1].position == item.position) {
      count_steps(frames_[item.frame].returns.size() + frames_[items_[same - 1].frame].returns.size());
      items_[same - 1].frame = frames_.unite(items_[same - 1].frame, item.frame);
    } else {
      items_[kept++] = item;
    }
  }
  items_.resize(kept);
  std::sort(items_.begin(), items_.end());
}

State* StateTable::intern(std::vector<Item> items, bool is_complete) {
  uint64_t hash = is_complete;
  for (const Item& item : items) hash = mix_hash(hash, uint64_t{item.position} << 32 | item.frame);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    if (found->second->is_complete == is_complete && found->second->items == items) return found->second;
  }
  State& state = states_.emplace_back();
  const size_t classes = automaton_.class_byte.size();
  bytes_ += sizeof(State) + 64 + items.size() * sizeof(Item) + classes * sizeof(state.next[0]);
  state.items = std::move(items);
  state.is_complete = is_complete;
  state.next = std::make_unique<std::atomic<State*>[]>(classes);
  by_hash_.emplace(hash, &state);
  return &state;
}

void StateTable::targets_of(const State& state, uint8_t byte, std::vector<Item>& targets) const {
  targets.clear();
  for (const Item& item : state.items) {
    for (const ByteEdge& edge : automaton_.edges_of(automaton_.positions[item.position])) {
      if (edge.bytes.first <= byte && byte <= edge.bytes.last) targets.push_back({edge.target, item.frame});
    }
  }
}

// Bytes with the same targets lead to the same state, so that most of the next states need not be made.
const Run& StateTable::run(State& state) {
  if (state.run) return *state.run;
  struct Group {
    std::vector<Item> targets;
    std::bitset<128> bytes;
  };
  std::vector<Group> groups;
  std::vector<Item> targets;
  for (int byte = 0, end = 0; byte < 128; byte = end) {
    for (end = byte + 1; end < 128 && automaton_.byte_class[end] == automaton_.byte_class[byte];) ++end;
    targets_of(state, static_cast<uint8_t>(byte), targets);
    if (targets.empty()) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.targets == targets; });
    if (group == groups.end()) group = groups.insert(group, {targets, {}});
    for (int i = byte; i < end; ++i) group->bytes.set(static_cast<size_t>(i));
  }
  state.run = std::make_unique<Run>();
  bytes_ += sizeof(Run);
  const auto most = std::max_element(groups.begin(), groups.end(),
                                     [](const Group& a, const Group& b) { return a.bytes.count() < b.bytes.count(); });
  if (most == groups.end()) return *state.run;
  uint8_t byte = 0;
  while (!most->bytes[byte]) ++byte;
  State* target = next(state, byte);
  if (target == &dead_) return *state.run;
  state.run->next = target;
  state.run->characters.ascii = most->bytes;
  if (most->targets.size() == 1) {
    // Of the items one alone reads what lies beyond ASCII, and ends where it does with ASCII.
    size_t readers = 0;
    for (const Item& item : state.items) {
      const auto edges = automaton_.edges_of(automaton_.positions[item.position]);
      if (std::none_of(edges.begin(), edges.end(), [](const ByteEdge& edge) { return edge.bytes.last >= 0x80; }))
        continue;
      ++readers;
      state.run->characters.other = Item{target_beyond_ascii(item.position), item.frame} == most->targets[0];
    }
    state.run->characters.other &= readers == 1;
  }
  return *state.run;
}

uint32_t StateTable::run_length(State& state, uint32_t count) {
  run(state);
  Run& wanted = *state.run;
  if (wanted.length >= count || wanted.is_length) return wanted.length;
  State* at = &state;
  for (wanted.length = 0; wanted.length < count; ++wanted.length) {
    const Run& here = run(*at);
    const auto& [ascii, other] = here.characters;
    wanted.is_length = !here.next || (wanted.characters.other && !other) || (wanted.characters.ascii & ~ascii).any();
    if (wanted.is_length) break;
    if (here.next == at) {
      wanted.length = Run::kEndless;
      wanted.is_length = true;
      break;
    }
    at = here.next;
  }
  return wanted.length;
}

bool StateTable::reads_any(State& state, const RunCharacters& characters) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_one = byte < 128 ? characters.ascii[static_cast<size_t>(byte)] : characters.other;
    if (is_one && next(state, static_cast<uint8_t>(byte)) != &dead_) return true;
  }
  return false;
}

// The position that every character beyond ASCII leads to from here, if that is one and the same and lies in the same
// rule; else kNoTarget.
uint32_t StateTable::target_beyond_ascii(uint32_t position) {
  constexpr uint32_t kUnknown = UINT32_MAX, kNoTarget = UINT32_MAX - 1;
  static const std::vector<Utf8Sequence> kBeyondAscii = utf8_sequences(CodepointSet({{0x80, kMaxCodepoint}}));
  if (beyond_ascii_.empty()) beyond_ascii_.assign(automaton_.positions.size(), kUnknown);
  uint32_t& result = beyond_ascii_[position];
  if (result != kUnknown) return result;
  result = kNoTarget;
  uint32_t common = kUnknown;
  std::vector<uint32_t> from, to;
  for (const Utf8Sequence& sequence : kBeyondAscii) {
    from = {position};
    for (int i = 0; i < sequence.length; ++i) {
      to.clear();
      for (const uint32_t at : from) {
        const Position& place = automaton_.positions[at];
        if (i > 0 && (place.can_end || place.calls_begin != place.calls_end)) return result;
        for (int byte = sequence.bytes[i].first; byte <= sequence.bytes[i].last; ++byte) {
          bool is_read = false;
          for (const ByteEdge& edge : automaton_.edges_of(place)) {
            if (edge.bytes.first > byte || byte > edge.bytes.last) continue;
            is_read = true;
            if (std::find(to.begin(), to.end(), edge.target) == to.end()) to.push_back(edge.target);
          }
          if (!is_read) return result;
        }
      }
      std::swap(from, to);
    }
    if (from.size() != 1 || (common != kUnknown && from[0] != common)) return result;
    common = from[0];
  }
  return result = common;
}

Snapshot StateTable::save(const State& state) const {
  Snapshot snapshot{.items = state.items, .is_complete = state.is_complete};
  std::unordered_set<FrameId> seen;
  std::vector<FrameId> work;
  const auto visit = [&](FrameId id) {
    if (!seen.insert(id).second) return;
    work.push_back(id);
    snapshot.frames.emplace_back(id, frames_[id]);
  };
  for (const Item& item : state.items) visit(item.frame);
  while (!work.empty()) {
    const FrameId id = work.back();
    work.pop_back();
    for (const ReturnTo& to : frames_[id].returns) visit(to.frame);
  }
  // A frame is made after those it returns to.
  std::sort(snapshot.frames.begin(), snapshot.frames.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return snapshot;
}

State* StateTable::restore(const Snapshot& snapshot) {
  std::unordered_map<FrameId, FrameId> moved;
  for (const auto& [id, frame] : snapshot.frames) {
    std::vector<ReturnTo> returns = frame.returns;
    for (ReturnTo& to : returns) to.frame = moved.at(to.frame);
    moved[id] = frames_.intern(frame.is_outermost, returns, frame.marks);
  }
  std::vector<Item> items = snapshot.items;
  for (Item& item : items) item.frame = moved.at(item.frame);
  return intern(std::move(items), snapshot.is_complete);
}

}  // namespace wick::grammar
