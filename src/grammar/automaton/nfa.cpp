#include "grammar/automaton/nfa.h"

#include <array>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "grammar/automaton/frames.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxNfaStates = size_t{1} << 19;
constexpr size_t kMaxNfaEdges = size_t{1} << 20;
constexpr int kMaxDepth = 2000;  // of nested expressions

class NfaBuilder {
 public:
  explicit NfaBuilder(const RuleSet& rules) : rules_(rules) {}

  Nfa build() {
    for (RuleId rule = 0; rule < rules_.rule_count(); ++rule) {
      add_rule(&rules_.name(rule));
      nfa_.required_marks[rule] = rules_.required_marks(rule);
    }
    for (RuleId rule = 0; rule < rules_.rule_count(); ++rule) {
      rule_ = rule;
      if (const auto body = rules_.body(rule)) compile(*body, nfa_.rule_start[rule], nfa_.rule_end[rule], 0);
    }
    return std::move(nfa_);
  }

 private:
  uint32_t add_rule(const std::string* name) {
    const auto rule = static_cast<uint32_t>(nfa_.rule_count());
    nfa_.rule_names.push_back(name);
    nfa_.required_marks.emplace_back();
    nfa_.rule_start.push_back(add_node(rule));
    nfa_.rule_end.push_back(add_node(rule));
    return rule;
  }

  uint32_t add_node(uint32_t rule) {
    if (nfa_.node_count() >= kMaxNfaStates) throw too_large(cat("more than ", kMaxNfaStates, " states"));
    nfa_.first_edge.push_back(kNone);
    nfa_.node_rule.push_back(rule);
    return static_cast<uint32_t>(nfa_.node_count() - 1);
  }
  uint32_t add_node() { return add_node(rule_); }

  void add_edge(uint32_t from, NfaEdge edge) {
    if (nfa_.edges.size() >= kMaxNfaEdges) throw too_large(cat("more than ", kMaxNfaEdges, " transitions"));
    edge.next = nfa_.first_edge[from];
    nfa_.first_edge[from] = static_cast<uint32_t>(nfa_.edges.size());
    nfa_.edges.push_back(edge);
  }
  void add_epsilon(uint32_t from, uint32_t to) { add_edge(from, {.kind = EdgeKind::kEpsilon, .target = to}); }
  void add_bytes(uint32_t from, ByteRange bytes, uint32_t to) {
    add_edge(from, {.kind = EdgeKind::kByte, .bytes = bytes, .target = to});
  }

  Error too_large(const std::string& what) const {
    return {ErrorCode::kInvalidArgument,
            cat("grammar: rule '", nfa_.rule_names.empty() ? "" : *nfa_.rule_names[rule_], "' is too large: ", what)};
  }

  // Adds paths for the expression between two nodes. Every path uses new nodes only, so that expressions may share
  // ends.
  void compile(ExprId id, uint32_t from, uint32_t to, int depth) {
    if (depth > kMaxDepth) throw too_large(cat("nested more than ", kMaxDepth, " levels deep"));
    const Expr& expr = rules_.expr(id);
    switch (expr.kind) {
      case ExprKind::kGraph: return compile_graph(*expr.graph, from, to, depth + 1);
      case ExprKind::kAssert:  // not in rules
      case ExprKind::kNever: return;
      case ExprKind::kEmpty: return add_epsilon(from, to);
      case ExprKind::kBytes: return compile_bytes(expr.bytes, from, to);
      case ExprKind::kChars: return compile_chars(expr.chars, from, to);
      case ExprKind::kSequence:
        for (size_t i = 0; i < expr.children.size(); ++i) {
          const uint32_t next = i + 1 == expr.children.size() ? to : add_node();
          compile(expr.children[i], from, next, depth + 1);
          from = next;
        }
        return;
      case ExprKind::kChoice:
        for (const ExprId option : expr.children) compile(option, from, to, depth + 1);
        return;
      case ExprKind::kRepeat: return compile_repeat(expr, from, to, depth + 1);
      case ExprKind::kCall: {
        NfaEdge call{.kind = EdgeKind::kCall, .rule = expr.rule, .target = to};
        if (!expr.marks.empty()) {
          call.marks = static_cast<uint32_t>(nfa_.mark_lists.size());
          nfa_.mark_lists.push_back(expr.marks);
        }
        return add_edge(from, call);
      }
    }
  }

