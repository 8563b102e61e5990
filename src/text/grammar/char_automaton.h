#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/grammar/rule_set.h"

namespace wick::grammar {

// A finite automaton over characters, made from an expression without calls and bytes (see parse_regex).
class CharAutomaton {
 public:
  using StateSet = std::vector<uint32_t>;  // sorted
  struct Edge {
    const CodepointSet* chars = nullptr;
    uint32_t target = 0;
  };

  // Keeps references into `rules`. Throws Error(kInvalidArgument) that begins with `place` when it would be too large.
  CharAutomaton(const RuleSet& rules, ExprId expr, std::string_view place);

  const StateSet& start() const { return start_; }
  StateSet next(const StateSet& from, uint32_t codepoint) const;
  bool is_end(const StateSet& states) const;
  const std::vector<Edge>& edges(uint32_t state) const { return states_[state].edges; }

  bool matches(std::string_view utf8) const;

 private:
  struct State {
    std::vector<Edge> edges;
    std::vector<uint32_t> free;  // steps that read nothing
  };
  uint32_t add_state();
  void build(ExprId expr, uint32_t from, uint32_t to);
  void close(StateSet& states) const;

  const RuleSet& rules_;
  std::string_view place_;
  std::vector<State> states_;
  StateSet start_;
  uint32_t end_ = 0;
};

// The code points of valid UTF-8.
std::vector<uint32_t> codepoints_of(std::string_view utf8);

}  // namespace wick::grammar
