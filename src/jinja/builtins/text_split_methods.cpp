// Methods of texts that take them apart.
#include <algorithm>

#include "jinja/builtins/characters.h"
#include "jinja/builtins/methods.h"
#include "jinja/builtins/text_search.h"

namespace wick::jinja {
namespace {

Value texts(const Value& self, const std::vector<std::string_view>& parts) {
  require_memory(static_cast<int64_t>(parts.size() * (sizeof(Text) + sizeof(Value))));
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const std::string_view part : parts) values.emplace_back(std::string(part), self.is_markup());
  return Value::list(std::move(values));
}

// Words between white space.
std::vector<std::string_view> split_words(std::string_view text, int64_t most) {
  std::vector<std::string_view> parts;
  for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) >= most) {
      add_part(parts, text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const size_t size = character_bytes(text.substr(end));
      if (is_space(code_point(text.substr(end, size)))) break;
      end += size;
    }
    add_part(parts, text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> rsplit_words(std::string_view text, int64_t most) {
  std::vector<std::string_view> words = split_words(text, -1);
  const auto count = static_cast<int64_t>(words.size());
  if (most < 0 || count <= most + 1) return most == 0 && count ? std::vector{strip_right(text)} : words;
  // What is left of the last `most` words stays together, with its white space in front.
  const std::string_view first_kept = words[static_cast<size_t>(count - most - 1)];
  const auto end = static_cast<size_t>(first_kept.data() + first_kept.size() - text.data());
  std::vector<std::string_view> parts = {text.substr(0, end)};
  parts.insert(parts.end(), words.end() - most, words.end());
  return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t most) {
  std::vector<std::string_view> parts;
  size_t at = 0;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t found = find_text(text, separator, at);
    if (found == text.npos) break;
    add_part(parts, text.substr(at, found - at));
    at = found + separator.size();
  }
  add_part(parts, text.substr(at));
  return parts;
}

std::vector<std::string_view> rsplit_at(std::string_view text, std::string_view separator, int64_t most) {
  std::vector<std::string_view> parts;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t found = rfind_text(text, separator);
    if (found == text.npos) break;
    add_part(parts, text.substr(found + separator.size()));
    text = text.substr(0, found);
  }
  add_part(parts, text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool kFromEnd>
Value split(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const int64_t most = bound.integer(1, -1);
  if (!bound.has(0)) {
    spend_work_on_characters(self.bytes().size());
    return texts(self, kFromEnd ? rsplit_words(self.bytes(), most) : split_words(self.bytes(), most));
  }
  const std::string_view separator = bound.text(0);
  if (separator.empty()) throw problem("empty separator");
  return texts(self, kFromEnd ? rsplit_at(self.bytes(), separator, most) : split_at(self.bytes(), separator, most));
}

Value splitlines(Interpreter&, const Value& self, const Arguments& arguments) {
  return texts(self, split_lines(self.bytes(), Bound("splitlines", arguments, {"keepends"}).flag(0)));
}

template <bool kFromEnd>
Value partition(Interpreter&, const Value& self, const Arguments& arguments) {
  const std::string_view separator = Bound("partition", arguments, {"sep"}, 1).text(0);
  if (separator.empty()) throw problem("empty separator");
  const std::string_view text = self.bytes();
  const size_t at = kFromEnd ? rfind_text(text, separator) : find_text(text, separator);
  if (at == text.npos) return kFromEnd ? Value::tuple({"", "", self}) : Value::tuple({self, "", ""});
  return Value::tuple({text.substr(0, at), separator, text.substr(at + separator.size())});
}

constexpr NamedFunction kSplitMethods[] = {
    {"split", split<false>},         {"rsplit", split<true>},         {"splitlines", splitlines},
    {"partition", partition<false>}, {"rpartition", partition<true>},
};

}  // namespace

std::span<const NamedFunction> text_split_methods() { return kSplitMethods; }

}  // namespace wick::jinja