  void compile_bytes(const std::string& text, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < text.size(); ++i) {
      const uint32_t next = i + 1 == text.size() ? to : add_node();
      const auto byte = static_cast<uint8_t>(text[i]);
      add_bytes(from, {byte, byte}, next);
      from = next;
    }
  }

  // Sequences that end in the same ranges share the nodes of that end.
  void compile_chars(const CodepointSet& chars, uint32_t from, uint32_t to) {
    if (tails_.size() > kMaxTails || (!is_graph_ && !tails_.empty())) tails_.clear();
    for (const Utf8Sequence& sequence : utf8_sequences(chars)) {
      uint32_t target = to;
      Tail rest{to, 0, {}};
      for (int i = sequence.length - 1; i > 0; --i) {
        rest.bytes[static_cast<size_t>(rest.length++)] = sequence.bytes[static_cast<size_t>(i)];
        const auto [known, is_new] = tails_.try_emplace(rest, 0);
        if (is_new) {
          known->second = add_node();
          add_bytes(known->second, sequence.bytes[static_cast<size_t>(i)], target);
        }
        target = known->second;
      }
      add_bytes(from, sequence.bytes[0], target);
    }
  }

  void compile_graph(const ExprGraph& graph, uint32_t from, uint32_t to, int depth) {
    std::vector<uint32_t> nodes;
    for (size_t i = 0; i < graph.states.size(); ++i) nodes.push_back(add_node());
    add_epsilon(from, nodes[0]);
    tails_.clear();
    is_graph_ = true;
    for (size_t i = 0; i < graph.states.size(); ++i) {
      for (const auto& step : graph.states[i].steps) compile(step.expr, nodes[i], nodes[step.target], depth);
    }
    is_graph_ = false;
    for (size_t i = 0; i < graph.states.size(); ++i) {
      if (graph.states[i].end) compile(*graph.states[i].end, nodes[i], to, depth);
    }
  }

  void compile_repeat(const Expr& repeat, uint32_t from, uint32_t to, int depth) {
    const ExprId part = repeat.children[0];
    if (!repeat.max && repeat.min <= 1) return compile_loop(part, repeat.min, from, to, depth);
    if (repeat.min == 0 && repeat.max == 1) {
      add_epsilon(from, to);
      return compile(part, from, to, depth);
    }
    // Copies of anything larger than a byte are calls of one rule.
    const bool is_small = is_single_step(rules_.expr(part));
    uint32_t outlined = kNone;
    if (!is_small) {
      outlined = add_rule(nfa_.rule_names[rule_]);
      const uint32_t outer = rule_;
      rule_ = outlined;
      compile(part, nfa_.rule_start[outlined], nfa_.rule_end[outlined], depth);
      rule_ = outer;
    }
    const auto copy = [&](uint32_t start, uint32_t end) {
      if (outlined == kNone) return compile(part, start, end, depth);
      add_edge(start, {.kind = EdgeKind::kCall, .rule = outlined, .target = end});
    };
    for (int64_t i = 0; i < repeat.min; ++i) {
      const uint32_t next = add_node();
      copy(from, next);
      from = next;
    }
    if (!repeat.max) {
      const uint32_t loop = add_node();
      add_epsilon(from, loop);
      copy(loop, loop);
      return add_epsilon(loop, to);
    }
    for (int64_t i = repeat.min; i < *repeat.max; ++i) {
      add_epsilon(from, to);
      const uint32_t next = add_node();
      copy(from, next);
      from = next;
    }
    add_epsilon(from, to);
  }

  static bool is_single_step(const Expr& expr) {
    if (expr.kind == ExprKind::kBytes) return expr.bytes.size() == 1;
    if (expr.kind == ExprKind::kChars) return expr.chars.ranges().size() <= 4 && expr.chars.ranges().back().last < 0x80;
    return expr.kind == ExprKind::kCall;
  }

  void compile_loop(ExprId part, int64_t min, uint32_t from, uint32_t to, int depth) {
    const uint32_t start = add_node(), end = min == 0 ? start : add_node();
    add_epsilon(from, start);
    compile(part, start, end, depth);
    if (end != start) add_epsilon(end, start);
    add_epsilon(end, to);
  }

  // What is still to come of a character that leads to a node, from the last byte on.
  struct Tail {
    uint32_t to = 0;
    size_t length = 0;
    std::array<ByteRange, 3> bytes;
    bool operator==(const Tail&) const = default;
  };
  struct TailHash {
    size_t operator()(const Tail& tail) const {
      uint64_t hash = mix_hash(tail.to, tail.length);
      for (const ByteRange& range : tail.bytes) hash = mix_hash(hash, range.first * 256u + range.last);
      return hash;
    }
  };
  static constexpr size_t kMaxTails = 100000;

  const RuleSet& rules_;
  Nfa nfa_;
  uint32_t rule_ = 0;
  std::unordered_map<Tail, uint32_t, TailHash> tails_;  // of one set of characters, or one graph
  bool is_graph_ = false;
};

}  // namespace

Nfa build_nfa(const RuleSet& rules) { return NfaBuilder(rules).build(); }

}  // namespace wick::grammar
