#include "engine/text/text_stream.h"

#include <algorithm>

namespace wick {
namespace {

// The length of the longest end of `text` that `stop` begins with, but not all of it.
size_t overlap(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.ends_with(stop.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(Tokenizer tokenizer, std::vector<std::string> stop_strings, bool show_special)
    : detokenizer_(std::move(tokenizer), !show_special), stops_(std::move(stop_strings)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string TextStream::push(int32_t token) {
  if (stopped()) return {};
  held_ += detokenizer_.push(token);
  return release(false);
}

std::string TextStream::finish() {
  if (stopped()) return {};
  held_ += detokenizer_.finish();
  return release(true);
}

std::string TextStream::release(bool final) {
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at < first) {
      first = at;
      found_ = stop;
    }
  }
  size_t certain = held_.size();
  if (first != std::string::npos) {
    certain = first;
  } else if (!final) {
    for (const std::string& stop : stops_) certain = std::min(certain, held_.size() - overlap(held_, stop));
  }
  std::string out = held_.substr(0, certain);
  held_.erase(0, certain);
  return out;
}

}  // namespace wick
