#include "grammar/automaton/pattern_machine.h"

#include <algorithm>

#include "base/text.h"
#include "grammar/schema/schema_pattern.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxPatternNodes = 20000;
constexpr size_t kMaxStates = 20000;
constexpr size_t kMaxThreads = 50'000'000;  // in all states that are met

bool looks_ahead(Assertion kind) { return kind == Assertion::kAhead || kind == Assertion::kNotAhead; }
bool looks_behind(Assertion kind) { return kind == Assertion::kBehind || kind == Assertion::kNotBehind; }

}  // namespace

PatternMachine::PatternMachine(const RuleSet& rules, ExprId expr, std::string place)
    : rules_(rules), place_(std::move(place)) {
  start_node_ = add_node();
  end_node_ = add_node();
  build(expr, start_node_, end_node_);
  find_reading_all();
}

// A loop over any character with a free way to the end.
void PatternMachine::find_reading_all() {
  reads_all_.assign(nodes_.size(), false);
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    const bool is_loop = std::any_of(nodes_[node].edges.begin(), nodes_[node].edges.end(), [&](const Edge& edge) {
      return edge.target == node && *edge.chars == CodepointSet::all();
    });
    if (!is_loop) continue;
    std::vector<uint32_t> reached = {node};
    for (size_t i = 0; i < reached.size() && !reads_all_[node]; ++i) {
      reads_all_[node] = reached[i] == end_node_;
      for (const FreeStep& step : nodes_[reached[i]].free) {
        const bool is_new = std::find(reached.begin(), reached.end(), step.target) == reached.end();
        if (step.assertion < 0 && is_new) reached.push_back(step.target);
      }
    }
  }
}

Error PatternMachine::too_large() const {
  return {ErrorCode::kInvalidArgument, cat(place_, ": the pattern is too large")};
}

uint32_t PatternMachine::add_node() {
  if (nodes_.size() >= kMaxPatternNodes) throw too_large();
  nodes_.emplace_back();
  return static_cast<uint32_t>(nodes_.size() - 1);
}

int PatternMachine::add_assertion(const Expr& expr) {
  Look look{expr.assertion, nullptr};
  needs_before_ |= !looks_ahead(look.kind) && !looks_behind(look.kind) && look.kind != Assertion::kEnd;
  if (looks_ahead(look.kind) || looks_behind(look.kind)) {
    look.machine = std::make_unique<PatternMachine>(rules_, expr.children[0], place_);
    PatternMachine& machine = *look.machine;
    static const CodepointSet kAny = CodepointSet::all();
    // What is looked for ahead begins here and ends anywhere; behind, it begins anywhere and ends here.
    const uint32_t loop = looks_ahead(look.kind) ? machine.end_node_ : machine.add_node();
    machine.nodes_[loop].edges.push_back({&kAny, loop});
    if (looks_behind(look.kind)) {
      if (!machine.looks_.empty()) {
        throw Error(ErrorCode::kInvalidArgument, cat(place_, ": an assertion inside a look behind is not supported"));
      }
      machine.nodes_[loop].free.push_back({machine.start_node_, -1});
      machine.start_node_ = loop;
      behind_.push_back(static_cast<int>(looks_.size()));
    }
    machine.find_reading_all();
    needs_before_ |= machine.needs_before_;
  }
  looks_.push_back(std::move(look));
  return static_cast<int>(looks_.size() - 1);
}

void PatternMachine::build(ExprId id, uint32_t from, uint32_t to) {
  const Expr& expr = rules_.expr(id);
  const auto copy = [&](uint32_t start) {
    const uint32_t next = add_node();
    build(expr.children[0], start, next);
    return next;
  };
  switch (expr.kind) {
    case ExprKind::kEmpty: nodes_[from].free.push_back({to}); break;
    case ExprKind::kChars: nodes_[from].edges.push_back({&expr.chars, to}); break;
    case ExprKind::kBytes:
      for (size_t i = 0; i < expr.bytes.size(); ++i) {
        const auto byte = static_cast<uint8_t>(expr.bytes[i]);
        const uint32_t next = i + 1 == expr.bytes.size() ? to : add_node();
        nodes_[from].edges.push_back({&bytes_.emplace_back(std::vector<CodepointRange>{{byte, byte}}), next});
        from = next;
      }
      break;
    case ExprKind::kChoice:
      for (const ExprId option : expr.children) build(option, from, to);
      break;
    case ExprKind::kSequence:
      for (size_t i = 0; i < expr.children.size(); ++i) {
        const uint32_t next = add_node();
        build(expr.children[i], from, next);
        from = next;
      }
      nodes_[from].free.push_back({to});
      break;
    case ExprKind::kRepeat:
      for (int64_t i = 0; i < expr.min; ++i) from = copy(from);
      if (!expr.max) {
        const uint32_t loop = add_node();
        nodes_[from].free.push_back({loop});
        build(expr.children[0], loop, loop);
        nodes_[loop].free.push_back({to});
        break;
      }
      for (int64_t i = expr.min; i < *expr.max; ++i) {
        nodes_[from].free.push_back({to});
        from = copy(from);
      }
      nodes_[from].free.push_back({to});
      break;
    case ExprKind::kAssert: nodes_[from].free.push_back({to, add_assertion(expr)}); break;
    case ExprKind::kNever:
    case ExprKind::kGraph:
    case ExprKind::kCall: break;
  }
}

