#include "jinja/builtins/text_format.h"

#include <algorithm>

#include "base/utf8.h"
#include "jinja/builtins/number_format.h"
#include "jinja/builtins/python_format.h"
#include "jinja/interpreter.h"

namespace wick::jinja {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int64_t small_number(std::string_view digits) {
  if (digits.size() > 9) throw problem("Too many decimal digits in format string");
  int64_t number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  return number;
}

class Formatter {
 public:
  Formatter(Interpreter& interpreter, const Arguments& arguments, bool markup)
      : interpreter_(interpreter), arguments_(arguments), markup_(markup) {}

  std::string run(std::string_view text, int depth = 0) {
    if (depth > 1) throw problem("Max string recursion exceeded");
    std::string out;
    for (size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      const bool twice = at + 1 < text.size() && text[at + 1] == c;
      if ((c == '{' || c == '}') && twice) {
        out += c;
        ++at;
      } else if (c == '}') {
        throw problem("Single '}' encountered in format string");
      } else if (c == '{') {
        const size_t end = closing(text, at + 1);
        out += field(text.substr(at + 1, end - at - 1), depth);
        require_memory(static_cast<int64_t>(out.size()));
        at = end;
      } else {
        out += c;
      }
    }
    return out;
  }

 private:
  static size_t closing(std::string_view text, size_t at) {
    for (int open = 1; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    throw problem("Single '{' encountered in format string");
  }

  std::string field(std::string_view text, int depth) {
    const size_t name_end = std::min(text.find_first_of("!:"), text.size());
    const std::string_view name = text.substr(0, name_end);
    std::string_view rest = text.substr(name_end);
    Value value = lookup(name);
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) {
        throw problem("expected ':' after conversion specifier");
      }
      value = converted(value, rest[1]);
      rest.remove_prefix(2);
    }
    const std::string spec = rest.empty() ? "" : run(rest.substr(1), depth + 1);
    if (markup_) value = escape(value);
    return format_value(value, parse_format_spec(spec));
  }

  static Value converted(const Value& value, char conversion) {
    if (conversion == 's') return to_text(value);
    if (conversion == 'r') return repr(value);
    if (conversion == 'a') {
      std::string out;
      append_text_repr(out, to_text(value), true);
      return value.is_text() ? Value(std::move(out)) : Value(repr(value));
    }
    throw problem("Unknown conversion specifier ", in_quotes(std::string(1, conversion)));
  }

  Value lookup(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    spend_work();
    Value value = argument(name.substr(0, first_end));
    std::string_view rest = name.substr(first_end);
    while (!rest.empty()) {
      if (rest[0] == '.') {
        const size_t end = std::min(rest.find_first_of(".[", 1), rest.size());
        if (end == 1) throw problem("Empty attribute in format string");
        value = interpreter_.attribute(value, rest.substr(1, end - 1));
        rest.remove_prefix(end);
      } else if (rest[0] == '[') {
        const size_t end = rest.find(']');
        if (end == rest.npos) throw problem("Missing ']' in format string");
        const std::string_view key = rest.substr(1, end - 1);
        value = interpreter_.item(value, all_digits(key) ? Value(small_number(key)) : Value(key));
        rest.remove_prefix(end + 1);
      } else {
        throw problem("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  Value argument(std::string_view name) {
    size_t index = 0;
    if (name.empty()) {
      index = next_++;
    } else if (all_digits(name)) {
      index = static_cast<size_t>(small_number(name));
    } else {
      const Value* value = arguments_.find(name);
      if (!value) throw problem("the format names ", in_quotes(name), ", which is not given");
      return *value;
    }
    if (index >= arguments_.positional.size()) {
      throw problem("Replacement index ", index, " out of range for positional args tuple");
    }
    return arguments_.positional[index];
  }

  Interpreter& interpreter_;
  const Arguments& arguments_;
  bool markup_;
  size_t next_ = 0;
};

}  // namespace

Value text_format(Interpreter& interpreter, const Value& format, const Arguments& arguments) {
  const bool markup = format.is_markup();
  spend_work_on_characters(format.bytes().size());
  return {Formatter(interpreter, arguments, markup).run(format.bytes()), markup};
}

}  // namespace wick::jinja
