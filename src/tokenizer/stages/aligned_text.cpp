#include "tokenizer/stages/aligned_text.h"

#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {

AlignedText::AlignedText(std::string_view text, uint32_t base, bool tracked) : text_(text), tracked_(tracked) {
  if (!tracked) return;
  origins_.reserve(text.size());
  for (uint32_t at = 0; at < text.size();) {
    const uint32_t bytes = code_point_at(text, at).bytes;
    origins_.insert(origins_.end(), bytes, Span{base + at, base + at + bytes});
    at += bytes;
  }
}

Span AlignedText::original(Span bytes) const {
  if (bytes.begin >= bytes.end || bytes.end > origins_.size()) return {};
  return {origins_[bytes.begin].begin, origins_[bytes.end - 1].end};
}

AlignedText AlignedText::slice(Span bytes) const {
  AlignedText part;
  part.text_ = text_.substr(bytes.begin, bytes.size());
  part.tracked_ = tracked_;
  if (tracked_) part.origins_.assign(origins_.begin() + bytes.begin, origins_.begin() + bytes.end);
  return part;
}

void AlignedText::Rewriter::keep(uint32_t begin, uint32_t end) {
  out_.append(text_.text_, begin, end - begin);
  if (text_.tracked_) {
    origins_.insert(origins_.end(), text_.origins_.begin() + begin, text_.origins_.begin() + end);
  }
}

void AlignedText::Rewriter::put(std::string_view text, uint32_t begin, uint32_t end) {
  out_ += text;
  if (!text_.tracked_) return;
  Span origin;
  if (begin < end) {
    origin = text_.original({begin, end});
  } else if (!text_.origins_.empty()) {
    // An insertion belongs to the character before it, or to the first one.
    origin = text_.origins_[begin > 0 ? begin - 1 : 0];
  }
  origins_.insert(origins_.end(), text.size(), origin);
}

void AlignedText::Rewriter::put(char32_t value, uint32_t begin, uint32_t end) {
  if (!text_.tracked_) return append_utf8(out_, value);
  std::string text;
  append_utf8(text, value);
  put(text, begin, end);
}

void AlignedText::Rewriter::finish() {
  text_.text_ = std::move(out_);
  text_.origins_ = std::move(origins_);
}

}  // namespace wick
