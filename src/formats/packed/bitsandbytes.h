#pragma once

#include <string_view>

#include "base/json.h"
#include "formats/loaded_weight.h"

namespace wick {

// Weights as bitsandbytes stores them, brought together without changing a number. `name` is the weight's, for
// messages. Throw Error(kBadFile) when sizes contradict each other.

// 4 bits: codes of a table of 16, the earlier in the high nibble; blocks of the flattened weight share a scale, which
// may itself be a byte of a table of 256 with a scale for every block of them, plus an offset.
struct Bnb4Tensors {
  Tensor weight;            // the bytes, in any dtype
  Tensor absmax;            // f32 or, nested, u8 [blocks]
  Tensor quant_map;         // f32 [16]
  Tensor nested_absmax;     // f32 [nested blocks]; undefined: not nested
  Tensor nested_quant_map;  // f32 [256]
};
// `state`: what the checkpoint says of the weight: quant_type, blocksize, shape, nested_blocksize, nested_offset.
// kNF4 where the table is NF4's and rows are whole blocks, else f32.
LoadedWeight assemble_bnb4(const Bnb4Tensors& tensors, const Json& state, std::string_view name);
// {out, in} of the state.
Shape bnb4_shape(const Json& state);

// LLM.int8: weight i8 [out, in], and the largest magnitude of each row, which stands for 127; f32 [out].
LoadedWeight assemble_bnb8(const Tensor& weight, const Tensor& row_max, std::string_view name);

}  // namespace wick
