#include "jinja/builtins/json_text.h"

#include <algorithm>
#include <cmath>

#include "jinja/builtins/characters.h"
#include "jinja/builtins/python_format.h"
#include "jinja/compare.h"

namespace wick::jinja {
namespace {

using Kind = Value::Kind;

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    spend_work();
    require_memory(static_cast<int64_t>(out_.size()));
    switch (value.kind()) {
      case Kind::kNone: out_ += "null"; break;
      case Kind::kBool: out_ += value.as_bool() ? "true" : "false"; break;
      case Kind::kInt: append_number(out_, value.as_int()); break;
      case Kind::kFloat: out_ += number(value.as_number()); break;
      case Kind::kText: text(value.bytes()); break;
      case Kind::kList:
      case Kind::kTuple: list(value.items()); break;
      case Kind::kDict: dict(value.as_dict()); break;
      default: throw problem("Object of type ", value.type_name(), " is not JSON serializable");
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_repr(value);
  }

  void code_unit(uint32_t unit) {
    constexpr char kHex[] = "0123456789abcdef";
    out_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out_ += kHex[unit >> shift & 15];
  }

  void text(std::string_view value) {
    constexpr std::string_view kShort = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    spend_work_on_characters(value.size());
    out_ += '"';
    for (const std::string_view character : Characters(value)) {
      const char first = character[0];
      if (const size_t at = kShort.find(first); at != kShort.npos) {
        out_ += {'\\', kLetters[at]};
      } else if (first >= 0 && first < 0x20) {
        code_unit(static_cast<uint32_t>(first));
      } else if (!style_.ensure_ascii || (first >= 0 && first < 0x7F)) {
        out_ += character;
      } else if (const uint32_t code = code_point(character); code < 0x10000) {
        if (code == 0x7F) {
          out_ += first;
        } else {
          code_unit(code);
        }
      } else {
        code_unit(0xD800 + ((code - 0x10000) >> 10));
        code_unit(0xDC00 + ((code - 0x10000) & 0x3FF));
      }
    }
    out_ += '"';
  }

  void new_line() {
    if (!style_.indent) return;
    require_memory(static_cast<int64_t>(style_.indent->size()) * level_);
    spend_work_on_bytes(style_.indent->size() * static_cast<size_t>(level_));
    out_ += '\n';
    for (int i = 0; i < level_; ++i) out_ += *style_.indent;
  }

  void list(std::span<const Value> items) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) out_ += style_.item_separator;
      new_line();
      write(items[i]);
    }
    --level_;
    new_line();
    out_ += ']';
  }

  static std::string key_text(const Value& key) {
    if (key.is_text()) return std::string(key.bytes());
    if (key.is_none()) return "null";
    if (key.is_bool()) return key.as_bool() ? "true" : "false";
    if (key.is_float()) return number(key.as_number());
    if (key.is_int()) return to_text(key);
    throw problem("keys must be str, int, float, bool or None, not ", key.type_name());
  }

  void dict(const Dict& dict) {
    if (dict.size() == 0) {
      out_ += "{}";
      return;
    }
    std::vector<Dict::Entry> sorted;
    if (style_.sort_keys) {
      sorted = dict.entries();
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return less(a.first, b.first); });
    }
    const std::vector<Dict::Entry>& entries = style_.sort_keys ? sorted : dict.entries();
    out_ += '{';
    ++level_;
    bool first = true;
    for (const auto& [key, value] : entries) {
      if (!std::exchange(first, false)) out_ += style_.item_separator;
      new_line();
      text(key_text(key));
      out_ += style_.key_separator;
      write(value);
    }
    --level_;
    new_line();
    out_ += '}';
  }

  const JsonStyle& style_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

std::string json_text(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value);
  return writer.take();
}

}  // namespace wick::jinja
