#pragma once

#include "formats/names.h"
#include "tensor/tensor.h"

namespace wick {

// The counts that a change of layout depends on.
struct HeadCounts {
  int64_t heads = 0, kv_heads = 0;
  int64_t state_groups = 1;    // of Mamba 2
  int64_t latent_key_dim = 0;  // per head, without the rotated part
};

// A tensor of a GGUF file as Hugging Face lays it out, and back. Only rows move, so packed dtypes stay exact; changes
// of value (norms, A_log) come back in f32; a transposition is a view. Throws Error(kBadFile) starting with `name` when
// the shape contradicts the heads, Error(kUnsupported) where one tensor alone does not hold the other side.
Tensor to_hf(const Tensor& gguf, ByteChange change, const HeadCounts& counts, std::string_view name);
Tensor to_gguf(const Tensor& hf, ByteChange change, const HeadCounts& counts, std::string_view name);

// True for those that come back in f32.
bool changes_values(ByteChange change);

}  // namespace wick
