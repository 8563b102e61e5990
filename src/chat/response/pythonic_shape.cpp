// Calls as Python writes them, in a list.
//   Llama 4: <|python_start|>[NAME(KEY=VALUE, ...), ...]<|python_end|>, the markers optional where the answer is
//   nothing
//            else; or {"name": ..., "parameters": {...}} in their place.
//   LFM2:    <|tool_call_start|>[NAME(KEY=VALUE, ...), ...]<|tool_call_end|>
#include <algorithm>
#include <utility>

#include "base/json_write.h"
#include "chat/response/argument_list.h"
#include "chat/response/json_scan.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"
#include "tokenizer/stages/code_points.h"

namespace wick::response {
namespace {

struct PythonMarks {
  std::string_view open, close;
  bool optional;  // a list at the answer's beginning needs none
};
constexpr PythonMarks kLlama4 = {"<|python_start|>", "<|python_end|>", true};
constexpr PythonMarks kLfm2 = {"<|tool_call_start|>", "<|tool_call_end|>", false};

bool is_quote(char c) { return c == '"' || c == '\''; }

// The text between quotes, without backslashes.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u' || c == 'x') {  // as JSON knows it
      const size_t digits = c == 'u' ? 4 : 2;
      const std::string hex(text.substr(i + 1, digits));
      const std::string json = "\"\\u" + std::string(4 - digits, '0') + hex + "\"";
      const std::string decoded = hex.size() == digits ? decoded_text(json) : json;
      out += decoded == json ? "\\" + std::string(1, c) + hex : decoded;
      i += hex.size();
    } else {
      const size_t known = std::string_view("ntrbf").find(c);
      if (known == std::string_view::npos && c != '\\' && !is_quote(c) && c != '\n') out += '\\';
      if (c != '\n') out += known == std::string_view::npos ? c : "\n\t\r\b\f"[known];
    }
  }
  return out;
}

// A Python literal as JSON: quotes, tuples and words differ.
std::string json_of_literal(std::string_view value) {
  std::string out;
  for (size_t i = 0; i < value.size();) {
    const char c = value[i];
    if (is_quote(c)) {
      size_t end = i + 1;
      while (end < value.size() && value[end] != c) end += value[end] == '\\' ? 2 : 1;
      end = std::min(end, value.size());
      append_json_text(out, replace_invalid_utf8(unescaped(value.substr(i + 1, end - i - 1))));
      i = end + 1;
    } else if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
      size_t end = i;
      while (end < value.size() &&
             ((value[end] >= 'A' && value[end] <= 'Z') || (value[end] >= 'a' && value[end] <= 'z')))
        ++end;
      const std::string_view word = value.substr(i, end - i);
      out += word == "True" ? "true" : word == "False" ? "false" : word == "None" ? "null" : word;
      i = end;
    } else {
      out += c == '(' ? '[' : c == ')' ? ']' : c;
      ++i;
    }
  }
  return out;
}

class PythonicShape : public Shape {
 public:
  PythonicShape(const PythonMarks& marks, const Json* tools) : marks_(marks), arguments_(tools) {
    state_ = marks.optional ? State::kOpened : State::kContent;
  }

  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kContent: return content(text, final, builder);
      case State::kOpened: return opened(text, final, builder);
      case State::kJson: return json(text, builder);
      case State::kCalls: return calls(text, final, builder);
      case State::kArguments: return arguments(text, final, builder);
      case State::kValue: return value(text, builder);
      case State::kClose: return close(text, final);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

  void finish(Builder& builder) override {
    if (state_ == State::kOpened || (state_ == State::kCalls && !begun_)) builder.add_content(held_);
    if (state_ == State::kJson && !call_.begun()) builder.add_content(held_ + call_.raw());
    if (state_ == State::kArguments || state_ == State::kValue) arguments_.cut_off(builder);
  }

 private:
  enum class State { kContent, kOpened, kJson, kCalls, kArguments, kValue, kClose };
  static constexpr size_t kMostName = 256;

