#include "graph/operators/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/operators/broadcast.h"
#include "ops/binary.h"
#include "ops/compare.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/rearrange.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {

Tensor hidden_where(const Tensor& keeps) {
  return where(keeps, scalar(0), scalar(-std::numeric_limits<double>::infinity()));
}

namespace {

Tensor causal_mask(int64_t queries, int64_t keys, int64_t before) {
  const Tensor row = reshape(arange(0, static_cast<double>(queries), 1, DType::kI64), {queries, 1});
  return hidden_where(ge(add(row, static_cast<double>(before)), arange(0, static_cast<double>(keys), 1, DType::kI64)));
}

}  // namespace

Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, AttendWays& ways) {
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4)
    throw Error(ErrorCode::kShape, cat("query ", query.shape(), ", key ", key.shape(), ", value ", value.shape()));
  const int64_t queries = query.dim(2), keys = key.dim(2), heads = query.dim(1), kv_heads = key.dim(1);
  const double scale = ways.scale != 0 ? ways.scale : 1 / std::sqrt(static_cast<double>(query.dim(3)));
  if (ways.softcap == 0 && ways.shown < 0) {
    AttentionOptions options;
    options.mask = ways.mask;
    options.scale = static_cast<float>(scale);
    options.causal = ways.causal && ways.before == keys - queries;
    if (ways.causal && !options.causal) {
      const Tensor hidden = causal_mask(queries, keys, ways.before);
      options.mask = options.mask.defined() ? add(options.mask, hidden) : hidden;
    }
    return scaled_dot_product_attention(query, key, value, options);
  }
  if (kv_heads < 1 || heads % kv_heads != 0 || value.dim(1) != kv_heads)
    throw Error(ErrorCode::kShape, cat(heads, " heads of queries for ", kv_heads));
  const auto spread_heads = [&](const Tensor& x) {
    if (kv_heads == heads) return x;
    const Tensor view = unsqueeze(x, 2);
    return reshape(broadcast_as(view, view.shape().with(2, heads / kv_heads)), {x.dim(0), heads, x.dim(2), x.dim(3)});
  };
  Tensor scores = mul(matmul(query, transpose(spread_heads(key), -1, -2)), scale);
  if (ways.shown == 0) ways.scores = scores;
  if (ways.mask.defined()) scores = add(scores, ways.mask);
  if (ways.causal) scores = add(scores, causal_mask(queries, keys, ways.before));
  if (ways.shown == 1) ways.scores = scores;
  if (ways.softcap > 0) scores = mul(tanh(div(scores, ways.softcap)), ways.softcap);
  if (ways.shown == 2) ways.scores = scores;
  Tensor weights = softmax(scores, -1);
  weights = where(eq(weights, weights), weights, scalar(0));  // a query that sees nothing
  if (ways.shown == 3) ways.scores = weights;
  return matmul(weights, spread_heads(value));
}

