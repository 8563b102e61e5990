// Mistral: [TOOL_CALLS] [{"name": ..., "arguments": {...}}, ...], or [TOOL_CALLS]NAME[CALL_ID]ID[ARGS]{...} repeated.
#include <utility>

#include "chat/response/json_scan.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"

namespace wick::response {
namespace {

constexpr std::string_view kCalls = "[TOOL_CALLS]", kArgs = "[ARGS]", kCallId = "[CALL_ID]";

class MistralShape : public Shape {
 public:
  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kContent: return content(text, final, builder);
      case State::kOpened: return opened(text);
      case State::kList: return list(text);
      case State::kObject: return object(text, builder);
      case State::kName: return name(text, final, builder);
      case State::kArguments: return arguments(text, builder);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

  void finish(Builder& builder) override {
    if (state_ == State::kObject && !call_.begun()) builder.add_content(call_.raw());
    if (state_ == State::kOpened) builder.add_content(kCalls);
  }

 private:
  enum class State { kContent, kOpened, kList, kObject, kName, kArguments };

  size_t go(State state) {
    state_ = state;
    again_ = true;
    return 0;
  }

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kCalls}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    state_ = State::kOpened;
    return hit.at + kCalls.size();
  }

  size_t opened(std::string_view text) {
    if (const size_t space = leading_space(text)) return space;
    if (text.empty()) return 0;
    return go(text[0] == '[' || text[0] == '{' ? State::kList : State::kName);
  }

  // Between the objects of a list.
  size_t list(std::string_view text) {
    if (const size_t space = leading_space(text)) return space;
    if (text.empty()) return 0;
    if (text[0] == '{') {
      call_ = JsonCall();
      return go(State::kObject);
    }
    if (text[0] == ']') state_ = State::kContent;
    if (text[0] == '[' || text[0] == ',' || text[0] == ']') return 1;
    return go(State::kContent);
  }

  size_t object(std::string_view text, Builder& builder) {
    for (size_t i = 0; i < text.size(); ++i) {
      const JsonCall::State state = call_.push(text[i], builder);
      if (state == JsonCall::State::kOpen) continue;
      if (state == JsonCall::State::kBad && !call_.begun()) builder.add_content(call_.raw());
      state_ = state == JsonCall::State::kDone ? State::kList : State::kContent;
      return i + 1;
    }
    return text.size();
  }

  size_t name(std::string_view text, bool final, Builder& builder) {
    constexpr size_t kMostHeader = 512;
    const HeaderEnd tag = find_header_end(text, kArgs, kMostHeader, final);
    const HeaderEnd brace = find_header_end(text, "{", kMostHeader, final);  // NAME{...}, without [ARGS]
    if (tag.found == Starts::kNo && brace.found == Starts::kNo) {
      builder.add_content(kCalls);
      return go(State::kContent);
    }
    if (tag.found != Starts::kYes && brace.found != Starts::kYes) return 0;
    const bool at_tag = tag.found == Starts::kYes && (brace.found != Starts::kYes || tag.at < brace.at);
    const size_t end = at_tag ? tag.at : brace.at, after = at_tag ? kArgs.size() : 0;
    std::string_view header = text.substr(0, end);
    const size_t id = header.find(kCallId);
    const std::string_view id_text = id == header.npos ? "" : header.substr(id + kCallId.size());
    header = header.substr(0, std::min(id, header.size()));
    header = header.substr(0, header.find_last_not_of(" \t\r\n") + 1);
    builder.begin_call(header, id_text);
    scan_ = {};
    state_ = State::kArguments;
    return end + after;
  }

  size_t arguments(std::string_view text, Builder& builder) {
    size_t i = 0;
    while (i < text.size() && scan_.state() == JsonScan::State::kOpen) {
      const bool skipped = !scan_.started() && leading_space(text.substr(i, 1)) > 0;
      if (!skipped) {
        scan_.push(text[i]);
        builder.add_arguments(text.substr(i, 1));
      }
      ++i;
    }
    if (scan_.state() != JsonScan::State::kOpen) state_ = State::kContent;
    return i;
  }

  State state_ = State::kContent;
  JsonCall call_;
  JsonScan scan_;
  bool again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_mistral_shape() { return std::make_unique<MistralShape>(); }

}  // namespace wick::response
