#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_changes.h"

namespace wick {

// How a fused tensor keeps its parts in rows.
enum class FusedRows : uint8_t {
  kQkv,          // all q, all k, all v
  kQkvPerHead,   // per head: q, k, v
  kQkvPerGroup,  // per key head: its query heads, k, v
  kQvkQuarters,  // four times a quarter of the heads: q, v, k (CodeGen)
  kQkvColumns,   // kQkv transposed (Conv1D of GPT-2)
  kHalves,       // gate, up
  kThirds,       // q, k, v of equally many heads (MultiheadAttention of PyTorch)
};

// A part of a fused tensor, or the parts of one, by HF name.
struct FusedPart {
  std::string whole;
  FusedRows rows;
  int index;  // 0, 1, 2 for q, k, v; 0, 1 for gate, up
};
std::vector<FusedPart> fused_wholes(std::string_view part_name);    // where a part may be found
std::vector<std::string> fused_parts(std::string_view whole_name);  // what a plain whole is made of; may be empty

// Part `index` of `whole`, [out, in] or [out]; a view when its rows lie together. Throws Error(kBadFile) when the rows
// contradict the counts.
Tensor take_part(const Tensor& whole, FusedRows rows, int index, const HeadCounts& counts, std::string_view name);

}  // namespace wick
