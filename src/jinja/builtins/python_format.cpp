#include "jinja/builtins/python_format.h"

#include <cmath>

#include "jinja/builtins/characters.h"

namespace wick::jinja {
namespace {

using Kind = Value::Kind;

void append_hex(std::string& out, uint32_t value, int digits) {
  constexpr char kHex[] = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHex[value >> shift & 15];
}

void append_escaped_code(std::string& out, char32_t code) {
  if (code < 0x100) {
    out += "\\x";
    append_hex(out, code, 2);
  } else if (code < 0x10000) {
    out += "\\u";
    append_hex(out, code, 4);
  } else {
    out += "\\U";
    append_hex(out, code, 8);
  }
}

void append_items(std::string& out, std::span<const Value> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out += ", ";
    append_repr(out, items[i]);
  }
}

void append_dict(std::string& out, const Dict& dict) {
  out += '{';
  for (size_t i = 0; i < dict.size(); ++i) {
    if (i) out += ", ";
    append_repr(out, dict.entries()[i].first);
    out += ": ";
    append_repr(out, dict.entries()[i].second);
  }
  out += '}';
}

}  // namespace

std::string float_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string out;
  append_number(out, number);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

void append_text_repr(std::string& out, std::string_view text, bool ascii) {
  spend_work_on_characters(text.size());
  const bool double_quotes = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = double_quotes ? '"' : '\'';
  out += quote;
  for (const std::string_view character : Characters(text)) {
    const char first = character[0];
    if (first == quote || first == '\\') {
      out += {'\\', first};
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '\r') {
      out += "\\r";
    } else if (first == '\t') {
      out += "\\t";
    } else if (first >= ' ' && first < 0x7F) {
      out += first;
    } else if (const char32_t code = code_point(character); ascii || !is_printable(code)) {
      append_escaped_code(out, code);
    } else {
      out += character;
    }
  }
  out += quote;
}

void append_repr(std::string& out, const Value& value) {
  spend_work();
  require_memory(static_cast<int64_t>(out.size()));
  switch (value.kind()) {
    case Kind::kText:
      if (value.is_markup()) out += "Markup(";
      append_text_repr(out, value.bytes());
      if (value.is_markup()) out += ')';
      break;
    case Kind::kList:
      out += '[';
      append_items(out, value.items());
      out += ']';
      break;
    case Kind::kTuple:
      out += '(';
      append_items(out, value.items());
      out += value.items().size() == 1 ? ",)" : ")";
      break;
    case Kind::kDict: append_dict(out, value.as_dict()); break;
    case Kind::kUndefined: out += "Undefined"; break;
    default: append_text(out, value);
  }
}

std::string repr(const Value& value) {
  std::string out;
  append_repr(out, value);
  return out;
}

void append_text(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Kind::kNone: out += "None"; break;
    case Kind::kBool: out += value.as_bool() ? "True" : "False"; break;
    case Kind::kInt: append_number(out, value.as_int()); break;
    case Kind::kFloat: out += float_repr(value.as_number()); break;
    case Kind::kText: out += value.bytes(); break;
    case Kind::kUndefined: break;
    case Kind::kObject: out += value.as_object().repr(); break;
    default: append_repr(out, value);
  }
}

std::string to_text(const Value& value) {
  std::string out;
  append_text(out, value);
  return out;
}

Value to_text_value(const Value& value) { return value.is_text() ? value : Value(to_text(value)); }

std::string escape_html(std::string_view text) {
  std::string out;
  require_memory(static_cast<int64_t>(text.size()));
  spend_work_on_characters(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

Value escape(const Value& value) {
  if (value.is_markup()) return value;
  return {escape_html(to_text_value(value).bytes()), true};
}

}  // namespace wick::jinja
