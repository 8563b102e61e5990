// DeepSeek V3.2 and later ("DSML"; V4 writes tool_calls for function_calls):
//   <｜DSML｜function_calls>\n<｜DSML｜invoke name="NAME">\n
//   <｜DSML｜parameter name="KEY" string="true|false">VALUE</｜DSML｜parameter>\n...</｜DSML｜invoke>\n
//   </｜DSML｜function_calls>
// MiniMax M2: the same inside <minimax:tool_call>, without ｜DSML｜ and without `string`.
#include <algorithm>
#include <utility>

#include "chat/response/argument_list.h"
#include "chat/response/markers.h"
#include "chat/response/shape.h"

namespace wick::response {
namespace {

struct InvokeMarks {
  std::string_view open[2], close[2];  // around all calls; the second may be the first again
  std::string_view invoke, invoke_end;
  std::string_view parameter, parameter_end;
};
constexpr InvokeMarks kDsml = {{"<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"},
                               {"</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"},
                               "<｜DSML｜invoke name=\"",
                               "</｜DSML｜invoke>",
                               "<｜DSML｜parameter name=\"",
                               "</｜DSML｜parameter>"};
constexpr InvokeMarks kMiniMax = {{"<minimax:tool_call>", "<minimax:tool_call>"},
                                  {"</minimax:tool_call>", "</minimax:tool_call>"},
                                  "<invoke name=\"",
                                  "</invoke>",
                                  "<parameter name=\"",
                                  "</parameter>"};

class InvokeShape : public Shape {
 public:
  InvokeShape(const InvokeMarks& marks, const Json* tools) : marks_(marks), arguments_(tools) {}

  size_t consume(std::string_view text, bool final, Builder& builder) override {
    switch (state_) {
      case State::kContent: return content(text, final, builder);
      case State::kOpened: return opened(text, final, builder);
      case State::kCalls: return calls(text, final);
      case State::kName: return name(text, final, builder);
      case State::kParameters: return parameters(text, final, builder);
      case State::kHeader: return header(text, final, builder);
      case State::kValue: return value(text, final, builder);
    }
    return text.size();
  }

  bool changed_without_reading() override { return std::exchange(again_, false); }

  void finish(Builder& builder) override {
    if (state_ == State::kOpened) builder.add_content(held_);
    if (state_ == State::kParameters || state_ == State::kHeader || state_ == State::kValue)
      arguments_.cut_off(builder);
  }

 private:
  enum class State { kContent, kOpened, kCalls, kName, kParameters, kHeader, kValue };
  static constexpr size_t kMostHeader = 512;

  size_t go(State state) {
    state_ = state;
    again_ = true;
    return 0;
  }

  size_t content(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {marks_.open[0], marks_.open[1]}, final);
    builder.add_content(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    held_ = marks_.open[hit.which];
    state_ = State::kOpened;
    return hit.at + marks_.open[hit.which].size();
  }

  // The first call decides whether the marker was meant.
  size_t opened(std::string_view text, bool final, Builder& builder) {
    if (const size_t space = leading_space(text)) {
      held_ += text.substr(0, space);
      return space;
    }
    const Starts invokes = starts_with_marker(text, marks_.invoke, final);
    if (invokes == Starts::kUnknown) return 0;
    if (invokes == Starts::kYes) {
      state_ = State::kName;
      return marks_.invoke.size();
    }
    builder.add_content(std::exchange(held_, {}));
    return go(State::kContent);
  }

  size_t calls(std::string_view text, bool final) {
    const MarkerHit hit = find_marker(text, {marks_.invoke, marks_.close[0], marks_.close[1]}, final);
    if (hit.which < 0) return hit.at;
    state_ = hit.which == 0 ? State::kName : State::kContent;
    return hit.at + (hit.which == 0 ? marks_.invoke : marks_.close[hit.which - 1]).size();
  }

  size_t name(std::string_view text, bool final, Builder& builder) {
    const auto [found, end] = find_header_end(text, "\">", kMostHeader, final);
    if (found == Starts::kUnknown) return 0;
    const size_t size = found == Starts::kYes ? end : std::min(text.size(), kMostHeader);
    arguments_.begin(text.substr(0, size), builder);
    state_ = State::kParameters;
    return found == Starts::kYes ? end + 2 : size;
  }

  size_t parameters(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit =
        find_marker(text, {marks_.parameter, marks_.invoke_end, marks_.close[0], marks_.close[1]}, final);
    if (hit.which < 0) return hit.at;
    if (hit.which == 0) {
      state_ = State::kHeader;
      return hit.at + marks_.parameter.size();
    }
    arguments_.end(builder);
    state_ = hit.which == 1 ? State::kCalls : State::kContent;
    return hit.at + (hit.which == 1 ? marks_.invoke_end : marks_.close[hit.which - 2]).size();
  }

  // KEY" string="true">
  size_t header(std::string_view text, bool final, Builder& builder) {
    const auto [found, end] = find_header_end(text, ">", kMostHeader, final);
    if (found == Starts::kUnknown) return 0;
    const size_t size = found == Starts::kYes ? end : std::min(text.size(), kMostHeader);
    const std::string_view header = text.substr(0, size);
    std::optional<bool> is_text;
    if (header.find("string=\"true\"") != header.npos) is_text = true;
    if (header.find("string=\"false\"") != header.npos) is_text = false;
    arguments_.begin_value(header.substr(0, header.find('"')), is_text, builder);
    state_ = State::kValue;
    return found == Starts::kYes ? end + 1 : size;
  }

  size_t value(std::string_view text, bool final, Builder& builder) {
    const MarkerHit hit = find_marker(text, {marks_.parameter_end}, final);
    arguments_.add_to_value(text.substr(0, hit.at), builder);
    if (hit.which < 0) return hit.at;
    arguments_.end_value(builder);
    state_ = State::kParameters;
    return hit.at + marks_.parameter_end.size();
  }

  const InvokeMarks& marks_;
  ArgumentList arguments_;
  State state_ = State::kContent;
  std::string held_;
  bool again_ = false;
};

}  // namespace

std::unique_ptr<Shape> make_dsml_shape() { return std::make_unique<InvokeShape>(kDsml, nullptr); }

std::unique_ptr<Shape> make_minimax_shape(const Json* tools) { return std::make_unique<InvokeShape>(kMiniMax, tools); }

}  // namespace wick::response
