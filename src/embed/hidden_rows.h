#pragma once

#include <memory>

#include "embed/encode_texts.h"
#include "models/language_model.h"

namespace wick {

// A model that makes a hidden state of each token of a text: an encoder, or a language model that was trained to be
// asked for them (Qwen3-Embedding). Immutable and thread-safe.
class HiddenRows {
 public:
  virtual ~HiddenRows() = default;

  virtual int64_t hidden() const = 0;
  virtual int64_t vocabulary() const = 0;
  virtual int64_t positions() const = 0;                          // tokens of a text, at most
  virtual const TextEncoder* encoder() const { return nullptr; }  // null: a language model

  // As EncoderPasses::encode(): behind the last norm, in turns with engines.
  virtual void encode(std::span<const EncoderInput> texts,
                      FunctionRef<void(size_t text, std::span<const float> rows)> each,
                      const std::function<void(int64_t)>& done) const = 0;
};

std::unique_ptr<HiddenRows> rows_of(std::unique_ptr<TextEncoder> encoder);
std::unique_ptr<HiddenRows> rows_of(std::unique_ptr<LanguageModel> model);

}  // namespace wick
