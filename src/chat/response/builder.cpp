#include "chat/response/builder.h"

#include <utility>

namespace wick::response {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// Adds text to `total` and `delta`; leading white space is dropped, trailing is kept in `held`.
void add(std::string_view text, std::string& total, std::string& delta, std::string& held) {
  const size_t last = text.find_last_not_of(kSpace);
  if (last == text.npos) {
    held += text;
    return;
  }
  std::string_view body = text.substr(0, last + 1);
  if (total.empty()) {
    held.clear();
    body.remove_prefix(body.find_first_not_of(kSpace));
  }
  for (std::string* out : {&total, &delta}) {
    *out += held;
    *out += body;
  }
  held = text.substr(last + 1);
}

}  // namespace

void Builder::add_reasoning(std::string_view text) {
  add(text, response_.reasoning, delta_.reasoning, reasoning_space_);
}

void Builder::add_content(std::string_view text) { add(text, response_.content, delta_.content, content_space_); }

void Builder::begin_call(std::string_view name, std::string_view id) {
  content_space_.clear();
  delta_.tool_calls.push_back({response_.tool_calls.size(), std::string(id), std::string(name), {}});
  response_.tool_calls.push_back({std::string(id), std::string(name), {}});
}

void Builder::add_arguments(std::string_view text) {
  if (text.empty()) return;
  response_.tool_calls.back().arguments += text;
  const size_t index = response_.tool_calls.size() - 1;
  if (delta_.tool_calls.empty() || delta_.tool_calls.back().index != index) {
    delta_.tool_calls.push_back({index, {}, {}, {}});
  }
  delta_.tool_calls.back().arguments += text;
}

void Builder::finish() {
  if (!response_.tool_calls.empty() || response_.content.empty()) return;
  response_.content += content_space_;
  delta_.content += std::exchange(content_space_, {});
}

ResponseDelta Builder::take_delta() { return std::exchange(delta_, {}); }

}  // namespace wick::response