  size_t go(State state) {
    state_ = state;
    again_ = true;
    return 0;
  }
  size_t no_call(Builder& builder) {
    builder.add_content(std::exchange(held_, {}));
    return go(State::kContent);
  }

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {marks_.open}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    held_ = marks_.open;
    state_ = State::kOpened;
    return hit.at + marks_.open.size();
  }

  // Behind the marker, or at the beginning of an answer.
  size_t opened(std::string_view text, bool final, Builder& builder) {
    if (const size_t space = leading_space(text)) {
      held_ += text.substr(0, space);
      return space;
    }
    const Starts marked = held_.empty() || held_.find(marks_.open) == std::string::npos
                              ? starts_with_marker(text, marks_.open, final)
                              : Starts::kNo;
    if (marked == Starts::kUnknown) return 0;
    if (marked == Starts::kYes) {
      held_ += marks_.open;
      return marks_.open.size();
    }
    begun_ = false;
    if (text[0] == '[') {
      held_ += '[';
      state_ = State::kCalls;
      return 1;
    }
    if (text[0] != '{') return no_call(builder);
    call_ = JsonCall();
    return go(State::kJson);
  }

  size_t json(std::string_view text, Builder& builder) {
    for (size_t i = 0; i < text.size(); ++i) {
      const JsonCall::State state = call_.push(text[i], builder);
      if ((state == JsonCall::State::kBad || !call_.first_key_fits()) && !call_.begun()) {
        builder.add_content(std::exchange(held_, {}) + call_.raw());
        state_ = State::kContent;
        return i + 1;
      }
      if (state == JsonCall::State::kOpen) continue;
      held_.clear();
      state_ = State::kClose;
      return i + 1;
    }
    return text.size();
  }

  // NAME( or the end of the list. Only what looks like a call makes the beginning one.
  size_t calls(std::string_view text, bool final, Builder& builder) {
    if (const size_t space = leading_space(text)) {
      held_ += text.substr(0, space);
      return space;
    }
    if (begun_ && text[0] == ',') return 1;
    if (text[0] == ']') {
      if (!begun_) return no_call(builder);
      state_ = State::kClose;
      return 1;
    }
    const size_t name = std::min(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                                        "0123456789_.-"),
                                 text.size());
    if (name == text.size() && !final && name < kMostName) return 0;
    if (name == 0 || name >= kMostName || name == text.size() || text[name] != '(') {
      if (!begun_) return no_call(builder);
      return go(State::kContent);
    }
    held_.clear();
    begun_ = true;
    arguments_.begin(text.substr(0, name), builder);
    state_ = State::kArguments;
    return name + 1;
  }

  size_t arguments(std::string_view text, bool final, Builder& builder) {
    if (const size_t space = leading_space(text)) return space;
    if (text[0] == ',') return 1;
    if (text[0] == ')') {
      arguments_.end(builder);
      state_ = State::kCalls;
      return 1;
    }
    const auto [found, end] = find_header_end(text, "=", kMostName, final);
    if (found == Starts::kUnknown) return 0;
    const size_t size = found == Starts::kYes ? end : std::min(text.size(), kMostName);
    name_ = text.substr(0, std::min(size, text.find_last_not_of(" \t\r\n", size - 1) + 1));
    value_.clear();
    quote_ = 0;
    escaped_ = false;
    depth_ = 0;
    state_ = State::kValue;
    return found == Starts::kYes ? end + 1 : size;
  }

  // Up to the comma or bracket behind it.
  size_t value(std::string_view text, Builder& builder) {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote_ == 0 && depth_ == 0 && (c == ',' || c == ')')) {
        end_value(builder);
        state_ = State::kArguments;
        again_ = i == 0;
        return i;
      }
      value_ += c;
      if (escaped_ || (quote_ != 0 && c == '\\')) {
        escaped_ = !escaped_;
      } else if (quote_ != 0) {
        if (c == quote_) quote_ = 0;
      } else if (is_quote(c)) {
        quote_ = c;
      } else {
        depth_ += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      }
    }
    return text.size();
  }

  void end_value(Builder& builder) {
    std::string_view bare = value_;
    bare.remove_prefix(leading_space(bare));
    bare = bare.substr(0, bare.find_last_not_of(" \t\r\n") + 1);
    const bool is_text = bare.size() >= 2 && is_quote(bare.front()) && bare.back() == bare.front();
    arguments_.begin_value(name_, is_text, builder);
    arguments_.add_to_value(is_text ? unescaped(bare.substr(1, bare.size() - 2)) : json_of_literal(bare), builder);
    arguments_.end_value(builder);
  }

  size_t close(std::string_view text, bool final) {
    const size_t space = leading_space(text);
    const Starts closes = starts_with_marker(text.substr(space), marks_.close, final);
    if (closes == Starts::kUnknown) return 0;
    // Another object may follow, after ';' or directly.
    const bool more = space < text.size() && (text[space] == ';' || text[space] == '{') && marks_.optional;
    if (closes == Starts::kNo && more) {
      state_ = State::kOpened;
      again_ = text[space] == '{' && space == 0;
      return space + (text[space] == ';' ? 1 : 0);
    }
    if (closes == Starts::kNo) return go(State::kContent);
    state_ = State::kContent;
    return space + marks_.close.size();
  }

  const PythonMarks& marks_;
  ArgumentList arguments_;
  State state_;
  JsonCall call_;
  std::string held_, name_, value_;
  char quote_ = 0;
  int depth_ = 0;  // brackets that are open in a value
  bool escaped_ = false, begun_ = false, again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_llama4_shape(const Json* tools) { return std::make_unique<PythonicShape>(kLlama4, tools); }

std::unique_ptr<Shape> make_lfm2_shape(const Json* tools) { return std::make_unique<PythonicShape>(kLfm2, tools); }

}  // namespace wick::response
