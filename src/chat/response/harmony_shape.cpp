// gpt-oss channels: <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...<|return|>
// A call is a message to a function: <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>
#include <algorithm>
#include <utility>

#include "chat/response/markers.h"
#include "chat/response/shape.h"

namespace wick::response {
namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>";
constexpr std::string_view kEnd = "<|end|>", kReturn = "<|return|>", kCall = "<|call|>";

class HarmonyShape : public Shape {
 public:
  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kBetween: return between(text, final);
      case State::kHeader: return header(text, final, builder);
      case State::kBody: return body(text, final, builder);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

 private:
  enum class State { kBetween, kHeader, kBody };
  enum class Channel { kReasoning, kContent, kCall };

  // Before a header; text without one is content.
  size_t between(std::string_view text, bool final) {
    if (const size_t space = leading_space(text)) return space;
    if (text.empty()) return 0;
    for (const std::string_view marker : {kStart, kChannel}) {
      const Starts starts = starts_with_marker(text, marker, final);
      if (starts == Starts::kUnknown) return 0;
      if (starts == Starts::kYes) {
        state_ = State::kHeader;
        opened_by_ = marker;
        return marker.size();
      }
    }
    channel_ = Channel::kContent;
    state_ = State::kBody;
    again_ = true;
    return 0;
  }

  size_t header(std::string_view text, bool final, Builder& builder) {
    constexpr size_t kMostHeader = 1024;
    const auto [found, end] = find_header_end(text, kMessage, kMostHeader, final);
    if (found == Starts::kUnknown) return 0;
    if (found == Starts::kNo) {
      if (text.size() < kMostHeader) return text.size();  // the text ends inside a header
      builder.add_content(opened_by_);
      channel_ = Channel::kContent;
      state_ = State::kBody;
      again_ = true;
      return 0;
    }
    const std::string_view header = text.substr(0, end);
    channel_ = header.find("analysis") != header.npos ? Channel::kReasoning : Channel::kContent;
    if (const size_t to = header.find("to="); to != header.npos) {
      std::string_view name = header.substr(to + 3);
      name = name.substr(0, std::min(name.find_first_of(" \t\n<"), name.size()));
      if (name.starts_with("functions.")) name.remove_prefix(10);
      builder.begin_call(name);
      channel_ = Channel::kCall;
    }
    state_ = State::kBody;
    return end + kMessage.size();
  }

  size_t body(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kEnd, kReturn, kCall, kStart, kChannel}, final);
    const std::string_view part = text.substr(0, hit.at);
    if (channel_ == Channel::kReasoning) {
      builder.add_reasoning(part);
    } else if (channel_ == Channel::kContent) {
      builder.add_content(part);
    } else {
      builder.add_arguments(part);
    }
    if (hit.which < 0) return hit.at;
    constexpr std::string_view kMarkers[] = {kEnd, kReturn, kCall, kStart, kChannel};
    state_ = hit.which >= 3 ? State::kHeader : State::kBetween;
    opened_by_ = kMarkers[hit.which];
    return hit.at + kMarkers[hit.which].size();
  }

  State state_ = State::kBetween;
  Channel channel_ = Channel::kContent;
  std::string_view opened_by_;
  bool again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_harmony_shape() { return std::make_unique<HarmonyShape>(); }

}  // namespace wick::response
