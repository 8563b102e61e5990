#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tokenizer/stages/aligned_text.h"
#include "tokenizer/stages/split_pattern.h"

namespace wick {

// A text and the pieces it has been cut into, in order. What lies between pieces is dropped.
class Pieces {
 public:
  // Looks at a text that outlives this object and is not tracked.
  Pieces(std::string_view text, bool at_start) : view_(text), at_start_(at_start) { whole(); }
  Pieces(AlignedText text, bool at_start) : owned_(std::move(text)), owns_(true), at_start_(at_start) { whole(); }

  std::string_view text() const { return owns_ ? std::string_view(owned_.text()) : view_; }
  const AlignedText& aligned() const { return owned_; }
  bool tracked() const { return owns_ && owned_.tracked(); }
  bool at_start() const { return at_start_; }  // the text starts where the input starts

  std::vector<Span> ranges;

  // Writes the text anew: write(out, range) for each piece, which then covers what was written for it.
  template <typename Write>
  void rewrite(const Write& write) {
    if (!owns_) {
      owned_ = AlignedText(view_, 0, false);
      owns_ = true;
    }
    AlignedText::Rewriter out(owned_);
    for (Span& range : ranges) {
      const uint32_t begin = out.size();
      write(out, range);
      range = {begin, out.size()};
    }
    out.finish();
  }

 private:
  void whole() {
    if (!text().empty()) ranges.push_back({0, static_cast<uint32_t>(text().size())});
  }

  std::string_view view_;
  AlignedText owned_;
  bool owns_ = false;
  bool at_start_ = true;
};

// A step that cuts pieces further, or rewrites them. Thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void split(Pieces& pieces) const = 0;
  // Appends the expressions whose matches it cuts out, one after the other; for what no expression does, words.
  virtual void list_patterns(std::vector<std::string>& patterns) const = 0;
};

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

// From the "pre_tokenizer" of a tokenizer.json. When `bytes_for_model`, a last step that writes bytes as letters leaves
// the bytes as they are, because the model reads bytes. Throws Error(kBadFile) naming the field at fault.
PreTokenizerPtr read_pretokenizer(const Json& json, bool bytes_for_model);
// Whether the last step writes bytes as letters.
bool ends_in_byte_level(const Json& json);

// Each expression in turn cuts out its matches.
PreTokenizerPtr split_pretokenizer(const std::vector<std::string_view>& patterns);
PreTokenizerPtr bert_pretokenizer();

}  // namespace wick
