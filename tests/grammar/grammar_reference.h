#pragma once

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wick {

// A grammar as a tree, the plainest recogniser for it, and its GBNF. Shares no code with src/.
struct ReferenceExpr {
  enum Kind { kLiteral, kClass, kSequence, kChoice, kRepeat, kCall } kind = kLiteral;
  std::u32string text;  // the literal, or the members of the class
  bool is_negated = false;
  std::vector<ReferenceExpr> parts;
  int min = 0, max = -1;
  int rule = 0;
};

inline std::string to_utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    } else {
      out += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
              static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
  }
  return out;
}

class ReferenceGrammar {
 public:
  // Rules call themselves and each other only behind a literal, so that there is no left recursion.
  static ReferenceGrammar random(std::mt19937& random) {
    ReferenceGrammar grammar;
    grammar.rule_count_ = 1 + static_cast<int>(random() % 4);
    for (int rule = 0; rule < grammar.rule_count_; ++rule) grammar.rules_.push_back(grammar.make(random, 3));
    return grammar;
  }

  std::string gbnf() const {
    std::string text;
    for (size_t i = 0; i < rules_.size(); ++i) {
      text += (i == 0 ? std::string("root") : "rule-" + std::to_string(i)) + " ::= " + print(rules_[i]) + "\n";
    }
    return text;
  }

  bool matches(const std::u32string& text) const {
    Memo memo;
    return ends(rules_[0], text, 0, memo).count(text.size()) > 0;
  }

  static std::u32string random_text(std::mt19937& random, size_t max_length) {
    std::u32string text;
    for (size_t i = random() % (max_length + 1); i > 0; --i) text += alphabet()[random() % alphabet().size()];
    return text;
  }

 private:
  using Ends = std::set<size_t>;
  using Memo = std::map<std::pair<const ReferenceExpr*, size_t>, Ends>;

  static const std::u32string& alphabet() {
    static const std::u32string kAlphabet = U"aaabbc\"é中😀";
    return kAlphabet;
  }

  ReferenceExpr make(std::mt19937& random, int depth) const {
    const auto pick = [&](size_t count) { return random() % count; };
    ReferenceExpr expr;
    switch (depth == 0 ? pick(3) : pick(8)) {
      case 0: expr.text = random_text(random, 3); return expr;
      case 1:
      case 2:
        expr.kind = ReferenceExpr::kClass;
        expr.text = random_text(random, 3);
        expr.is_negated = pick(2);
        if (expr.text.empty()) expr.is_negated = true;
        return expr;
      case 3:
      case 4:
        expr.kind = ReferenceExpr::kSequence;
        for (size_t i = 1 + pick(3); i > 0; --i) expr.parts.push_back(make(random, depth - 1));
        return expr;
      case 5:
        expr.kind = ReferenceExpr::kChoice;
        for (size_t i = 1 + pick(3); i > 0; --i) expr.parts.push_back(make(random, depth - 1));
        return expr;
      case 6: {
        expr.kind = ReferenceExpr::kRepeat;
        expr.parts.push_back(make(random, depth - 1));
        expr.min = static_cast<int>(pick(3));
        expr.max = pick(2) ? -1 : expr.min + static_cast<int>(pick(3));
        return expr;
      }
      default: {
        ReferenceExpr guard;
        guard.text = alphabet().substr(pick(alphabet().size()), 1);
        ReferenceExpr call;
        call.kind = ReferenceExpr::kCall;
        call.rule = static_cast<int>(pick(static_cast<size_t>(rule_count_)));
        expr.kind = ReferenceExpr::kSequence;
        expr.parts = {guard, call};
        if (pick(2)) expr.parts.push_back(make(random, 0));
        return expr;
      }
    }
  }

  static std::string print(const ReferenceExpr& expr) {
    std::string out;
    switch (expr.kind) {
      case ReferenceExpr::kLiteral:
        out = "\"";
        for (const char32_t c : expr.text) out += c == U'"' ? "\\\"" : to_utf8(std::u32string(1, c));
        return out + "\"";
      case ReferenceExpr::kClass: return std::string(expr.is_negated ? "[^" : "[") + to_utf8(expr.text) + "]";
      case ReferenceExpr::kSequence:
        for (const auto& part : expr.parts) out += print(part) + " ";
        return "(" + out + ")";
      case ReferenceExpr::kChoice:
        for (const auto& part : expr.parts) out += (out.empty() ? "" : " | ") + print(part);
        return "(" + out + ")";
      case ReferenceExpr::kRepeat: {
        const std::string part = "(" + print(expr.parts[0]) + ")";
        if (expr.max == -1) {
          if (expr.min == 0) return part + "*";
          if (expr.min == 1) return part + "+";
          return part + "{" + std::to_string(expr.min) + ",}";
        }
        if (expr.min == 0 && expr.max == 1) return part + "?";
        return part + "{" + std::to_string(expr.min) + "," + std::to_string(expr.max) + "}";
      }
      case ReferenceExpr::kCall: return expr.rule == 0 ? "root" : "rule-" + std::to_string(expr.rule);
    }
    return out;
  }

  // Everywhere a match that begins at `at` can end.
  Ends ends(const ReferenceExpr& expr, const std::u32string& text, size_t at, Memo& memo) const {
    const auto key = std::make_pair(&expr, at);
    if (const auto known = memo.find(key); known != memo.end()) return known->second;
    Ends result;
    switch (expr.kind) {
      case ReferenceExpr::kLiteral:
        if (text.compare(at, expr.text.size(), expr.text) == 0) result.insert(at + expr.text.size());
        break;
      case ReferenceExpr::kClass:
        if (at < text.size() && (expr.text.find(text[at]) != std::u32string::npos) != expr.is_negated)
          result.insert(at + 1);
        break;
      case ReferenceExpr::kSequence:
        result = {at};
        for (const auto& part : expr.parts) result = step(part, text, result, memo);
        break;
      case ReferenceExpr::kChoice:
        for (const auto& part : expr.parts) result.merge(ends(part, text, at, memo));
        break;
      case ReferenceExpr::kRepeat: {
        Ends here = {at};
        // More rounds than there are characters bring nothing new.
        const int rounds = expr.max >= 0 ? expr.max : expr.min + static_cast<int>(text.size()) + 1;
        for (int round = 0; round <= rounds; ++round) {
          if (round >= expr.min) result.insert(here.begin(), here.end());
          here = step(expr.parts[0], text, here, memo);
        }
        break;
      }
      case ReferenceExpr::kCall: result = ends(rules_[static_cast<size_t>(expr.rule)], text, at, memo); break;
    }
    return memo[key] = result;
  }

  Ends step(const ReferenceExpr& expr, const std::u32string& text, const Ends& from, Memo& memo) const {
    Ends to;
    for (const size_t at : from) to.merge(ends(expr, text, at, memo));
    return to;
  }

  int rule_count_ = 0;
  std::vector<ReferenceExpr> rules_;
};

}  // namespace wick
