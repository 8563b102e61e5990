#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Keys and values of one layer for any number of sequences, in blocks of kKvBlockTokens positions. A sequence finds its
// blocks through its block table, so neither it nor its growth needs memory in one piece.
//   key   [blocks, kv_heads, head_dim, kKvBlockTokens]   transposed: one component of all the block's keys side by side
//   value [blocks, kv_heads, kKvBlockTokens, value_dim]
// in f32, f16, bf16 or i8. i8 has one f32 scale per position and head: key_scale, value_scale [blocks, kv_heads,
// kKvBlockTokens]; other dtypes leave the scales undefined.
struct KvBlocks {
  Tensor key, value;
  Tensor key_scale, value_scale;
};
inline constexpr int64_t kKvBlockTokens = 16;

// Which rows of a flat list of tokens belong to which sequence, and where the sequence's keys lie.
struct PagedRows {
  Tensor row_starts;   // i32 [sequences + 1]: sequence s has rows row_starts[s] to row_starts[s + 1]
  Tensor positions;    // i32 [sequences]: the position of its first row; row i of it is at positions[s] + i
  Tensor block_table;  // i32 [sequences, most_blocks]: block b of it holds positions from b * kKvBlockTokens on
};

struct PagedAttentionOptions {
  float scale = 1;      // of the scores
  float soft_cap = 0;   // scores become cap * tanh(score / cap); 0: they stay
  int64_t window = 0;   // a query at p sees keys from p - window + 1 to p; 0: all up to p
  int64_t chunk = 0;    // and of those the ones in its own chunk of so many positions; 0: all
  Tensor sinks;         // f32 [heads]: one more score per head that takes weight and gives no value; undefined: none
  Tensor alibi_slopes;  // f32 [heads]: slope * (key position - query position) is added; undefined: none
  // f32 [heads, distances]: number d of a head is added where the key lies d positions before the query, the last one
  // from there on; undefined: none.
  Tensor distance_bias;

  // The first position that a query sees.
  int64_t first_seen(int64_t position) const {
    const int64_t first = window > 0 ? std::max<int64_t>(0, position - window + 1) : 0;
    return chunk > 0 ? std::max(first, position - position % chunk) : first;
  }
};

// Both ops are for inference: no gradient is recorded. All tensors are on one device. Every number in `rows` is checked
// first, in time that grows with the sequences and the blocks they use; on devices whose memory the host cannot read
// (cuda) that would stop the device, so there only dtypes and shapes are checked. A head's part of a block lies in one
// piece; blocks and heads may lie apart (a pool that holds several layers).

// Writes the rows' keys and values (f32) to their places in `blocks`; i8 is rounded with scale max|x| / 127.
void store_kv(const Tensor& key,    // [tokens, kv_heads, head_dim]
              const Tensor& value,  // [tokens, kv_heads, value_dim]
              const PagedRows& rows, const KvBlocks& blocks);

// Causal attention of every row over the keys of its own sequence up to its own position, which are in `blocks`
// already. A row's result depends on its query, its position and its sequence's keys and values alone, bit for bit:
// not on the other rows, on how the prompt was cut or on threads. Table entries of blocks that no row sees any more
// (before the window or the chunk) are not looked at.
Tensor paged_attention(const Tensor& query,  // f32 [tokens, heads, head_dim]; heads is a multiple of kv_heads
                       const KvBlocks& blocks, const PagedRows& rows,
                       const PagedAttentionOptions& options);  // returns f32 [tokens, heads, value_dim]

// Projections of some tokens, f32.
struct AttendInput {
  Tensor query;  // [tokens, heads, dim]
  Tensor key;    // [tokens, kv_heads, dim]
  Tensor value;  // [tokens, kv_heads, value_dim]
};

// What happens to heads of queries and keys before they meet: an RMS norm over each, then rotation.
struct HeadRotation {
  Tensor query_weight, key_weight;  // f32 [dim]; undefined: no norm. Both or none
  float eps = 0;
  Tensor cos, sin;  // f32 [tokens, rotary / 2], as in rope; undefined: no rotation
  bool interleaved = false;
};

struct Attended {
  Tensor out;      // f32 [tokens, heads, value_dim]
  Tensor queries;  // f32 [tokens, heads, dim], normed and rotated; undefined unless they are wanted
};

// Norms and rotates heads, stores keys and values in `blocks`, and attends: the bits of rms_norm, rope, store_kv and
// paged_attention one after the other on the CPU. With `wants_queries` the same kernels run and give the same result.
Attended attend(const AttendInput& input, const HeadRotation& rotation, const KvBlocks& blocks, const PagedRows& rows,
                const PagedAttentionOptions& options, bool wants_queries);

}  // namespace wick
