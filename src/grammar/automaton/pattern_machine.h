#pragma once

#include <deque>
#include <memory>
#include <string>
#include <tuple>

#include "base/error.h"
#include "grammar/automaton/text_machine.h"
#include "grammar/rule_set.h"

namespace wick::grammar {

// The texts that an expression without calls stands for, from their first character to their last. Assertions of every
// kind are followed: a look ahead is a machine that runs along, a look behind one that has run from the start.
class PatternMachine : public TextMachine {
 public:
  // Keeps references into `rules`. Throws Error(kInvalidArgument) that begins with `place` when it is too large.
  PatternMachine(const RuleSet& rules, ExprId expr, std::string place);

  int start() override;
  int next(int state, uint32_t codepoint) override;
  bool accepts(int state) override;
  bool accepts_all(int state) override;
  void add_interval_starts(int state, std::vector<uint32_t>& starts) override;

 private:
  struct Edge {
    const CodepointSet* chars = nullptr;
    uint32_t target = 0;
  };
  struct FreeStep {
    uint32_t target = 0;
    int assertion = -1;  // into assertions_
  };
  struct Node {
    std::vector<Edge> edges;
    std::vector<FreeStep> free;
  };
  struct Look {
    Assertion kind = Assertion::kStart;
    std::unique_ptr<PatternMachine> machine;
  };
  // What stands before a place; kEither: nothing of it matters.
  enum class Before : uint8_t { kEither, kStart, kWord, kOther };
  enum class Behind : uint8_t { kEnd, kWord, kOther, kUnknown };

  // A machine that looks ahead from a place before this one.
  struct Duty {
    int assertion = 0;
    int state = 0;
    auto operator<=>(const Duty&) const = default;
  };
  struct Thread {
    uint32_t node = 0;
    std::vector<Duty> duties;  // sorted
    auto operator<=>(const Thread&) const = default;
  };
  struct State {
    std::vector<Thread> threads;  // sorted; those that a character led to
    std::vector<int> behind;      // states of the machines that look behind
    Before before = Before::kEither;
    auto operator<=>(const State&) const = default;
  };

  uint32_t add_node();
  void build(ExprId expr, uint32_t from, uint32_t to);
  int add_assertion(const Expr& expr);
  int intern(State state);
  void find_reading_all();
  int start_behind(Before before);
  // All threads that free steps lead to, given what comes behind.
  std::vector<Thread> closure(const State& state, Behind behind);
  const std::vector<Thread>& closure_before(int state, bool is_word);  // a character
  bool is_settled(int state);  // whether everything that goes on from here is accepted
  bool accepts_look(int assertion, int state);
  Error too_large() const;

  const RuleSet& rules_;
  std::string place_;
  std::vector<Node> nodes_;
  std::deque<CodepointSet> bytes_;  // of kBytes
  std::vector<Look> looks_;
  std::vector<int> behind_;      // assertions that look behind
  std::vector<bool> reads_all_;  // per node: every text leads from it to the end
  uint32_t start_node_ = 0, end_node_ = 0;
  bool needs_before_ = false;
  std::map<State, int> known_;
  std::vector<const State*> states_;
  int closed_ = kDead;  // the state that `closures_` are of: most are asked for many times in a row
  std::vector<Thread> closures_[2];
  size_t steps_ = 0;
};

}  // namespace wick::grammar
