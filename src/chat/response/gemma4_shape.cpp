// Gemma 4: <|tool_call>call:NAME{KEY:VALUE,...}<tool_call|>, where VALUE is <|"|>text<|"|>, a number, true, false,
// null, [VALUE,...] or {KEY:VALUE,...}. Keys are bare, or written as texts are.
#include <algorithm>
#include <utility>

#include "base/json_write.h"
#include "chat/response/argument_list.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"
#include "tokenizer/stages/code_points.h"

namespace wick::response {
namespace {

constexpr std::string_view kOpenCall = "<|tool_call>", kCloseCall = "<tool_call|>", kCalls = "call:";
constexpr std::string_view kQuote = "<|\"|>";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(leading_space(text));
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

// A value as JSON. What is in no quotes stays, but for keys.
std::string as_json(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    if (value.starts_with(kQuote)) {
      value.remove_prefix(kQuote.size());
      const size_t end = std::min(value.find(kQuote), value.size());
      append_json_text(out, replace_invalid_utf8(value.substr(0, end)));
      value.remove_prefix(std::min(end + kQuote.size(), value.size()));
      continue;
    }
    const size_t end = std::min(value.find_first_of(",:{}[]<"), value.size());
    const std::string_view bare = trimmed(value.substr(0, end));
    if (end < value.size() && value[end] == ':' && !bare.empty()) {
      append_json_text(out, replace_invalid_utf8(bare));
    } else {
      out += bare;
    }
    value.remove_prefix(end);
    if (value.empty() || value.starts_with(kQuote)) continue;
    out += value.front();
    value.remove_prefix(1);
  }
  return out;
}

class Gemma4Shape : public Shape {
 public:
  explicit Gemma4Shape(const Json* tools) : arguments_(tools) {}

  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kContent: return content(text, final, builder);
      case State::kHeader: return header(text, final, builder);
      case State::kKey: return key(text, final, builder);
      case State::kValue: return value(text, final, builder);
      case State::kText: return quoted(text, final, builder);
      case State::kOther: return other(text, final, builder);
      case State::kClose: return close(text, final);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

  void finish(Builder& builder) override {
    if (state_ == State::kKey || state_ == State::kValue || state_ == State::kText || state_ == State::kOther)
      arguments_.cut_off(builder);
  }

 private:
  enum class State { kContent, kHeader, kKey, kValue, kText, kOther, kClose };
  static constexpr size_t kMostHeader = 512;

  size_t go(State state) {
    state_ = state;
    again_ = true;
    return 0;
  }

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kOpenCall}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    state_ = State::kHeader;
    return hit.at + kOpenCall.size();
  }

  // call:NAME{
  size_t header(std::string_view text, bool final, Builder& builder) {
    const Starts calls = starts_with_marker(text, kCalls, final);
    const auto [found, end] = find_header_end(text, "{", kMostHeader, final);
    if (calls == Starts::kUnknown || (calls == Starts::kYes && found == Starts::kUnknown)) return 0;
    if (calls == Starts::kNo || found == Starts::kNo) {
      builder.add_content(kOpenCall);
      return go(State::kContent);
    }
    arguments_.begin(trimmed(text.substr(kCalls.size(), end - kCalls.size())), builder);
    state_ = State::kKey;
    return end + 1;
  }

  size_t key(std::string_view text, bool final, Builder& builder) {
    if (const size_t space = leading_space(text)) return space;
    if (text.starts_with(',')) return 1;
    const Starts closes = starts_with_marker(text, kCloseCall, final);
    if (closes == Starts::kUnknown) return 0;
    if (closes == Starts::kYes || text.starts_with('}')) {
      arguments_.end(builder);
      if (closes == Starts::kYes) return go(State::kClose);
      state_ = State::kClose;
      return 1;
    }
    const auto [found, colon] = find_header_end(text, ":", kMostHeader, final);
    if (found == Starts::kUnknown) return 0;
    const size_t end = found == Starts::kYes ? colon : std::min(text.size(), kMostHeader);
    std::string_view name = trimmed(text.substr(0, end));
    if (name.starts_with(kQuote) && name.ends_with(kQuote) && name.size() >= 2 * kQuote.size()) {
      name = name.substr(kQuote.size(), name.size() - 2 * kQuote.size());
    }
    name_ = name;
    state_ = State::kValue;
    return found == Starts::kYes ? end + 1 : end;
  }

  size_t value(std::string_view text, bool final, Builder& builder) {
    if (const size_t space = leading_space(text)) return space;
    const Starts quotes = starts_with_marker(text, kQuote, final);
    if (quotes == Starts::kUnknown) return 0;
    arguments_.begin_value(name_, quotes == Starts::kYes, builder);
    state_ = quotes == Starts::kYes ? State::kText : State::kOther;
    depth_ = 0;
    in_quotes_ = false;
    held_.clear();
    return quotes == Starts::kYes ? kQuote.size() : go(State::kOther);
  }

  size_t quoted(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kQuote}, final);
    arguments_.add_to_value(text.substr(0, hit.at), builder);
    if (hit.which < 0) return hit.at;
    arguments_.end_value(builder);
    state_ = State::kKey;
    return hit.at + kQuote.size();
  }

  // Up to the comma or bracket behind the value.
  size_t other(std::string_view text, bool final, Builder& builder) {
    size_t read = 0;
    while (read < text.size()) {
      const std::string_view rest = text.substr(read);
      const Starts quotes = starts_with_marker(rest, kQuote, final);
      if (quotes == Starts::kUnknown) return read;
      if (quotes == Starts::kYes) {
        in_quotes_ = !in_quotes_;
        held_ += kQuote;
        read += kQuote.size();
        continue;
      }
      const char c = rest.front();
      if (!in_quotes_ && depth_ == 0 && (c == ',' || c == '}')) {
        arguments_.add_to_value(as_json(held_), builder);
        arguments_.end_value(builder);
        state_ = State::kKey;
        again_ = read == 0;
        return read;
      }
      if (!in_quotes_) depth_ += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      held_ += c;
      ++read;
    }
    return read;
  }

  size_t close(std::string_view text, bool final) {
    const size_t space = leading_space(text);
    const Starts closes = starts_with_marker(text.substr(space), kCloseCall, final);
    if (closes == Starts::kUnknown) return 0;
    if (closes == Starts::kNo) return go(State::kContent);
    state_ = State::kContent;
    return space + kCloseCall.size();
  }

  ArgumentList arguments_;
  State state_ = State::kContent;
  std::string name_, held_;
  int depth_ = 0;  // brackets that are open in a value
  bool in_quotes_ = false, again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_gemma4_shape(const Json* tools) { return std::make_unique<Gemma4Shape>(tools); }

}  // namespace wick::response
