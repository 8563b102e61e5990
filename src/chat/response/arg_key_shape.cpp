// GLM 4.5 and later: <tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>...</tool_call>; white space
// between the tags is optional.
#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "chat/response/argument_list.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"

namespace wick::response {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kKey = "<arg_key>", kKeyEnd = "</arg_key>";
constexpr std::string_view kValue = "<arg_value>", kValueEnd = "</arg_value>";

class ArgKeyShape : public Shape {
 public:
  explicit ArgKeyShape(const Json* tools) : arguments_(tools) {}

  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kContent: return content(text, final, builder);
      case State::kName: return name(text, final, builder);
      case State::kBetween: return between(text, final, builder);
      case State::kKey: return key(text, final);
      case State::kBeforeValue: return before_value(text, final, builder);
      case State::kValue: return value(text, final, builder);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

  void finish(Builder& builder) override {
    if (state_ == State::kName) builder.add_content(kOpen);
    if (state_ != State::kContent && state_ != State::kName) arguments_.cut_off(builder);
  }

 private:
  enum class State { kContent, kName, kBetween, kKey, kBeforeValue, kValue };

  size_t go(State state) {
    state_ = state;
    again_ = true;
    return 0;
  }

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kOpen}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    state_ = State::kName;
    return hit.at + kOpen.size();
  }

  // One word, then a key or the end of the call. Anything else, and it was no call.
  size_t name(std::string_view text, bool final, Builder& builder) {
    constexpr size_t kMostHeader = 512;
    const std::string_view head = text.substr(0, kMostHeader);
    const size_t begin = leading_space(head);
    const size_t end = std::min(head.find_first_of(" \t\r\n<", begin), head.size());
    const size_t after = end + leading_space(head.substr(end));
    if (after == head.size() && head.size() < kMostHeader && !final) return 0;
    if (end > begin && after < head.size()) {
      const Starts keys = starts_with_marker(text.substr(after), kKey, final);
      const Starts closes = starts_with_marker(text.substr(after), kClose, final);
      if (keys == Starts::kYes || closes == Starts::kYes) {
        arguments_.begin(head.substr(begin, end - begin), builder);
        state_ = State::kBetween;
        return after;
      }
      if (keys == Starts::kUnknown || closes == Starts::kUnknown) return 0;
    }
    builder.add_content(kOpen);
    return go(State::kContent);
  }

  // Between pairs: what is neither a key nor the end is skipped.
  size_t between(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kKey, kClose}, final);
    if (hit.which < 0) return hit.at;
    if (hit.which == 0) {
      key_.clear();
      state_ = State::kKey;
      return hit.at + kKey.size();
    }
    arguments_.end(builder);
    state_ = State::kContent;
    return hit.at + kClose.size();
  }

  size_t key(std::string_view text, bool final) {
    const MarkerHit hit = find_marker(text, {kKeyEnd}, final);
    key_ += text.substr(0, hit.at);
    if (hit.which < 0) return hit.at;
    state_ = State::kBeforeValue;
    return hit.at + kKeyEnd.size();
  }

  size_t before_value(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kValue, kKey, kClose}, final);
    if (hit.which < 0) return hit.at;
    if (hit.which > 0) {  // a key without a value
      arguments_.begin_value(trimmed(key_), false, builder);
      arguments_.add_to_value("null", builder);
      arguments_.end_value(builder);
      return hit.at + go(State::kBetween);
    }
    arguments_.begin_value(trimmed(key_), std::nullopt, builder);
    state_ = State::kValue;
    return hit.at + kValue.size();
  }

  size_t value(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kValueEnd}, final);
    arguments_.add_to_value(text.substr(0, hit.at), builder);
    if (hit.which < 0) return hit.at;
    arguments_.end_value(builder);
    state_ = State::kBetween;
    return hit.at + kValueEnd.size();
  }

  ArgumentList arguments_;
  State state_ = State::kContent;
  std::string key_;
  bool again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_arg_key_shape(const Json* tools) { return std::make_unique<ArgKeyShape>(tools); }

}  // namespace wick::response
