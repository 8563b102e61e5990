#include "text/grammar/state_table.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxItems = 50000;
constexpr size_t kFewItems = 24;

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
  pushes_.clear();
  follow_returns();
  const size_t count = items_.size();
  for (size_t i = 0; i < count; ++i) push_calls(items_[i]);
  follow_calls();
  merge_positions();
  if (items_.empty() && !complete_) return &dead_;
  return intern(items_, complete_);
}

void StateTable::follow_returns() {
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item item = items_[i];
    if (!automaton_.positions[item.position].can_end) continue;
    const Frame& frame = frames_[item.frame];
    complete_ |= frame.is_outermost;
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
    pushes_.push_back({automaton_.rule_rank[call.rule], call.rule, {call.return_to, item.frame}, call.is_tail});
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
        if (is_first) only = push.to.frame;
        const Frame& caller = frames_[push.to.frame];
        is_outermost |= caller.is_outermost;
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
    if (kept > 0 && items_[kept - 1].position == item.position) {
      items_[kept - 1].frame = frames_.unite(items_[kept - 1].frame, item.frame);
    } else {
      items_[kept++] = item;
    }
  }
  items_.resize(kept);
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
  bytes_ += sizeof(State) + 64 + items.size() * sizeof(Item) + classes * sizeof(State*);
  state.items = std::move(items);
  state.is_complete = is_complete;
  state.next = std::make_unique<std::atomic<State*>[]>(classes);
  by_hash_.emplace(hash, &state);
  return &state;
}

const Run& StateTable::run(State& state) {
  if (state.run) return *state.run;
  // The next state that most ASCII characters lead to.
  struct Target {
    State* state;
    int count;
  };
  std::vector<Target> targets;
  for (int byte = 0; byte < 128; ++byte) {
    State* target = next(state, static_cast<uint8_t>(byte));
    if (target == &dead_) continue;
    const auto known = std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.state == target; });
    known == targets.end() ? targets.push_back({target, 1}) : void(++known->count);
  }
  auto run = std::make_unique<Run>();
  const auto most = std::max_element(targets.begin(), targets.end(),
                                     [](const Target& a, const Target& b) { return a.count < b.count; });
  if (most != targets.end()) {
    run->next = most->state;
    for (int byte = 0; byte < 128; ++byte)
      run->ascii[byte] = known_next(state, static_cast<uint8_t>(byte)) == run->next;
    run->other = reads_all_beyond_ascii(state, run->next);
  }
  bytes_ += sizeof(Run);
  state.run = std::move(run);
  return *state.run;
}

bool StateTable::reads_all_beyond_ascii(State& state, const State* target) {
  static const std::vector<Utf8Sequence> kBeyondAscii = utf8_sequences(CodepointSet({{0x80, kMaxCodepoint}}));
  std::vector<State*> from, to;
  for (const Utf8Sequence& sequence : kBeyondAscii) {
    from = {&state};
    for (int i = 0; i < sequence.length; ++i) {
      to.clear();
      for (State* at : from) {
        for (int byte = sequence.bytes[i].first; byte <= sequence.bytes[i].last; ++byte) {
          State* reached = next(*at, static_cast<uint8_t>(byte));
          if (reached == &dead_) return false;
          if (to.empty() || to.back() != reached) to.push_back(reached);
        }
      }
      std::sort(to.begin(), to.end());
      to.erase(std::unique(to.begin(), to.end()), to.end());
      std::swap(from, to);
    }
    if (from.size() != 1 || from[0] != target) return false;
  }
  return true;
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
    moved[id] = frames_.intern(frame.is_outermost, returns);
  }
  std::vector<Item> items = snapshot.items;
  for (Item& item : items) item.frame = moved.at(item.frame);
  return intern(std::move(items), snapshot.is_complete);
}

}  // namespace wick::grammar
