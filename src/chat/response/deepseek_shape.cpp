// DeepSeek V3 and R1: <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{...}\n```
//                     <｜tool▁call▁end｜>...<｜tool▁calls▁end｜>
// DeepSeek V3.1:      <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>
// Kimi K2:            <|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{...}
//                     <|tool_call_end|>...<|tool_calls_section_end|>; what names the call is its id.
#include <utility>

#include "chat/response/json_scan.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"

namespace wick::response {
namespace {

struct CallMarks {
  std::string_view calls_begin, calls_end;
  std::string_view call_begin, call_end;
  std::string_view separator;
};
constexpr CallMarks kDeepSeek = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>",
                                 "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"};
constexpr CallMarks kKimi = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
                             "<|tool_call_end|>", "<|tool_call_argument_begin|>"};

// NAME of functions.NAME:0; what is written otherwise as it is.
std::string_view name_in_id(std::string_view id) {
  constexpr std::string_view kNamespace = "functions.";
  if (id.starts_with(kNamespace)) id.remove_prefix(kNamespace.size());
  const size_t colon = id.rfind(':');
  const bool numbered = colon != std::string_view::npos && colon + 1 < id.size() &&
                        id.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return numbered ? id.substr(0, colon) : id;
}

class DeepSeekShape : public Shape {
 public:
  explicit DeepSeekShape(const CallMarks& marks) : marks_(marks) {}

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
    const MarkerHit hit = find_marker(text, {marks_.calls_begin, marks_.call_begin}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    state_ = hit.which == 0 ? State::kCalls : State::kHeader;
    return hit.at + (hit.which == 0 ? marks_.calls_begin.size() : marks_.call_begin.size());
  }

  size_t calls(std::string_view text, bool final) {
    if (const size_t space = leading_space(text)) return space;
    const Starts begins = starts_with_marker(text, marks_.call_begin, final);
    const Starts ends = starts_with_marker(text, marks_.calls_end, final);
    if (begins == Starts::kYes) {
      state_ = State::kHeader;
      return marks_.call_begin.size();
    }
    if (ends == Starts::kYes) {
      state_ = State::kContent;
      return marks_.calls_end.size();
    }
    if (begins == Starts::kUnknown || ends == Starts::kUnknown) return 0;
    return go(State::kContent);
  }

  // "function" or the name, up to the separator.
  size_t header(std::string_view text, bool final, Builder& builder) {
    constexpr size_t kMostHeader = 512;
    const auto [found, end] = find_header_end(text, marks_.separator, kMostHeader, final);
    if (found == Starts::kUnknown) return 0;
    if (found == Starts::kNo) {
      builder.add_content(marks_.call_begin);
      return go(State::kContent);
    }
    if (&marks_ == &kDeepSeek && text.substr(0, end) == "function") {
      state_ = State::kName;
    } else {
      if (&marks_ == &kKimi) {
        const std::string_view header = text.substr(0, end);
        const std::string_view id = header.substr(leading_space(header));
        const std::string_view bare = id.substr(0, id.find_last_not_of(" \t\r\n") + 1);
        builder.begin_call(name_in_id(bare), bare);
      } else {
        builder.begin_call(text.substr(0, end));
      }
      scan_ = {};
      state_ = State::kArguments;
    }
    return end + marks_.separator.size();
  }

  // NAME, then a fence that opens the JSON.
  size_t name(std::string_view text, bool final, Builder& builder) {
    const size_t line = text.find('\n');
    const size_t brace = text.find('{');
    const size_t end = std::min(line, brace);
    if (end == std::string_view::npos) {
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
    const MarkerHit hit = find_marker(text, {marks_.call_end, marks_.calls_end}, final);
    if (hit.which < 0) return hit.at;
    state_ = hit.which == 0 ? State::kCalls : State::kContent;
    return hit.at + (hit.which == 0 ? marks_.call_end.size() : marks_.calls_end.size());
  }

  const CallMarks& marks_;
  State state_ = State::kContent;
  JsonScan scan_;
  bool again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_deepseek_shape() { return std::make_unique<DeepSeekShape>(kDeepSeek); }

std::unique_ptr<Shape> make_kimi_shape() { return std::make_unique<DeepSeekShape>(kKimi); }

}  // namespace wick::response
