// Hermes and Qwen: <tool_call>{"name": ..., "arguments": {...}}</tool_call>
// Qwen3-Coder:     <tool_call><function=NAME><parameter=KEY>VALUE</parameter>...</function></tool_call>
#include <utility>

#include "chat/response/argument_list.h"
#include "chat/response/json_scan.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"

namespace wick::response {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kFunction = "<function=", kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=", kParameterEnd = "</parameter>";

class TaggedShape : public Shape {
 public:
  explicit TaggedShape(const Json* tools) : arguments_(tools) {}

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
    if (state_ == State::kParameters || state_ == State::kParameter) arguments_.end(builder);
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
    arguments_.begin(text.substr(0, end), builder);
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
    arguments_.end(builder);
    state_ = hit.which == 1 ? State::kClosing : State::kContent;
    return hit.at + (hit.which == 1 ? kFunctionEnd.size() : kClose.size());
  }

  size_t parameter(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kParameterEnd}, final);
    value_ += text.substr(0, hit.at);
    if (hit.which < 0) return hit.at;
    if (value_.starts_with('\n')) value_.erase(0, 1);
    if (value_.ends_with('\n')) value_.pop_back();
    arguments_.begin_value(key_, std::nullopt, builder);
    arguments_.add_to_value(value_, builder);
    arguments_.end_value(builder);
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

  ArgumentList arguments_;
  State state_ = State::kContent;
  JsonCall call_;
  std::string held_, key_, value_;
  bool gave_up_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_tagged_shape(const Json* tools) { return std::make_unique<TaggedShape>(tools); }

}  // namespace wick::response