int PatternMachine::intern(State state) {
  if (state.threads.empty()) return kDead;
  steps_ += state.threads.size();
  if (steps_ > kMaxThreads) throw too_large();
  const auto [entry, is_new] = known_.try_emplace(std::move(state), static_cast<int>(states_.size()));
  if (is_new) {
    if (states_.size() >= kMaxStates) throw too_large();
    states_.push_back(&entry->first);
  }
  return entry->second;
}

int PatternMachine::start_behind(Before before) {
  State state;
  state.threads.push_back({start_node_, {}});
  state.before = needs_before_ ? before : Before::kEither;
  for (const int look : behind_) {
    state.behind.push_back(looks_[static_cast<size_t>(look)].machine->start_behind(before));
  }
  return intern(std::move(state));
}

int PatternMachine::start() { return start_behind(Before::kStart); }

std::vector<PatternMachine::Thread> PatternMachine::closure(const State& state, Behind behind) {
  const auto passes = [&](const Look& look, int index) {
    const bool is_word = state.before == Before::kWord;
    switch (look.kind) {
      case Assertion::kStart: return state.before == Before::kStart;
      case Assertion::kEnd: return behind == Behind::kEnd;
      case Assertion::kWordBoundary: return behind != Behind::kUnknown && is_word != (behind == Behind::kWord);
      case Assertion::kNoWordBoundary: return behind != Behind::kUnknown && is_word == (behind == Behind::kWord);
      case Assertion::kBehind:
      case Assertion::kNotBehind: {
        const auto place = std::find(behind_.begin(), behind_.end(), index) - behind_.begin();
        const int at = state.behind[static_cast<size_t>(place)];
        return (at != kDead && look.machine->accepts(at)) == (look.kind == Assertion::kBehind);
      }
      default: return true;
    }
  };
  std::vector<Thread> threads = state.threads;
  const bool has_duties =
      std::any_of(threads.begin(), threads.end(), [](const Thread& thread) { return !thread.duties.empty(); }) ||
      std::any_of(looks_.begin(), looks_.end(), [](const Look& look) { return looks_ahead(look.kind); });
  std::vector<bool> seen(has_duties ? 0 : nodes_.size(), false);
  std::map<Thread, bool> seen_threads;
  const auto see = [&](const Thread& thread) {
    if (has_duties) return seen_threads.try_emplace(thread, true).second;
    const bool is_new = !seen[thread.node];
    seen[thread.node] = true;
    return is_new;
  };
  for (const Thread& thread : threads) see(thread);
  for (size_t i = 0; i < threads.size(); ++i) {
    for (const FreeStep& step : nodes_[threads[i].node].free) {
      Thread reached{step.target, threads[i].duties};
      if (step.assertion >= 0) {
        const Look& look = looks_[static_cast<size_t>(step.assertion)];
        if (!passes(look, step.assertion)) continue;
        if (looks_ahead(look.kind)) {
          const Duty duty{step.assertion, look.machine->start_behind(state.before)};
          const auto place = std::lower_bound(reached.duties.begin(), reached.duties.end(), duty);
          if (place == reached.duties.end() || *place != duty) reached.duties.insert(place, duty);
        }
      }
      if (!see(reached)) continue;
      if (threads.size() >= kMaxPatternNodes) throw too_large();
      threads.push_back(std::move(reached));
    }
  }
  return threads;
}

const std::vector<PatternMachine::Thread>& PatternMachine::closure_before(int state, bool is_word) {
  if (closed_ != state) {
    for (auto& closure : closures_) closure.clear();
    closed_ = state;
  }
  std::vector<Thread>& known = closures_[is_word && needs_before_ ? 1 : 0];
  if (known.empty()) {
    known = closure(*states_[static_cast<size_t>(state)], is_word && needs_before_ ? Behind::kWord : Behind::kOther);
  }
  return known;
}

