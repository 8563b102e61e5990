// Filters for texts.
#include <algorithm>

#include "jinja/builtins/characters.h"
#include "jinja/builtins/filters.h"
#include "jinja/builtins/number_format.h"
#include "jinja/builtins/percent_format.h"
#include "jinja/builtins/python_format.h"
#include "jinja/builtins/text_search.h"
#include "jinja/builtins/word_wrap.h"
#include "jinja/interpreter.h"

namespace wick::jinja {
namespace {

template <std::string (*kChange)(std::string_view)>
Value change(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("the filter", arguments);
  const Value text = to_text_value(value);
  spend_work_on_characters(text.bytes().size());
  return {kChange(text.bytes()), text.is_markup()};
}

// Words begin after white space and -({[<, unlike those of str.title().
std::string title_words(std::string_view text) {
  std::string out;
  bool starts = true;
  for (size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, character_bytes(text.substr(at)));
    at += character.size();
    const bool separates =
        is_space(code_point(character)) || std::string_view("-({[<").find(character) != std::string_view::npos;
    out += starts && !separates ? to_upper(character) : to_lower(character);
    starts = separates;
  }
  return out;
}

Value trim(Interpreter&, const Value& value, const Arguments& arguments) {
  const Value text = to_text_value(value);
  return {strip_text(text, Bound("trim", arguments, {"chars"}).get(0), true, true), text.is_markup()};
}

Value replace(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const Value text = to_text_value(value), old_text = to_text_value(*bound[0]), new_text = to_text_value(*bound[1]);
  return replace_text(text.bytes(), old_text.bytes(), new_text.bytes(), bound.integer(2, -1));
}

Value center(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  const Value text = to_text_value(value);
  return {center_text(text.bytes(), bound.integer(0, 80), " "), text.is_markup()};
}

Value format(Interpreter&, const Value& value, const Arguments& arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    throw problem("can't handle positional and keyword arguments at the same time");
  }
  if (arguments.named.empty()) return percent_format(to_text_value(value), Value::tuple(arguments.positional));
  Dict named;
  for (const auto& [name, argument] : arguments.named) named.set(name, argument);
  return percent_format(to_text_value(value), Value(std::move(named)));
}

const Value& expect_text(const Value& value) {
  if (value.is_undefined()) use_of_undefined(value);
  if (!value.is_text()) throw problem("expected text, not ", value.type_name());
  return value;
}

Value indent(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  std::string space;
  if (const Value width = bound.get(0, 4); width.is_text()) {
    space = width.bytes();
  } else {
    const int64_t count = to_index(width);
    require_memory(count);
    space.assign(static_cast<size_t>(std::max<int64_t>(count, 0)), ' ');
  }
  const std::string text = cat(expect_text(value).bytes(), "\n");
  const auto lines = split_lines(text, false);
  std::string out = bound.flag(1) ? space : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i) out += '\n';
    if (i && (bound.flag(2) || !lines[i].empty())) out += space;
    out += lines[i];
    require_memory(static_cast<int64_t>(out.size() + space.size()));
  }
  return {std::move(out), value.is_markup()};
}

Value truncate(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const Value& text = expect_text(value);
  const int64_t length = bound.integer(0, 255), leeway = bound.integer(3, 5);
  const std::string_view end = bound.text(2, "...");
  const int64_t end_length = count_characters(end);
  if (length < end_length) throw problem("expected length >= ", end_length, ", got ", length);
  if (leeway < 0) throw problem("expected leeway >= 0, got ", leeway);
  if (text.as_text().length <= length || text.as_text().length - length <= leeway) return text;
  std::string_view kept = text.bytes().substr(0, byte_offset(text.bytes(), length - end_length));
  spend_work_on_characters(kept.size());
  if (!bound.flag(1)) {
    const size_t space = kept.rfind(' ');
    if (space != kept.npos) kept = kept.substr(0, space);
  }
  return {cat(kept, end), text.is_markup()};
}

Value wordcount(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("wordcount", arguments);
  int64_t count = 0;
  bool inside = false;
  const Value text = to_text_value(value);
  spend_work_on_characters(text.bytes().size());
  for (const std::string_view character : Characters(text.bytes())) {
    const bool word = is_word(code_point(character));
    count += word && !inside;
    inside = word;
  }
  return count;
}

Value wordwrap(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("wordwrap", arguments, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  WrapOptions options;
  options.width = bound.integer(0, 79);
  options.break_long_words = bound.flag(1, true);
  options.break_on_hyphens = bound.flag(3, true);
  const std::string_view separator = bound.has(2) ? bound.text(2) : "\n";
  std::string out;
  bool first_line = true;
  for (const std::string_view line : split_lines(expect_text(value).bytes(), false)) {
    if (!std::exchange(first_line, false)) out += separator;
    bool first_part = true;
    for (const std::string& part : wrap_line(line, options)) {
      if (!std::exchange(first_part, false)) out += separator;
      out += part;
    }
    require_memory(static_cast<int64_t>(out.size()));
  }
  return out;
}

constexpr NamedFilter kTextFilters[] = {
    {"upper", change<to_upper>},
    {"lower", change<to_lower>},
    {"capitalize", change<to_capitalized>},
    {"title", change<title_words>},
    {"trim", trim},
    {"replace", replace},
    {"center", center},
    {"format", format},
    {"indent", indent},
    {"truncate", truncate},
    {"wordcount", wordcount},
    {"wordwrap", wordwrap},
};

}  // namespace

std::span<const NamedFilter> text_filters() { return kTextFilters; }

}  // namespace wick::jinja
