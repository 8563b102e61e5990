#pragma once

#include <memory>

#include "base/mapped_file.h"
#include "formats/metadata.h"
#include "formats/quantize/quantize_plan.h"
#include "models/model_shapes.h"

namespace wick {

// A model of that shape with random weights as the bytes of a GGUF file that Wick and llama.cpp read: for measuring
// speed, since what it generates means nothing. Types are those that quantising the real model would choose. The blocks
// of packed weights are drawn from a small set of encoded ones, so that it takes seconds. `tokenizer` holds the keys
// "tokenizer.*"; when empty, a vocabulary of single bytes and unused tokens stands in. Throws Error(kOutOfMemory) with
// the size, Error(kInvalidArgument) for plans without types of their own (auto, none) or that GGUF cannot hold.
std::shared_ptr<const MappedFile> random_gguf(const ModelShape& shape, const QuantizePlan& plan,
                                              const Metadata& tokenizer = {});

// Keys "tokenizer.*" for a byte-level vocabulary of `size` tokens: the 256 bytes, the end of a text, unused ones.
Metadata byte_tokenizer(int64_t size);

}  // namespace wick
