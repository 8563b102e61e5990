#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tokenizer/stages/aligned_text.h"
#include "tokenizer/stages/normal_form.h"

namespace wick {

// A step that rewrites text before it is split. Thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
  // True when apply() would surely change nothing; lets the common case skip a copy.
  virtual bool leaves_alone(std::string_view) const { return false; }
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

// From the "normalizer" of a tokenizer.json. Throws Error(kBadFile) naming the field at fault.
NormalizerPtr read_normalizer(const Json& json);

NormalizerPtr unicode_normalizer(NormalForm form);
NormalizerPtr prepend_normalizer(std::string text);
NormalizerPtr replace_normalizer(std::string_view old_text, std::string new_text);
NormalizerPtr sequence_normalizer(std::vector<NormalizerPtr> steps);

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};
NormalizerPtr bert_normalizer(BertNormalizerOptions options);

}  // namespace wick
