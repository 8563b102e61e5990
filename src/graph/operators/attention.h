#pragma once

#include "graph/numbers.h"
#include "graph/operators.h"

namespace wick::graph {

struct AttendWays {
  Tensor mask;  // f32, added to the scores, broadcast to [batch, heads, queries, keys]; undefined: none
  bool causal = false;
  int64_t before = 0;  // causal: query i sees keys up to i + before
  double scale = 0;    // 0: 1 / sqrt(dim)
  double softcap = 0;  // 0: none
  int64_t shown = -1;  // which scores are wanted, too: 0 products, 1 with the mask, 2 capped, 3 after softmax
  Tensor scores;       // those
};
// query [batch, heads, queries, dim], key and value [batch, kv_heads, keys, ...], f32.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, AttendWays& ways);

Tensor split_heads(const Tensor& x, int64_t heads);  // [batch, tokens, heads * dim] -> [batch, heads, tokens, dim]
Tensor merge_heads(const Tensor& x);                 // and back
// x [batch, heads, tokens, dim]; cos and sin [batch, tokens, rotary / 2].
Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved);
Tensor hidden_where(const Tensor& keeps);  // 0 where it is not 0, else -infinity

// com.microsoft's.
void microsoft_attention_op(OpRun& run);
void multi_head_attention_op(OpRun& run);
void group_query_attention_op(OpRun& run);
void microsoft_rotary_op(OpRun& run);

}  // namespace wick::graph
