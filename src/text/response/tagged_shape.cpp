// Hermes and Qwen: <tool_call>{"name": ..., "arguments": {...}}</tool_call>
// Qwen3-Coder:     <tool_call><function=NAME><parameter=KEY>VALUE</parameter>...</function></tool_call>
#include <optional>
#include <utility>

#include "base/json_write.h"
#include "base/utf8.h"
#include "text/response/json_scan.h"
#include "text/response/markers.h"
#include "text/response/shape.h"

namespace wick::response {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kFunction = "<function=", kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=", kParameterEnd = "</parameter>";

// Whether a parameter is declared as text; empty when nothing is declared.
std::optional<bool> declared_as_text(const Json* tools, std::string_view function, std::string_view parameter) {
  if (!tools || !tools->is_array()) return std::nullopt;
  for (const Json& tool : tools->as_array()) {
    if (!tool.is_object()) continue;
    const Json* described = tool.find("function");
    const Json& body = described && described->is_object() ? *described : tool;
    const Json* name = body.find("name");
    if (!name || !name->is_text() || name->as_text() != function) continue;
    const Json* schema = body.find("parameters");
    const Json* properties = schema && schema->is_object() ? schema->find("properties") : nullptr;
    const Json* property = properties && properties->is_object() ? properties->find(parameter) : nullptr;
    const Json* type = property && property->is_object() ? property->find("type") : nullptr;
    if (type && type->is_text()) return type->as_text() == "string";
  }
  return std::nullopt;
}

std::string json_of(const std::string& text, std::optional<bool> is_text) {
  if (!is_text.value_or(false)) {
    try {
      const Json value = Json::parse(text, "parameter");
      if (!value.is_text() || is_text == false) return text;
    } catch (const Error&) {
      if (text == "True" || text == "False" || text == "None") {  // as Python writes them
        return text == "True" ? "true" : text == "False" ? "false" : "null";
      }
    }
  }
  std::string out;
  append_json_text(out, is_utf8(text) ? text : "");
  return out;
}

class TaggedShape : public Shape {
 public:
  explicit TaggedShape(const Json* tools) : tools_(tools) {}

  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kContent: return content(text, final, builder);
      case State::kOpened: return opened(text, final, builder);
      case State::kJson: return json(text, builder);
      case State::kFunctionName: return function_name(text, final, builder);
      case State::kParameters: return parameters(text, final, builder);
      case State::kParameter: return parameter(text, final, builder);
      case State::kClosing: return closing(text, final);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(gave_up_, false); }

  void finish(Builder& builder) override {
    if (state_ == State::kJson && !call_.begun()) builder.add_content(held_ + call_.raw());
    if (state_ == State::kOpened) builder.add_content(held_);
    if (state_ == State::kParameters || state_ == State::kParameter) builder.add_arguments(first_ ? "{}" : "}");
  }

 private:
  enum class State { kContent, kOpened, kJson, kFunctionName, kParameters, kParameter, kClosing };

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kOpen, kFunction}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which == 0) {
      held_ = kOpen;
      state_ = State::kOpened;
      return hit.at + kOpen.size();
    }
    if (hit.which == 1) {
      held_ = kFunction;
      state_ = State::kFunctionName;
      return hit.at + kFunction.size();
    }
    return hit.at;
  }

  size_t opened(std::string_view text, bool final, Builder& builder) {
    const size_t space = leading_space(text);
    if (space > 0) {
      held_ += text.substr(0, space);
      return space;
    }
    if (text.starts_with('{')) {
      call_ = JsonCall();
      state_ = State::kJson;
      return json(text, builder);
    }
    switch (starts_with_marker(text, kFunction, final)) {
      case Starts::kUnknown: return 0;
      case Starts::kYes:
        held_ += kFunction;
        state_ = State::kFunctionName;
        return kFunction.size();
      case Starts::kNo: break;
    }
    return give_up(builder);
  }

  // What was held turns out to be plain text; nothing more of the text is consumed.
  size_t give_up(Builder& builder) {
    builder.add_content(std::exchange(held_, {}));
    state_ = State::kContent;
    gave_up_ = true;
    return 0;
  }

  size_t json(std::string_view text, Builder& builder) {
    for (size_t i = 0; i < text.size(); ++i) {
      const JsonCall::State state = call_.push(text[i], builder);
      if (state == JsonCall::State::kOpen) continue;
      if (state == JsonCall::State::kBad && !call_.begun()) {
        builder.add_content(std::exchange(held_, {}) + call_.raw());
        state_ = State::kContent;
      } else {
        state_ = State::kClosing;
      }
      return i + 1;
    }
    return text.size();
  }

  size_t function_name(std::string_view text, bool final, Builder& builder) {
    constexpr size_t kMostName = 256;
    const auto [found, end] = find_header_end(text, ">", kMostName, final);
    if (found == Starts::kUnknown) return 0;
    if (found == Starts::kNo || end == 0) return give_up(builder);
    name_ = text.substr(0, end);
    builder.begin_call(name_);
    first_ = true;
    state_ = State::kParameters;
    return end + 1;
  }

  size_t parameters(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kParameter, kFunctionEnd, kClose}, final);
    if (hit.which < 0) return hit.at;
    if (hit.which == 0) {
      const size_t begin = hit.at + kParameter.size();
      const size_t end = text.find('>', begin);
      if (end == text.npos) return final ? text.size() : 0;
      key_ = text.substr(begin, end - begin);
      value_.clear();
      state_ = State::kParameter;
      return end + 1;
    }
    builder.add_arguments(first_ ? "{}" : "}");
    state_ = hit.which == 1 ? State::kClosing : State::kContent;
    return hit.at + (hit.which == 1 ? kFunctionEnd.size() : kClose.size());
  }

  size_t parameter(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kParameterEnd}, final);
    value_ += text.substr(0, hit.at);
    if (hit.which < 0) return hit.at;
    if (value_.starts_with('\n')) value_.erase(0, 1);
    if (value_.ends_with('\n')) value_.pop_back();
    std::string entry = std::exchange(first_, false) ? "{" : ", ";
    append_json_text(entry, is_utf8(key_) ? key_ : "");
    builder.add_arguments(entry + ": " + json_of(value_, declared_as_text(tools_, name_, key_)));
    state_ = State::kParameters;
    return hit.at + kParameterEnd.size();
  }

  // White space and the closing tag; anything else is content again.
  size_t closing(std::string_view text, bool final) {
    if (const size_t space = leading_space(text)) return space;
    const Starts starts = starts_with_marker(text, kClose, final);
    if (starts == Starts::kUnknown) return 0;
    state_ = State::kContent;
    if (starts == Starts::kYes) return kClose.size();
    gave_up_ = true;
    return 0;
  }

  const Json* tools_;
  State state_ = State::kContent;
  JsonCall call_;
  std::string held_, name_, key_, value_;
  bool first_ = true, gave_up_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_tagged_shape(const Json* tools) { return std::make_unique<TaggedShape>(tools); }

}  // namespace wick::response
