// Llama 3.1: the whole answer is {"name": ..., "parameters": {...}}, several with ';' between them. After
// <|python_tag|> comes such an object, a call like search.call(query="..."), or code for the interpreter.
#include <optional>
#include <utility>

#include "base/json_write.h"
#include "base/utf8.h"
#include "chat/response/json_scan.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"

namespace wick::response {
namespace {

constexpr std::string_view kPythonTag = "<|python_tag|>";

// search.call(query="...", count=3) as a name and JSON arguments; empty when it is written otherwise.
std::optional<ToolCall> built_in_call(std::string_view code) {
  const size_t open = code.find(".call(");
  code = code.substr(0, code.find_last_not_of(" \t\r\n") + 1);
  if (open == code.npos || open == 0 || !code.ends_with(')')) return std::nullopt;
  ToolCall call;
  call.name = code.substr(0, open);
  if (call.name.find_first_of(" \n(\"'") != std::string::npos) return std::nullopt;
  std::string_view rest = code.substr(open + 6, code.size() - open - 7);
  call.arguments = "{";
  while (!rest.empty()) {
    const size_t equals = rest.find('=');
    if (equals == rest.npos) return std::nullopt;
    const std::string_view key = rest.substr(leading_space(rest), equals - leading_space(rest));
    rest.remove_prefix(equals + 1);
    JsonScan scan;
    size_t end = 0;
    while (end < rest.size() && scan.state() == JsonScan::State::kOpen && scan.push(rest[end])) ++end;
    if (scan.state() == JsonScan::State::kBad) return std::nullopt;
    if (call.arguments.size() > 1) call.arguments += ", ";
    append_json_text(call.arguments, key);
    call.arguments += ": ";
    call.arguments += rest.substr(0, end);
    rest.remove_prefix(end);
    rest.remove_prefix(leading_space(rest));
    if (rest.starts_with(',')) rest.remove_prefix(1);
  }
  call.arguments += '}';
  try {
    Json::parse(call.arguments, "call");
  } catch (const Error&) {
    return std::nullopt;
  }
  return call;
}

class Llama3Shape : public Shape {
 public:
  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kStart: return start(text, final, builder);
      case State::kJson: return json(text, builder);
      case State::kBetween: return between(text, final);
      case State::kCode: code_ += text; return text.size();
      case State::kContent: return content(text, final, builder);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

  void finish(Builder& builder) override {
    if (state_ == State::kJson && !call_.begun()) builder.add_content(call_.raw());
    if (state_ != State::kCode || code_.empty()) return;
    if (const auto call = built_in_call(code_)) {
      builder.begin_call(call->name);
      builder.add_arguments(call->arguments);
    } else {
      builder.begin_call("code_interpreter");
      std::string arguments = "{\"code\": ";
      append_json_text(arguments, is_utf8(code_) ? code_ : "");
      builder.add_arguments(arguments + "}");
    }
  }

 private:
  enum class State { kStart, kJson, kBetween, kCode, kContent };

  size_t go(State state) {
    state_ = state;
    again_ = true;
    return 0;
  }

  size_t start(std::string_view text, bool final, Builder& builder) {
    if (const size_t space = leading_space(text)) {
      if (!tagged_) builder.add_content(text.substr(0, space));
      return space;
    }
    if (text.empty()) return 0;
    if (text[0] == '{') {
      call_ = JsonCall();
      return go(State::kJson);
    }
    if (tagged_) return go(State::kCode);
    const Starts starts = starts_with_marker(text, kPythonTag, final);
    if (starts == Starts::kUnknown) return 0;
    if (starts == Starts::kNo) return go(State::kContent);
    tagged_ = true;
    return kPythonTag.size();
  }

  size_t json(std::string_view text, Builder& builder) {
    for (size_t i = 0; i < text.size(); ++i) {
      const JsonCall::State state = call_.push(text[i], builder);
      const bool no_call = state == JsonCall::State::kBad || !call_.first_key_fits();
      if (no_call && !call_.begun()) {
        builder.add_content(call_.raw());
        state_ = State::kContent;
        return i + 1;
      }
      if (state != JsonCall::State::kOpen) {
        state_ = State::kBetween;
        return i + 1;
      }
    }
    return text.size();
  }

  // Another object may follow, after ';' or directly.
  size_t between(std::string_view text, bool final) {
    if (const size_t space = leading_space(text)) return space;
    if (text.empty()) return 0;
    if (text[0] == ';' || text[0] == ',') return 1;
    if (text[0] == '{') {
      call_ = JsonCall();
      return go(State::kJson);
    }
    const Starts starts = starts_with_marker(text, kPythonTag, final);
    if (starts == Starts::kUnknown) return 0;
    if (starts == Starts::kNo) return go(State::kContent);
    tagged_ = true;
    state_ = State::kStart;
    return kPythonTag.size();
  }

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kPythonTag}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    tagged_ = true;
    state_ = State::kStart;
    return hit.at + kPythonTag.size();
  }

  State state_ = State::kStart;
  JsonCall call_;
  std::string code_;
  bool tagged_ = false, again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_llama3_shape() { return std::make_unique<Llama3Shape>(); }

}  // namespace wick::response
