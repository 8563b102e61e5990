#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/stages/regex.h"

namespace wick {
namespace {

constexpr int kMaxClassDepth = 50;

// White_Space without U+180E, which PCRE2 counts; and words as Unicode defines them.
constexpr std::string_view kSpaceSet =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNotSpaceSet =
    R"(\x{0}-\x{8}\x{E}-\x{1F}!-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E})"
    R"(\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
constexpr std::string_view kWordSet = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})";
constexpr std::string_view kHexSet = "0-9A-Fa-f";

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kLongNames = {{
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Punctuation", "P"},
    {"Punct", "P"},
    {"Symbol", "S"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Digit", "Nd"},
    {"Alpha", "Alphabetic"},
    {"Upper", "Uppercase"},
    {"Lower", "Lowercase"},
}};

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& place) : pattern_(pattern), place_(place) {}

  std::string run() {
    std::string out;
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\') {
        out += escape(false);
      } else if (pattern_[at_] == '[') {
        out += character_class(0);
      } else {
        out += pattern_[at_++];
      }
    }
    return out;
  }

 private:
  Error bad(std::string_view what) const {
    return Error(ErrorCode::kBadFile, cat(place_, ": the regular expression ", in_quotes(pattern_), " ", what));
  }

  std::string escape(bool in_class) {
    if (at_ + 1 >= pattern_.size()) throw bad("ends with a backslash");
    const char letter = pattern_[at_ + 1];
    const auto set = [&](std::string_view inside) {
      at_ += 2;
      return in_class ? std::string(inside) : cat("[", inside, "]");
    };
    switch (letter) {
      case 's': return set(kSpaceSet);
      case 'S': return set(kNotSpaceSet);
      case 'w': return set(kWordSet);
      case 'h': return set(kHexSet);
      case 'W':
        if (in_class) break;
        at_ += 2;
        return cat("[^", kWordSet, "]");
      case 'p':
      case 'P': return category();
      default: break;
    }
    const size_t start = at_;
    at_ += 2;
    return std::string(pattern_.substr(start, 2));
  }

  std::string category() {
    const std::string head(pattern_.substr(at_, 2));
    at_ += 2;
    if (at_ >= pattern_.size() || pattern_[at_] != '{') return head;
    const size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) throw bad(cat("has no '}' after ", head));
    std::string_view name = pattern_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    const std::string_view negation = name.starts_with('^') ? "^" : "";
    name.remove_prefix(negation.size());
    for (const auto& [long_name, short_name] : kLongNames) {
      if (name == long_name) name = short_name;
    }
    return cat(head, "{", negation, name, "}");
  }

  // A class from '[' to its ']': nested classes are joined, intersections become a look ahead.
  std::string character_class(int depth) {
    if (depth > kMaxClassDepth) throw bad("nests character classes too deeply");
    ++at_;
    const bool negated = at_ < pattern_.size() && pattern_[at_] == '^';
    if (negated) ++at_;
    std::vector<std::string> sides(1);  // what stands between the "&&"
    std::vector<std::string> nested;    // classes inside the current side that cannot be joined
    std::vector<std::string> conditions;
    bool first = true;
    const auto close_side = [&] {
      std::string side = sides.back().empty() ? "" : cat("[", sides.back(), "]");
      for (const std::string& inner : nested) side = side.empty() ? inner : cat("(?:", side, "|", inner, ")");
      nested.clear();
      conditions.push_back(side.empty() ? "[^\\x{0}-\\x{10FFFF}]" : side);
    };
    while (true) {
      if (at_ >= pattern_.size()) throw bad("has a '[' without a ']'");
      const char c = pattern_[at_];
      if (c == ']' && !first) break;
      first = false;
      if (c == '\\') {
        sides.back() += escape(true);
      } else if (pattern_.substr(at_, 2) == "[:") {
        const size_t end = pattern_.find(":]", at_);
        if (end == std::string_view::npos) throw bad("has a '[:' without a ':]'");
        sides.back() += pattern_.substr(at_, end + 2 - at_);
        at_ = end + 2;
      } else if (c == '[') {
        nested.push_back(character_class(depth + 1));
      } else if (pattern_.substr(at_, 2) == "&&") {
        close_side();
        sides.emplace_back();
        at_ += 2;
      } else {
        sides.back() += c;
        ++at_;
      }
    }
    ++at_;
    if (sides.size() == 1 && nested.empty()) return cat(negated ? "[^" : "[", sides.back(), "]");
    close_side();
    std::string joined = "(?:";
    for (size_t i = 0; i + 1 < conditions.size(); ++i) joined += cat("(?=", conditions[i], ")");
    joined += conditions.back() + ")";
    return negated ? cat("(?:(?!", joined, ")[\\x{0}-\\x{10FFFF}])") : joined;
  }

  std::string_view pattern_;
  const std::string& place_;
  size_t at_ = 0;
};

}  // namespace

std::string translate_pattern(std::string_view pattern, const std::string& place) {
  return Translator(pattern, place).run();
}

}  // namespace wick