Tensor split_heads(const Tensor& x, int64_t heads) {
  if (x.rank() != 3 || heads < 1 || x.dim(2) % heads != 0)
    throw Error(ErrorCode::kShape, cat(x.shape(), " for ", heads, " heads"));
  return permute(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}
Tensor merge_heads(const Tensor& x) {
  return reshape(permute(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved) {
  const int64_t half = cos.dim(-1), rotary = 2 * half;
  if (cos.rank() != 3 || cos.shape() != sin.shape() || cos.dim(1) != x.dim(2) ||
      (cos.dim(0) != x.dim(0) && cos.dim(0) != 1) || rotary > x.dim(3)) {
    throw Error(ErrorCode::kShape, cat("cos ", cos.shape(), " and sin ", sin.shape(), " for ", x.shape()));
  }
  const Tensor c = unsqueeze(cos, 1), s = unsqueeze(sin, 1), head = narrow(x, 3, 0, rotary),
               rest = narrow(x, 3, rotary, x.dim(3) - rotary);
  Tensor turned;
  if (interleaved) {
    const Tensor pairs = reshape(head, {x.dim(0), x.dim(1), x.dim(2), half, 2}), a = squeeze(narrow(pairs, 4, 0, 1), 4),
                 b = squeeze(narrow(pairs, 4, 1, 1), 4);
    turned = reshape(stack({sub(mul(a, c), mul(b, s)), add(mul(a, s), mul(b, c))}, 4), head.shape());
  } else {
    const Tensor a = narrow(head, 3, 0, half), b = narrow(head, 3, half, half);
    turned = concat({sub(mul(a, c), mul(b, s)), add(mul(a, s), mul(b, c))}, 3);
  }
  return rest.dim(3) > 0 ? concat({turned, rest}, 3) : turned;
}

namespace {

Tensor f32(OpRun& run, int input) { return run.tensor(input).to_dtype(DType::kF32); }

// Rows of a table of angles by position.
Tensor angles_at(const Tensor& table, const Tensor& positions) {
  if (table.rank() != 2) throw Error(ErrorCode::kShape, cat("a table of angles is ", table.shape()));
  return embedding(positions.to_dtype(DType::kI64), table);
}

// ai.onnx: X, cos_cache, sin_cache, position_ids.
void rotary_op(OpRun& run) {
  const Tensor x = f32(run, 0);
  const bool flat = x.rank() == 3;
  const Tensor heads = flat ? split_heads(x, run.needed("num_heads")) : x;
  if (heads.rank() != 4) throw Error(ErrorCode::kShape, cat("X is ", x.shape()));
  Tensor cos = f32(run, 1), sin = f32(run, 2);
  if (run.has(3)) cos = angles_at(cos, run.tensor(3)), sin = angles_at(sin, run.tensor(3));
  const int64_t rotary = run.get("rotary_embedding_dim", int64_t{0});
  if (rotary > 0 && cos.dim(-1) != rotary / 2)
    throw Error(ErrorCode::kShape, cat("cos is ", cos.shape(), " for ", rotary, " rotated dimensions"));
  const Tensor out = rotate(heads, cos, sin, run.get("interleaved", int64_t{0}) != 0);
  run.set(0, store((flat ? merge_heads(out) : out).contiguous(), run.type(0)));
}

Tensor additive(OpRun& run, int input) {
  return run.type(input) == ElementType::kBool ? hidden_where(run.tensor(input)) : f32(run, input);
}

// A mask for fewer keys than there are hides the others.
Tensor for_all_keys(const Tensor& mask, int64_t keys) {
  if (mask.rank() == 0 || mask.dim(-1) == keys || mask.dim(-1) == 1) return mask;
  if (mask.dim(-1) > keys) throw Error(ErrorCode::kShape, cat("a mask ", mask.shape(), " for ", keys, " keys"));
  std::vector<int64_t> sizes(mask.shape().begin(), mask.shape().end());
  sizes.back() = keys - mask.dim(-1);
  return concat({mask, full(shape_of(sizes), -std::numeric_limits<double>::infinity())}, -1);
}

// ai.onnx: Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen.
void attention_op(OpRun& run) {
  const bool flat = run.tensor(0).rank() == 3;
  const auto heads = [&](int input, const char* count) {
    return flat ? split_heads(f32(run, input), run.needed(count)) : f32(run, input);
  };
  const Tensor query = heads(0, "q_num_heads");
  Tensor key = heads(1, "kv_num_heads"), value = heads(2, "kv_num_heads");
  AttendWays ways;
  if (run.has(4)) {
    key = concat({f32(run, 4), key}, 2), value = concat({f32(run, 5), value}, 2);
    ways.before = run.tensor(4).dim(2);
  }
  run.set(1, store(key.contiguous(), run.type(1)));
  run.set(2, store(value.contiguous(), run.type(2)));
  const int64_t keys = key.dim(2);
  ways.causal = run.get("is_causal", int64_t{0}) != 0;
  ways.scale = run.get("scale", 0.0f);
  ways.softcap = run.get("softcap", 0.0f);
  if (run.wants(3)) ways.shown = run.get("qk_matmul_output_mode", int64_t{0});
  if (run.has(3)) ways.mask = for_all_keys(additive(run, 3), keys);
  if (run.has(6)) {  // keys of each sequence
    const Tensor lengths = reshape(run.tensor(6).to_dtype(DType::kI64), {-1, 1, 1, 1});
    const Tensor hidden = hidden_where(lt(arange(0, static_cast<double>(keys), 1, DType::kI64), lengths));
    ways.mask = ways.mask.defined() ? add(ways.mask, hidden) : hidden;
  }
  const Tensor out = attend(query, key, value, ways);
  run.set(0, store((flat ? merge_heads(out) : out).contiguous(), run.type(0)));
  if (run.wants(3)) run.set(3, store(ways.scores, run.type(0)));
}

constexpr Operator kOperators[] = {
    {"Attention", attention_op,
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision"},
    {"RotaryEmbedding", rotary_op, "interleaved num_heads rotary_embedding_dim"},
};

}  // namespace

Operators attention_operators() { return kOperators; }

// --- com.microsoft ---

// input, cache of positions, cos_cache, sin_cache. Positions are [1] (of the first token) or [batch, tokens].
void microsoft_rotary_op(OpRun& run) {
  const Tensor x = f32(run, 0), cos = f32(run, 2), sin = f32(run, 3);
  const bool flat = x.rank() == 3;
  if (run.get("scale", 1.0f) != 1 || run.get("is_packed_batching", int64_t{0}) != 0)
    throw not_offered("scale or is_packed_batching is given");
  int64_t count = run.get("num_heads", int64_t{0});
  if (flat && count == 0) count = x.dim(2) / std::max<int64_t>(2 * cos.dim(-1), 1);
  const Tensor heads = flat ? split_heads(x, count) : x;
  if (heads.rank() != 4) throw Error(ErrorCode::kShape, cat("the input is ", x.shape()));
  Tensor positions = run.tensor(1).to_dtype(DType::kI64);
  if (positions.numel() == 1)
    positions =
        reshape(add(arange(0, static_cast<double>(heads.dim(2)), 1, DType::kI64), positions.item()), {1, heads.dim(2)});
  const Tensor out =
      rotate(heads, angles_at(cos, positions), angles_at(sin, positions), run.get("interleaved", int64_t{0}) != 0);
  run.set(0, store((flat ? merge_heads(out) : out).contiguous(), run.type(0)));
}

namespace {

// [batch, keys] or [batch, queries, keys] of 1 and 0, or [batch] lengths; in finite numbers, as the models were
// trained.
Tensor masked(OpRun& run, int input, int64_t batch, int64_t keys, float filter) {
  const Tensor mask = run.tensor(input).to_dtype(DType::kI64);
  const auto hide = [&](const Tensor& keeps) { return where(keeps, scalar(0), scalar(filter)); };
  if (mask.rank() == 1 && mask.dim(0) == batch)
    return hide(lt(arange(0, static_cast<double>(keys), 1, DType::kI64), reshape(mask, {batch, 1, 1, 1})));
  if (mask.rank() == 2 && mask.shape() == Shape{batch, keys}) return hide(reshape(mask, {batch, 1, 1, keys}));
  if (mask.rank() == 3 && mask.dim(2) == keys) return hide(unsqueeze(mask, 1));
  throw not_offered(cat("a mask ", mask.shape(), " for ", batch, " sequences of ", keys, " keys"));
}

Tensor joined(const Tensor& a, const Tensor& b) { return a.defined() ? (b.defined() ? add(a, b) : a) : b; }

}  // namespace

// input, weights, bias, mask_index, past, attention_bias
void microsoft_attention_op(OpRun& run) {
  const Tensor x = f32(run, 0), weight = f32(run, 1);
  const int64_t heads = run.needed("num_heads");
  if (run.get("do_rotary", int64_t{0}) != 0 || run.get("past_present_share_buffer", int64_t{0}) != 0)
    throw not_offered("do_rotary or past_present_share_buffer is given");
  if (x.rank() != 3 || weight.rank() != 2 || weight.dim(0) != x.dim(2))
    throw Error(ErrorCode::kShape, cat("input ", x.shape(), ", weights ", weight.shape()));
  Tensor all = matmul(x, weight);
  if (run.has(2)) all = add(all, f32(run, 2));
  std::vector<int64_t> sizes = run.ints("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, weight.dim(1) / 3);
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != weight.dim(1))
    throw Error(ErrorCode::kShape, "qkv_hidden_sizes do not fit the weights");
  const auto part = [&](int which) {
    const int64_t start = which == 0 ? 0 : which == 1 ? sizes[0] : sizes[0] + sizes[1];
    return split_heads(narrow(all, 2, start, sizes[which]), heads);
  };
  const Tensor query = part(0);
  Tensor key = part(1), value = part(2);
  AttendWays ways;
  if (run.has(4)) {  // [2, batch, heads, tokens, dim]
    const Tensor past = f32(run, 4);
    if (past.rank() != 5) throw Error(ErrorCode::kShape, cat("past is ", past.shape()));
    ways.before = past.dim(3);
    key = concat({squeeze(narrow(past, 0, 0, 1), 0), key}, 2),
    value = concat({squeeze(narrow(past, 0, 1, 1), 0), value}, 2);
  }
  if (run.wants(1)) run.set(1, store(stack({key, value}, 0), run.type(0)));
  ways.causal = run.get("unidirectional", int64_t{0}) != 0;
  ways.scale = run.get("scale", 0.0f);
  if (run.has(3)) ways.mask = masked(run, 3, x.dim(0), key.dim(2), run.get("mask_filter_value", -10000.0f));
  if (run.has(5)) ways.mask = joined(ways.mask, f32(run, 5));
  run.set(0, store(merge_heads(attend(query, key, value, ways)), run.type(0)));
}

// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value
void multi_head_attention_op(OpRun& run) {
  const int64_t heads = run.needed("num_heads");
  if (!run.has(1) || !run.has(2) || run.tensor(0).rank() != 3) throw not_offered("query, key and value are packed");
  for (int i = 8; i < run.input_count(); ++i) {
    if (run.has(i)) throw not_offered(cat("input ", i + 1, " is given"));
  }
  Tensor query = f32(run, 0), key = f32(run, 1), value = f32(run, 2);
  const bool split = key.rank() == 4;
  if (run.has(3)) {
    const Tensor bias = f32(run, 3);
    const int64_t size = query.dim(2);
    if (bias.numel() < 2 * size) throw Error(ErrorCode::kShape, cat("bias ", bias.shape()));
    query = add(query, narrow(bias, 0, 0, size));
    if (!split)
      key = add(key, narrow(bias, 0, size, size)),
      value = add(value, narrow(bias, 0, 2 * size, bias.numel() - 2 * size));
  }
  query = split_heads(query, heads);
  if (!split) key = split_heads(key, heads), value = split_heads(value, heads);
  AttendWays ways;
  if (run.has(6)) {
    ways.before = run.tensor(6).dim(2);
    key = concat({f32(run, 6), key}, 2), value = concat({f32(run, 7), value}, 2);
  }
  run.set(1, store(key.contiguous(), run.type(0)));
  run.set(2, store(value.contiguous(), run.type(0)));
  ways.causal = run.get("unidirectional", int64_t{0}) != 0;
  ways.scale = run.get("scale", 0.0f);
  if (run.has(4)) ways.mask = masked(run, 4, query.dim(0), key.dim(2), run.get("mask_filter_value", -10000.0f));
  if (run.has(5)) ways.mask = joined(ways.mask, f32(run, 5));
  run.set(0, store(merge_heads(attend(query, key, value, ways)), run.type(0)));
}

// query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache, sin_cache, position_ids,
// attention_bias
void group_query_attention_op(OpRun& run) {
  const int64_t heads = run.needed("num_heads"), kv_heads = run.needed("kv_num_heads");
  if (run.get("smooth_softmax", int64_t{0}) > 0 || run.get("k_quant_type", "NONE") != "NONE" || run.has(11))
    throw not_offered("smooth_softmax, a sink or a quantised cache is given");
  const Tensor packed = f32(run, 0);
  if (packed.rank() != 3 || heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
    throw Error(ErrorCode::kShape, cat("query ", packed.shape(), " for ", heads, " and ", kv_heads, " heads"));
  Tensor query = packed, key, value;
  if (run.has(1)) {
    key = f32(run, 1), value = f32(run, 2);
  } else {
    if (packed.dim(2) % (heads + 2 * kv_heads) != 0)
      throw Error(ErrorCode::kShape, cat("query, key and value in ", packed.shape()));
    const int64_t dim = packed.dim(2) / (heads + 2 * kv_heads);
    query = narrow(packed, 2, 0, heads * dim);
    key = narrow(packed, 2, heads * dim, kv_heads * dim),
    value = narrow(packed, 2, (heads + kv_heads) * dim, kv_heads * dim);
  }
  query = split_heads(query, heads), key = split_heads(key, kv_heads), value = split_heads(value, kv_heads);
  const int64_t batch = query.dim(0), tokens = query.dim(2), total = run.int_at(6);
  const auto last = run.ints(5);
  const int64_t kept = run.has(3) ? run.tensor(3).dim(2) : 0, room = std::max(kept, total);
  if (std::ssize(last) != batch || total < tokens || key.dim(2) != tokens)
    throw Error(ErrorCode::kShape,
                cat(last.size(), " lengths for ", batch, " sequences of ", tokens, " of ", total, " tokens"));
  // Where the new tokens of each sequence stand.
  Longs positions(Shape{batch, tokens});
  std::vector<int64_t> starts;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t start = std::max<int64_t>(last[b] + 1 - tokens, 0);
    if (start > kept || start + tokens > room)
      throw bad_input(cat("sequence ", b, " has ", start, " tokens before, the cache ", kept));
    starts.push_back(start);
    for (int64_t i = 0; i < tokens; ++i) positions.out()[b * tokens + i] = start + i;
  }
  if (run.get("do_rotary", int64_t{0}) != 0) {
    const Tensor at = run.has(9) ? run.tensor(9) : positions.tensor();
    const Tensor cos = angles_at(f32(run, 7), at), sin = angles_at(f32(run, 8), at);
    const bool interleaved = run.get("rotary_interleaved", int64_t{0}) != 0;
    query = rotate(query, cos, sin, interleaved), key = rotate(key, cos, sin, interleaved);
  }
  const auto cached = [&](int past, const Tensor& fresh) {
    Tensor cache = zeros({batch, kv_heads, room, fresh.dim(3)});
    if (kept > 0) {
      const Tensor before = f32(run, past);
      if (before.shape() != cache.shape().with(2, kept))
        throw Error(ErrorCode::kShape, cat("past ", before.shape(), ", expected ", cache.shape().with(2, kept)));
      cache = kept == room ? before.clone() : concat({before, narrow(cache, 2, 0, room - kept)}, 2);
    }
    std::vector<Tensor> sequences;
    for (int64_t b = 0; b < batch; ++b) {
      const Tensor own = narrow(cache, 0, b, 1);
      sequences.push_back(concat({narrow(own, 2, 0, starts[b]), narrow(fresh, 0, b, 1),
                                  narrow(own, 2, starts[b] + tokens, room - starts[b] - tokens)},
                                 2));
    }
    return concat(sequences, 0);
  };
  key = cached(3, key), value = cached(4, value);
  run.set(1, store(key, run.type(0)));
  run.set(2, store(value, run.type(0)));
  const int64_t window = run.get("local_window_size", int64_t{-1});
  const Tensor rows = reshape(positions.tensor(), {batch, 1, tokens, 1}),
               columns = arange(0, static_cast<double>(room), 1, DType::kI64);
  Tensor sees = ge(rows, columns);
  if (window > 0) sees = minimum(sees, ge(columns, sub(rows, static_cast<double>(window))));
  AttendWays ways;
  ways.mask = hidden_where(sees);
  if (run.has(10)) ways.mask = add(ways.mask, for_all_keys(f32(run, 10), room));
  ways.scale = run.get("scale", 0.0f);
  ways.softcap = run.get("softcap", 0.0f);
  run.set(0, store(merge_heads(attend(query, key, value, ways)), run.type(0)));
}

}  // namespace wick::graph
