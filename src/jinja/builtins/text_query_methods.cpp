// Methods of texts that answer a question.
#include <algorithm>

#include "jinja/builtins/characters.h"
#include "jinja/builtins/methods.h"
#include "jinja/builtins/text_search.h"

namespace wick::jinja {
namespace {

// The part [start, end) of a text that a search looks at, and where it begins.
struct Part {
  std::string_view text;
  int64_t first = 0;
  bool valid = true;  // Python finds nothing, not even "", when start lies behind the end
};

Part part_of(const Value& self, const Bound& bound) {
  const int64_t length = self.as_text().length;
  const Value start = bound.get(1), stop = bound.get(2);
  if (start.is_none() && stop.is_none()) return {self.bytes()};
  if (start.is_integral() && start.as_int() > length) return {{}, 0, false};
  const Slice slice = resolve_slice(start, stop, {}, length);
  const int64_t first = start.is_none()                                   ? 0
                        : resolve_slice(start, {}, {}, length).count == 0 ? length
                                                                          : resolve_slice(start, {}, {}, length).first;
  if (self.as_text().one_byte_each()) {
    const auto at = static_cast<size_t>(first);
    return {self.bytes().substr(at, static_cast<size_t>(slice.count)), first};
  }
  const size_t begin = byte_offset(self.bytes(), first);
  const std::string_view rest = self.bytes().substr(begin);
  const size_t size = byte_offset(rest, slice.count);
  spend_work_on_characters(begin + size);
  return {rest.substr(0, size), first};
}

template <bool kFromEnd, bool kMustExist>
Value find(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("find", arguments, {"sub", "start", "end"}, 1);
  const std::string_view wanted = bound.text(0);
  const Part part = part_of(self, bound);
  const size_t at = !part.valid ? std::string_view::npos
                    : kFromEnd  ? rfind_text(part.text, wanted)
                                : find_text(part.text, wanted);
  if (at == std::string_view::npos) {
    if (kMustExist) throw problem("substring not found");
    return -1;
  }
  spend_work_on_bytes(at);
  return part.first + count_characters(part.text.substr(0, at));
}

Value count(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
  const Part part = part_of(self, bound);
  return part.valid ? count_text(part.text, bound.text(0)) : 0;
}

template <bool kEnd>
Value affix(Interpreter&, const Value& self, const Arguments& arguments) {
  constexpr std::string_view kName = kEnd ? "endswith" : "startswith";
  const Bound bound(kName, arguments, {"prefix", "start", "end"}, 1);
  const Part part = part_of(self, bound);
  const auto matches = [&](const Value& wanted) {
    if (wanted.is_undefined()) use_of_undefined(wanted);
    if (!wanted.is_text()) {
      throw problem(kName, " first arg must be str or a tuple of str, not ", wanted.type_name());
    }
    spend_work_on_bytes(std::min(wanted.bytes().size(), part.text.size()));
    return part.valid && (kEnd ? part.text.ends_with(wanted.bytes()) : part.text.starts_with(wanted.bytes()));
  };
  if (!bound[0]->is_tuple()) return matches(*bound[0]);
  const auto all = bound[0]->items();
  return std::any_of(all.begin(), all.end(), matches);
}

template <bool (*kHolds)(char32_t)>
Value all_are(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("the method", arguments);
  spend_work_on_characters(self.bytes().size() * 3);  // each is looked up in tables
  for (const std::string_view character : Characters(self.bytes())) {
    if (!kHolds(code_point(character))) return false;
  }
  return !self.bytes().empty();
}

bool is_alphanumeric(char32_t code) { return is_alpha(code) || is_decimal(code) || is_digit(code) || is_numeric(code); }

Value is_printable_text(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return self.bytes().empty() || all_are<is_printable>(interpreter, self, arguments).truthy();
}

Value is_ascii(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("isascii", arguments);
  spend_work_on_characters(self.bytes().size());
  return std::all_of(self.bytes().begin(), self.bytes().end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

// At least one cased character, and all of them of the kind.
template <bool (*kWanted)(char32_t)>
Value all_cased_are(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("the method", arguments);
  spend_work_on_characters(self.bytes().size());
  bool found = false;
  for (const std::string_view character : Characters(self.bytes())) {
    const char32_t code = code_point(character);
    if (kWanted(code)) {
      found = true;
    } else if (is_cased(code)) {
      return false;
    }
  }
  return found;
}

Value is_title_text(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("istitle", arguments);
  spend_work_on_characters(self.bytes().size());
  bool found = false, after_cased = false;
  for (const std::string_view character : Characters(self.bytes())) {
    const char32_t code = code_point(character);
    const bool starts = is_upper(code) || is_title(code);
    if (starts ? after_cased : is_lower(code) && !after_cased) return false;
    after_cased = starts || is_lower(code);
    found = found || after_cased;
  }
  return found;
}

Value is_identifier(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("isidentifier", arguments);
  spend_work_on_characters(self.bytes().size());
  bool first = true;
  for (const std::string_view character : Characters(self.bytes())) {
    const char32_t code = code_point(character);
    if (!(code == '_' || is_alpha(code) || (!first && is_word(code)))) return false;
    first = false;
  }
  return !first;
}

constexpr NamedFunction kQueryMethods[] = {
    {"find", find<false, false>},
    {"rfind", find<true, false>},
    {"index", find<false, true>},
    {"rindex", find<true, true>},
    {"count", count},
    {"startswith", affix<false>},
    {"endswith", affix<true>},
    {"isalpha", all_are<is_alpha>},
    {"isdigit", all_are<is_digit>},
    {"isdecimal", all_are<is_decimal>},
    {"isnumeric", all_are<is_numeric>},
    {"isspace", all_are<is_space>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isprintable", is_printable_text},
    {"isascii", is_ascii},
    {"isupper", all_cased_are<is_upper>},
    {"islower", all_cased_are<is_lower>},
    {"istitle", is_title_text},
    {"isidentifier", is_identifier},
};

}  // namespace

std::span<const NamedFunction> text_query_methods() { return kQueryMethods; }

}  // namespace wick::jinja
