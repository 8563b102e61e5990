#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/automaton/automaton.h"
#include "grammar/automaton/frames.h"
#include "grammar/automaton/run_index.h"
#include "grammar/token_mask.h"

namespace wick::grammar {

struct Item {
  uint32_t position = 0;
  FrameId frame = 0;
  bool operator==(const Item&) const = default;
  bool operator<(const Item& o) const { return std::tie(position, frame) < std::tie(o.position, o.frame); }
};

struct State;

// The characters that all lead from a state to one and the same next state, if most do: inside a string, nearly all.
struct Run {
  RunCharacters characters;
  State* next = nullptr;   // null: there are none
  uint32_t length = 0;     // at least so many in a row: each state on the way reads all of them
  bool is_length = false;  // exactly so many, or kEndless
  static constexpr uint32_t kEndless = 1 << 20;
};

// Everything a text read so far can be. Items are those of its positions that read a byte, sorted, one per position and
// marks.
struct State {
  std::vector<Item> items;
  bool is_complete = false;                      // the text may end here
  std::unique_ptr<std::atomic<State*>[]> next;   // per byte class; null: not computed yet
  std::unique_ptr<Run> run;                      // null: not computed yet
  std::atomic<const TokenMask*> mask = nullptr;  // null: not computed yet
  std::unique_ptr<const TokenMask> owned_mask;
};

// What a state needs to be rebuilt in another table.
struct Snapshot {
  std::vector<std::pair<FrameId, Frame>> frames;  // those a frame returns to come before it
  std::vector<Item> items;
  bool is_complete = false;
};

// The deterministic automaton of a grammar, made as it is walked. Not thread-safe, but for known_next. States stay
// where they are.
class StateTable {
 public:
  // Nesting beyond this is refused: a byte that would open one more level does not match.
  static constexpr int kMaxDepth = 2000;

  explicit StateTable(const Automaton& automaton);

  State* start() const { return start_; }
  State* dead() { return &dead_; }

  // Null when it has not been computed yet.
  State* known_next(const State& state, uint8_t byte) const {
    return state.next[automaton_.byte_class[byte]].load(std::memory_order_acquire);
  }
  // The state behind the byte; dead() when nothing matches. Throws Error(kUnsupported) when the grammar is so ambiguous
  // that the work would not be bounded.
  State* next(State& state, uint8_t byte) {
    if (State* known = known_next(state, byte)) return known;
    return compute_next(state, automaton_.byte_class[byte]);
  }
  const Run& run(State& state);
  // How many characters of the state's run can follow each other; what is more than `count` is not counted, unless it
  // is kEndless.
  uint32_t run_length(State& state, uint32_t count);
  // Whether the state reads any of these characters.
  bool reads_any(State& state, const RunCharacters& characters);

  Snapshot save(const State& state) const;
  State* restore(const Snapshot& snapshot);

  // Roughly the memory in use.
  size_t bytes() const { return bytes_ + frames_.bytes(); }
  void count_bytes(size_t bytes) { bytes_ += bytes; }

 private:
  struct Push {
    uint32_t rank = 0;  // of the rule, which the heap is ordered by
    uint32_t rule = 0;
    ReturnTo to;
    bool is_tail = false;
  };

  State* compute_next(State& state, uint8_t byte_class);
  State* close();  // the state of scratch_, with all pops and calls followed
  void follow_returns();
  void follow_calls();
  void push_calls(const Item& item);
  void merge_positions();
  void count_steps(size_t steps);  // throws when a state takes too many
  bool add(Item item);
  State* intern(std::vector<Item> items, bool is_complete);
  void targets_of(const State& state, uint8_t byte, std::vector<Item>& targets) const;
  uint32_t target_beyond_ascii(uint32_t position);

  const Automaton& automaton_;
  FrameTable frames_;
  std::deque<State> states_;
  std::unordered_multimap<uint64_t, State*> by_hash_;
  State dead_;
  State* start_ = nullptr;
  size_t bytes_ = 0;

  std::vector<uint32_t> beyond_ascii_;  // per position: see target_beyond_ascii

  // Scratch of close().
  std::vector<Item> items_;
  std::unordered_set<uint64_t> seen_;  // used once there are many items
  std::vector<Push> pushes_;
  std::vector<ReturnTo> returns_;
  size_t steps_ = 0;
  bool complete_ = false;
};

}  // namespace wick::grammar
