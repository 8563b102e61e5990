// Methods of texts that give a changed text.
#include <algorithm>

#include "jinja/builtins/characters.h"
#include "jinja/builtins/methods.h"
#include "jinja/builtins/number_format.h"
#include "jinja/builtins/python_format.h"
#include "jinja/builtins/text_format.h"
#include "jinja/builtins/text_search.h"

namespace wick::jinja {
namespace {

// What a method makes of markup is markup.
Value like(const Value& self, std::string text) { return {std::move(text), self.is_markup()}; }

template <std::string (*kChange)(std::string_view)>
Value change(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("the method", arguments);
  spend_work_on_characters(self.bytes().size());
  return like(self, kChange(self.bytes()));
}

template <bool kLeft, bool kRight>
Value strip(Interpreter&, const Value& self, const Arguments& arguments) {
  return like(self, strip_text(self, Bound("strip", arguments, {"chars"}).get(0), kLeft, kRight));
}

Value replace(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const bool escapes = self.is_markup();
  const Value new_text = escapes ? escape(*bound[1]) : bound.get(1);
  if (!escapes) bound.text(1);  // it must be one
  return like(self, replace_text(self.bytes(), bound.text(0), new_text.bytes(), bound.integer(2, -1)));
}

template <char kAlign>
Value justify(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("justify", arguments, {"width", "fillchar"}, 1);
  FormatSpec spec;
  spec.align = kAlign;
  spec.width = to_index(*bound[0]);
  spec.fill = bound.text(1, " ");
  if (count_characters(spec.fill) != 1) throw problem("The fill character must be exactly one character long");
  return like(self, pad("", self.bytes(), spec, kAlign));
}

Value center(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width", "fillchar"}, 1);
  return like(self, center_text(self.bytes(), to_index(*bound[0]), bound.text(1, " ")));
}

Value zfill(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("zfill", arguments, {"width"}, 1);
  const std::string_view text = self.bytes();
  FormatSpec spec;
  spec.align = '=';
  spec.fill = "0";
  spec.width = to_index(*bound[0]);
  const size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  return like(self, pad(text.substr(0, sign), text.substr(sign), spec, '='));
}

Value expand_tabs(Interpreter&, const Value& self, const Arguments& arguments) {
  const int64_t size = Bound("expandtabs", arguments, {"tabsize"}).integer(0, 8);
  spend_work_on_characters(self.bytes().size());
  std::string out;
  int64_t column = 0;
  for (const char c : self.bytes()) {
    if (c == '\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      require_memory(static_cast<int64_t>(out.size()) + spaces);
      out.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      out += c;
      column = c == '\n' || c == '\r' ? 0 : column + ((static_cast<uint8_t>(c) & 0xC0) != 0x80);
    }
  }
  return like(self, std::move(out));
}

Value remove_prefix(Interpreter&, const Value& self, const Arguments& arguments) {
  const std::string_view text = self.bytes(), prefix = Bound("removeprefix", arguments, {"prefix"}, 1).text(0);
  return text.starts_with(prefix) ? like(self, std::string(text.substr(prefix.size()))) : self;
}

Value remove_suffix(Interpreter&, const Value& self, const Arguments& arguments) {
  const std::string_view text = self.bytes(), suffix = Bound("removesuffix", arguments, {"suffix"}, 1).text(0);
  return text.ends_with(suffix) ? like(self, std::string(text.substr(0, text.size() - suffix.size()))) : self;
}

Value join(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"}, 1);
  std::string out;
  const auto items = iterate(*bound[0]);
  spend_work(static_cast<int64_t>(items->values.size()));
  for (size_t i = 0; i < items->values.size(); ++i) {
    const Value& item = items->values[i];
    if (!item.is_text() && !self.is_markup()) {
      throw problem("sequence item ", i, ": expected str instance, ", item.type_name(), " found");
    }
    if (i) out += self.bytes();
    out += (self.is_markup() ? escape(item) : item).bytes();
    require_memory(static_cast<int64_t>(out.size()));
  }
  return like(self, std::move(out));
}

Value format(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return text_format(interpreter, self, arguments);
}

Value format_map(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("format_map", arguments, {"mapping"}, 1);
  if (!bound[0]->is_dict()) throw problem("format_map() takes a mapping, not ", bound[0]->type_name());
  Arguments named;
  for (const auto& [key, value] : bound[0]->as_dict().entries()) {
    if (key.is_text()) named.named.emplace_back(key.bytes(), value);
  }
  return text_format(interpreter, self, named);
}

constexpr NamedFunction kTextMethods[] = {
    {"strip", strip<true, true>},
    {"lstrip", strip<true, false>},
    {"rstrip", strip<false, true>},
    {"upper", change<to_upper>},
    {"lower", change<to_lower>},
    {"title", change<to_title>},
    {"capitalize", change<to_capitalized>},
    {"swapcase", change<swap_case>},
    {"casefold", change<to_folded>},
    {"replace", replace},
    {"ljust", justify<'<'>},
    {"rjust", justify<'>'>},
    {"center", center},
    {"zfill", zfill},
    {"expandtabs", expand_tabs},
    {"removeprefix", remove_prefix},
    {"removesuffix", remove_suffix},
    {"join", join},
    {"format", format},
    {"format_map", format_map},
};

}  // namespace

std::span<const NamedFunction> text_methods() { return kTextMethods; }

}  // namespace wick::jinja