bool PatternMachine::is_settled(int state) {
  for (const Thread& thread : closure(*states_[static_cast<size_t>(state)], Behind::kUnknown)) {
    if (thread.node == end_node_ && thread.duties.empty()) return true;
  }
  return false;
}

int PatternMachine::next(int state, uint32_t codepoint) {
  const bool is_word = word_chars().contains(codepoint);
  const State& from = *states_[static_cast<size_t>(state)];
  State to;
  to.before = !needs_before_ ? Before::kEither : is_word ? Before::kWord : Before::kOther;
  for (size_t i = 0; i < behind_.size(); ++i) {
    PatternMachine& machine = *looks_[static_cast<size_t>(behind_[i])].machine;
    to.behind.push_back(from.behind[i] == kDead ? kDead : machine.next(from.behind[i], codepoint));
  }
  for (const Thread& thread : closure_before(state, is_word)) {
    std::optional<std::vector<Duty>> duties;  // once a character is read; made when an edge reads it
    for (const Edge& edge : nodes_[thread.node].edges) {
      if (!edge.chars->contains(codepoint)) continue;
      if (!duties) {
        duties.emplace();
        bool is_over = false;
        for (const Duty& duty : thread.duties) {
          const Look& look = looks_[static_cast<size_t>(duty.assertion)];
          const bool is_wanted = look.kind == Assertion::kAhead;
          const int reached = look.machine->next(duty.state, codepoint);
          const bool is_found = reached != kDead && look.machine->is_settled(reached);
          if (reached == kDead || is_found) {
            is_over |= is_found != is_wanted;
          } else {
            duties->push_back({duty.assertion, reached});
          }
        }
        if (is_over) break;
        std::sort(duties->begin(), duties->end());
        duties->erase(std::unique(duties->begin(), duties->end()), duties->end());
      }
      to.threads.push_back({edge.target, *duties});
    }
  }
  // Where everything is accepted from now on, nothing else matters.
  for (const Thread& thread : to.threads) {
    if (!reads_all_[thread.node] || !thread.duties.empty()) continue;
    to = {.threads = {Thread{thread}}, .behind = std::vector<int>(behind_.size(), kDead), .before = Before::kEither};
    return intern(std::move(to));
  }
  std::sort(to.threads.begin(), to.threads.end());
  to.threads.erase(std::unique(to.threads.begin(), to.threads.end()), to.threads.end());
  return intern(std::move(to));
}

bool PatternMachine::accepts_look(int assertion, int state) {
  const Look& look = looks_[static_cast<size_t>(assertion)];
  return look.machine->accepts(state) == (look.kind == Assertion::kAhead);
}

bool PatternMachine::accepts_all(int state) {
  const std::vector<Thread>& threads = states_[static_cast<size_t>(state)]->threads;
  return threads.size() == 1 && reads_all_[threads[0].node] && threads[0].duties.empty();
}

bool PatternMachine::accepts(int state) {
  const State& at = *states_[static_cast<size_t>(state)];
  const std::vector<Thread> threads = closure(at, Behind::kEnd);
  return std::any_of(threads.begin(), threads.end(), [&](const Thread& thread) {
    return thread.node == end_node_ && std::all_of(thread.duties.begin(), thread.duties.end(), [&](const Duty& duty) {
             return accepts_look(duty.assertion, duty.state);
           });
  });
}

void PatternMachine::add_interval_starts(int state, std::vector<uint32_t>& starts) {
  const auto add = [&](const CodepointSet& chars) {
    for (const auto [first, last] : chars.ranges()) {
      starts.push_back(first);
      starts.push_back(last + 1);
    }
  };
  const State& at = *states_[static_cast<size_t>(state)];
  if (needs_before_) add(word_chars());
  for (size_t i = 0; i < behind_.size(); ++i) {
    if (at.behind[i] == kDead) continue;
    looks_[static_cast<size_t>(behind_[i])].machine->add_interval_starts(at.behind[i], starts);
  }
  for (const bool is_word : {false, true}) {
    for (const Thread& thread : closure_before(state, is_word)) {
      for (const Edge& edge : nodes_[thread.node].edges) add(*edge.chars);
      for (const Duty& duty : thread.duties) {
        looks_[static_cast<size_t>(duty.assertion)].machine->add_interval_starts(duty.state, starts);
      }
    }
    if (!needs_before_) break;
  }
}

}  // namespace wick::grammar
