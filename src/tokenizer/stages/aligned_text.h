#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/span.h"

namespace wick {

// Text on its way through normalisation. When tracked, each byte knows the part of the original it came from: the
// whole character for bytes that were not changed.
class AlignedText {
 public:
  AlignedText() = default;
  explicit AlignedText(std::string untracked) : text_(std::move(untracked)) {}
  // `base`: where the text starts in the original. The text must be valid UTF-8.
  AlignedText(std::string_view text, uint32_t base, bool tracked);
  // The same for text that was repaired: origins say where each byte came from.
  AlignedText(std::string text, std::vector<Span> origins) : text_(std::move(text)), origins_(std::move(origins)) {
    tracked_ = true;
  }

  const std::string& text() const { return text_; }
  bool tracked() const { return tracked_; }
  // The part of the original that bytes [begin, end) came from; tracked texts only.
  Span original(Span bytes) const;

  // A new text is written from front to back while the old one is read.
  class Rewriter {
   public:
    explicit Rewriter(AlignedText& text) : text_(text) { out_.reserve(text.text_.size()); }
    // The next bytes of the old text, as they are.
    void keep(uint32_t begin, uint32_t end);
    // New text that stands for bytes [begin, end) of the old one; for an insertion, begin == end.
    void put(std::string_view text, uint32_t begin, uint32_t end);
    void put(char32_t value, uint32_t begin, uint32_t end);
    void finish();
    uint32_t size() const { return static_cast<uint32_t>(out_.size()); }  // written so far

   private:
    AlignedText& text_;
    std::string out_;
    std::vector<Span> origins_;
  };

  // The bytes [begin, end) as a text of their own.
  AlignedText slice(Span bytes) const;

 private:
  std::string text_;
  std::vector<Span> origins_;  // one per byte; empty when not tracked
  bool tracked_ = false;
};

}  // namespace wick
