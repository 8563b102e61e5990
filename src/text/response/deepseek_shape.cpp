// DeepSeek V3 and R1: <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{...}\n```
//                     <｜tool▁call▁end｜>...<｜tool▁calls▁end｜>
// DeepSeek V3.1:      <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>
#include <utility>

#include "text/response/json_scan.h"
#include "text/response/markers.h"
#include "text/response/shape.h"

namespace wick::response {
namespace {

constexpr std::string_view kCallsBegin = "<｜tool▁calls▁begin｜>", kCallsEnd = "<｜tool▁calls▁end｜>";
constexpr std::string_view kCallBegin = "<｜tool▁call▁begin｜>", kCallEnd = "<｜tool▁call▁end｜>";
constexpr std::string_view kSeparator = "<｜tool▁sep｜>";

class DeepSeekShape : public Shape {
 public:
  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kContent: return content(text, final, builder);
      case State::kCalls: return calls(text, final);
      case State::kHeader: return header(text, final, builder);
      case State::kName: return name(text, final, builder);
      case State::kArguments: return arguments(text, builder);
      case State::kCallEnd: return call_end(text, final);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

 private:
  enum class State { kContent, kCalls, kHeader, kName, kArguments, kCallEnd };

  size_t go(State state) {
    state_ = state;
    again_ = true;
    return 0;
  }

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {kCallsBegin, kCallBegin}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    state_ = hit.which == 0 ? State::kCalls : State::kHeader;
    return hit.at + (hit.which == 0 ? kCallsBegin.size() : kCallBegin.size());
  }

  size_t calls(std::string_view text, bool final) {
    if (const size_t space = leading_space(text)) return space;
    const Starts begins = starts_with_marker(text, kCallBegin, final);
    const Starts ends = starts_with_marker(text, kCallsEnd, final);
    if (begins == Starts::kYes) {
      state_ = State::kHeader;
      return kCallBegin.size();
    }
    if (ends == Starts::kYes) {
      state_ = State::kContent;
      return kCallsEnd.size();
    }
    if (begins == Starts::kUnknown || ends == Starts::kUnknown) return 0;
    return go(State::kContent);
  }

  // "function" or the name, up to the separator.
  size_t header(std::string_view text, bool final, Builder& builder) {
    constexpr size_t kMostHeader = 512;
    const auto [found, end] = find_header_end(text, kSeparator, kMostHeader, final);
    if (found == Starts::kUnknown) return 0;
    if (found == Starts::kNo) {
      builder.add_content(kCallBegin);
      return go(State::kContent);
    }
    if (text.substr(0, end) == "function") {
      state_ = State::kName;
    } else {
      builder.begin_call(text.substr(0, end));
      scan_ = {};
      state_ = State::kArguments;
    }
    return end + kSeparator.size();
  }

  // NAME, then a fence that opens the JSON.
  size_t name(std::string_view text, bool final, Builder& builder) {
    const size_t line = text.find('\n');
    const size_t brace = text.find('{');
    const size_t end = std::min(line, brace);
    if (end == text.npos) {
      if (!final) return 0;
      builder.begin_call(text);
      builder.add_arguments("{}");
      state_ = State::kCallEnd;
      return text.size();
    }
    builder.begin_call(text.substr(0, end));
    scan_ = {};
    state_ = State::kArguments;
    return end;
  }

  size_t arguments(std::string_view text, Builder& builder) {
    size_t i = 0;
    while (i < text.size() && scan_.state() == JsonScan::State::kOpen) {
      if (scan_.started() || text[i] == '{') {  // the fence in front is skipped
        scan_.push(text[i]);
        builder.add_arguments(text.substr(i, 1));
      }
      ++i;
    }
    if (scan_.state() != JsonScan::State::kOpen) state_ = State::kCallEnd;
    return i;
  }

  size_t call_end(std::string_view text, bool final) {
    const MarkerHit hit = find_marker(text, {kCallEnd, kCallsEnd}, final);
    if (hit.which < 0) return hit.at;
    state_ = hit.which == 0 ? State::kCalls : State::kContent;
    return hit.at + (hit.which == 0 ? kCallEnd.size() : kCallsEnd.size());
  }

  State state_ = State::kContent;
  JsonScan scan_;
  bool again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_deepseek_shape() { return std::make_unique<DeepSeekShape>(); }

}  // namespace wick::response
