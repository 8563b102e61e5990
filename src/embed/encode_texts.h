#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "models/encoders/text_encoder.h"

namespace wick {

// A text, or two behind each other, as an encoder reads it.
struct EncoderInput {
  std::vector<int32_t> tokens;
  std::vector<int32_t> types;  // which of the two each is of; empty: all of the first
  bool is_cut = false;         // there were more
};

// Computes texts pass by pass, those of one length side by side, in turns with engines. `each` gets the number of a
// text and its rows [tokens, hidden] on the host; `done` hears after each pass how many texts are finished. A text's
// rows depend on it alone, bit for bit.
void encode_texts(const TextEncoder& encoder, std::span<const EncoderInput> texts,
                  FunctionRef<void(size_t text, std::span<const float> rows)> each,
                  const std::function<void(int64_t)>& done = {});

// Throws Error(kBadFile) naming the model when a value on the host is not finite: its weights are damaged.
void check_finite(const Tensor& values, const std::string& model);

}  // namespace wick
