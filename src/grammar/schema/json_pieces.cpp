#include "grammar/schema/json_pieces.h"

#include <algorithm>

#include "grammar/schema/text_rules.h"

namespace wick::grammar {
namespace {

// Characters with a short escape; all other control characters are written \u00XX.
constexpr std::array<std::pair<char, char>, 7> kShortEscapes = {
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};

std::string escape(uint32_t codepoint) {
  for (const auto& [character, letter] : kShortEscapes) {
    if (codepoint == static_cast<uint8_t>(character)) return {'\\', letter};
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  return {'\\', 'u', '0', '0', kHex[codepoint >> 4 & 15], kHex[codepoint & 15]};
}

bool must_be_escaped(uint32_t codepoint) { return codepoint < 0x20 || codepoint == '"' || codepoint == '\\'; }

const CodepointSet& never_plain() {
  static const CodepointSet kSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  return kSet;
}

}  // namespace

template <typename Make>
ExprId JsonPieces::once(std::optional<RuleId>& rule, const char* name, const Make& make) {
  if (!rule) {
    rule = rules_.add_rule(name);
    rules_.define(*rule, make());
  }
  return rules_.call(*rule);
}

ExprId JsonPieces::space() {
  return once(space_, "json whitespace", [&] {
    return rules_.repeat(rules_.chars(CodepointSet({{' ', ' '}, {'\t', '\t'}, {'\n', '\n'}, {'\r', '\r'}})), 0,
                         std::nullopt);
  });
}

ExprId JsonPieces::mark(char punctuation) {
  auto& known = marks_[static_cast<uint8_t>(punctuation)];
  if (!known) known = make_mark(punctuation);
  return *known;
}

ExprId JsonPieces::make_mark(char punctuation) {
  const ExprId text = rules_.bytes(std::string_view(&punctuation, 1));
  const bool is_inner = punctuation == ',' || punctuation == ':';
  if (layout_ == JsonLayout::kOneLine) {
    return is_inner ? rules_.sequence({text, rules_.optional(rules_.bytes(" "))}) : text;
  }
  // Closing marks have no space behind them, opening marks none before, so that a text has one parse.
  if (punctuation == '{' || punctuation == '[') return rules_.sequence({text, space()});
  if (is_inner) return rules_.sequence({space(), text, space()});
  return rules_.sequence({space(), text});
}

ExprId JsonPieces::value() {
  return once(value_, "json value", [&] {
    return rules_.choice({object(), array(), string(), number(), boolean(), null()});
  });
}

ExprId JsonPieces::object() {
  return once(object_, "json object", [&] {
    const ExprId member = rules_.outline("json member", rules_.sequence({string(), mark(':'), value()}));
    const ExprId more = rules_.repeat(rules_.sequence({mark(','), member}), 0, std::nullopt);
    return enclosed('{', rules_.optional(rules_.sequence({member, more})), '}');
  });
}

ExprId JsonPieces::array() {
  return once(array_, "json array", [&] {
    const ExprId more = rules_.repeat(rules_.sequence({mark(','), value()}), 0, std::nullopt);
    return enclosed('[', rules_.optional(rules_.sequence({value(), more})), ']');
  });
}

ExprId JsonPieces::string() {
  return once(string_, "json string", [&] {
    return rules_.sequence({rules_.bytes("\""), rules_.repeat(character(), 0, std::nullopt), rules_.bytes("\"")});
  });
}

// Numbers that every reader of JSON can represent, and that come to an end: a model may otherwise never stop.
ExprId JsonPieces::number() {
  return once(number_, "json number", [&] {
    const ExprId digit = rules_.chars(CodepointSet({{'0', '9'}}));
    const ExprId fraction = rules_.sequence({rules_.bytes("."), rules_.repeat(digit, 1, kMaxFractionDigits)});
    const ExprId exponent = rules_.sequence({rules_.chars(CodepointSet({{'e', 'e'}, {'E', 'E'}})),
                                             rules_.optional(rules_.chars(CodepointSet({{'+', '+'}, {'-', '-'}}))),
                                             rules_.repeat(digit, 1, kMaxExponentDigits)});
    return rules_.sequence({integer(), rules_.optional(fraction), rules_.optional(exponent)});
  });
}

ExprId JsonPieces::integer() {
  return once(integer_, "json integer", [&] {
    const ExprId digits = rules_.repeat(rules_.chars(CodepointSet({{'0', '9'}})), 0, kMaxWholeDigits - 1);
    const ExprId whole =
        rules_.choice({rules_.bytes("0"), rules_.sequence({rules_.chars(CodepointSet({{'1', '9'}})), digits})});
    return rules_.sequence({rules_.optional(rules_.bytes("-")), whole});
  });
}

ExprId JsonPieces::character() {
  return once(character_, "json character", [&] {
    const auto set = [&](std::string_view members) {
      std::vector<CodepointRange> ranges;
      for (const char c : members) ranges.push_back({static_cast<uint8_t>(c), static_cast<uint8_t>(c)});
      return rules_.chars(CodepointSet(std::move(ranges)));
    };
    const ExprId hex = rules_.chars(CodepointSet({{'0', '9'}, {'a', 'f'}, {'A', 'F'}}));
    const ExprId d = set("dD");
    const ExprId not_d = rules_.chars(CodepointSet({{'0', '9'}, {'a', 'c'}, {'e', 'f'}, {'A', 'C'}, {'E', 'F'}}));
    const ExprId basic = rules_.choice({rules_.sequence({not_d, hex, hex, hex}),
                                        rules_.sequence({d, rules_.chars(CodepointSet({{'0', '7'}})), hex, hex})});
    const ExprId pair =
        rules_.sequence({d, set("89abAB"), hex, hex, rules_.bytes("\\u"), d, set("cdefCDEF"), hex, hex});
    const ExprId escaped =
        rules_.choice({set("\"\\/bfnrt"), rules_.sequence({rules_.bytes("u"), rules_.choice({basic, pair})})});
    return rules_.choice({rules_.chars(never_plain().complement()), rules_.sequence({rules_.bytes("\\"), escaped})});
  });
}

ExprId JsonPieces::plain_chars(const CodepointSet& set) {
  std::vector<ExprId> options = {rules_.chars(set.without(never_plain()))};
  const CodepointSet to_escape = set.intersect(never_plain());
  const auto escaped = [&] {
    std::vector<std::string> texts;
    for (const auto [first, last] : to_escape.ranges()) {
      for (uint32_t codepoint = first; codepoint <= last; ++codepoint) texts.push_back(escape(codepoint).substr(1));
    }
    return compile_list(std::move(texts), rules_);
  };
  if (!to_escape.empty()) {
    const bool is_all = to_escape == never_plain();
    options.push_back(
        rules_.sequence({rules_.bytes("\\"), is_all ? once(escape_, "json escape", escaped) : escaped()}));
  }
  return rules_.choice(std::move(options));
}

ExprId JsonPieces::text_unlike(const std::vector<std::vector<uint32_t>>& texts) {
  const auto [known, is_new] = unlike_.try_emplace(texts, 0);
  if (is_new) {
    known->second = rules_.add_rule("text unlike others");
    rules_.define(known->second, rules_.sequence({rules_.bytes("\""), unlike(texts, 0, texts.size(), 0)}));
  }
  return rules_.call(known->second);
}

// The rest of a text, with the closing quote, that equals texts[begin, end) so far and must differ from all of them.
ExprId JsonPieces::unlike(const std::vector<std::vector<uint32_t>>& texts, size_t begin, size_t end, size_t depth) {
  std::vector<ExprId> options;
  const bool is_text = begin < end && texts[begin].size() == depth;
  if (is_text) {
    ++begin;
  } else {
    options.push_back(rules_.bytes("\""));
  }
  std::vector<CodepointRange> taken;
  while (begin < end) {
    const uint32_t next = texts[begin][depth];
    size_t stop = begin;
    while (stop < end && texts[stop][depth] == next) ++stop;
    taken.push_back({next, next});
    options.push_back(
        rules_.sequence({plain_chars(CodepointSet({{next, next}})), unlike(texts, begin, stop, depth + 1)}));
    begin = stop;
  }
  options.push_back(rest_unlike(CodepointSet(std::move(taken))));
  return rules_.choice(std::move(options));
}

// Any characters of which the first is not in the set, and the closing quote.
ExprId JsonPieces::rest_unlike(const CodepointSet& first) {
  auto known = std::find_if(rests_.begin(), rests_.end(), [&](const auto& rest) { return rest.first == first; });
  if (known == rests_.end()) {
    const RuleId rule = rules_.add_rule("rest of a name");
    known = rests_.insert(known, {first, rule});
    const ExprId any = rules_.repeat(plain_chars(CodepointSet::all()), 0, std::nullopt);
    const ExprId rest = rules_.sequence({plain_chars(first.complement()), any, rules_.bytes("\"")});
    rules_.define(rule, rest);
  }
  return rules_.call(known->second);
}

std::string JsonPieces::quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    must_be_escaped(byte) ? out += escape(byte) : out += c;
  }
  return out + '"';
}

}  // namespace wick::grammar
