#include "ops/layers/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/check.h"

namespace wick {

namespace {

void check_dtype(const char* op, const char* what, const Tensor& x, DType dtype) {
  if (x.dtype() != dtype) throw Error(ErrorCode::kDType, cat(op, ": ", what, " is ", x.dtype(), ", expected ", dtype));
}

void check_shape(const char* op, const char* what, const Tensor& x, const Shape& shape) {
  if (x.shape() != shape) {
    throw Error(ErrorCode::kShape, cat(op, ": ", what, " has shape ", x.shape(), ", expected ", shape));
  }
}

// A head's part of a block is in one piece.
void check_whole(const char* op, const char* what, const Tensor& x) {
  int64_t step = 1;
  for (int d = x.rank() - 1; d >= 2; --d) {
    if (x.dim(d) > 1 && x.strides()[d] != step) {
      throw Error(ErrorCode::kInvalidArgument, cat(op, ": ", what, " ", x.shape(), " is not row-major within a head"));
    }
    step *= x.dim(d);
  }
}

Tensor with_unit_stride(const Tensor& x) {
  const int last = x.rank() - 1;
  return x.dim(last) <= 1 || x.strides()[last] == 1 ? x.detach() : x.detach().contiguous();
}

void check_blocks(const char* op, const KvBlocks& blocks) {
  const auto& [key, value, key_scale, value_scale] = blocks;
  check_rank(op, "the key pool", key, 4);
  check_rank(op, "the value pool", value, 4);
  const DType dtype = key.dtype();
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16 && dtype != DType::kI8) {
    throw Error(ErrorCode::kDType, cat(op, ": the key pool is ", dtype, ", expected f32, f16, bf16 or i8"));
  }
  check_dtype(op, "the value pool", value, dtype);
  const Shape places{key.dim(0), key.dim(1), kKvBlockTokens};
  if (key.dim(1) == 0 || key.dim(2) == 0 || key.dim(3) != kKvBlockTokens) {
    throw Error(ErrorCode::kShape, cat(op, ": the key pool has shape ", key.shape(),
                                       ", expected [blocks, kv_heads, head_dim, ", kKvBlockTokens, "]"));
  }
  check_shape(op, "the value pool", value, {key.dim(0), key.dim(1), kKvBlockTokens, value.dim(3)});
  check_whole(op, "the key pool", key);
  check_whole(op, "the value pool", value);
  for (const auto& [what, scale] : {std::pair{"key_scale", &key_scale}, std::pair{"value_scale", &value_scale}}) {
    if (scale->defined() != (dtype == DType::kI8)) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(op, ": ", what, " is ", scale->defined() ? "given" : "missing", " for a pool of ", dtype));
    }
    if (!scale->defined()) continue;
    check_dtype(op, what, *scale, DType::kF32);
    check_shape(op, what, *scale, places);
    check_whole(op, what, *scale);
  }
}

// The table entries from `first` on that sequence s needs for positions before `end`.
void check_table(const char* op, const int32_t* table, int64_t entries, int64_t s, int64_t first, int64_t end,
                 int64_t pool) {
  if (end > entries * kKvBlockTokens) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": sequence ", s, " reaches position ", end - 1,
                                                 ", but its table has room for ", entries * kKvBlockTokens));
  }
  for (int64_t b = first / kKvBlockTokens; b * kKvBlockTokens < end; ++b) {
    if (table[b] < 0 || table[b] >= pool) {
      throw Error(ErrorCode::kInvalidArgument, cat(op, ": entry ", b, " of the table of sequence ", s, " is block ",
                                                   table[b], ", but the pool has ", pool, " blocks"));
    }
  }
}

// With options, blocks before the first row are read too, as far as it sees.
void check_numbers(const char* op, const PagedRows& rows, int64_t tokens, int64_t pool,
                   const PagedAttentionOptions* options) {
  const auto* starts = rows.row_starts.data<int32_t>();
  const auto* positions = rows.positions.data<int32_t>();
  const auto* table = rows.block_table.data<int32_t>();
  const int64_t sequences = rows.positions.dim(0), entries = rows.block_table.dim(1);
  if (starts[0] != 0 || starts[sequences] != tokens) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": row_starts goes from ", starts[0], " to ", starts[sequences],
                                                 ", expected 0 to ", tokens, ", the number of rows"));
  }
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t count = int64_t{starts[s + 1]} - starts[s], position = positions[s];
    if (count < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(op, ": row_starts falls from ", starts[s], " to ", starts[s + 1], " at sequence ", s));
    }
    if (position < 0) {
      throw Error(ErrorCode::kInvalidArgument, cat(op, ": sequence ", s, " starts at position ", position));
    }
    if (count == 0) continue;
    const int64_t seen_from = options ? options->first_seen(position) : position;
    check_table(op, table + s * rows.block_table.strides()[0], entries, s, seen_from, position + count, pool);
  }
}

PagedRows checked_rows(const char* op, const PagedRows& rows, int64_t tokens, int64_t pool,
                       const PagedAttentionOptions* options) {
  check_rank(op, "positions", rows.positions, 1);
  check_rank(op, "row_starts", rows.row_starts, 1);
  check_rank(op, "block_table", rows.block_table, 2);
  check_dtype(op, "positions", rows.positions, DType::kI32);
  check_dtype(op, "row_starts", rows.row_starts, DType::kI32);
  check_dtype(op, "block_table", rows.block_table, DType::kI32);
  const int64_t sequences = rows.positions.dim(0);
  check_shape(op, "row_starts", rows.row_starts, {sequences + 1});
  check_shape(op, "block_table", rows.block_table, {sequences, rows.block_table.dim(1)});
  PagedRows result{with_unit_stride(rows.row_starts), with_unit_stride(rows.positions),
                   with_unit_stride(rows.block_table)};
  if (rows.positions.device().is_host()) check_numbers(op, result, tokens, pool, options);
  return result;
}

PagedRows check_store(const char* op, const Tensor& key, const Tensor& value, const PagedRows& rows,
                      const KvBlocks& blocks) {
  check_rank(op, "key", key, 3);
  check_rank(op, "value", value, 3);
  check_dtype(op, "key", key, DType::kF32);
  check_dtype(op, "value", value, DType::kF32);
  check_blocks(op, blocks);
  check_same_device(op, {&key, &value, &blocks.key, &blocks.value, &blocks.key_scale, &blocks.value_scale,
                         &rows.row_starts, &rows.positions, &rows.block_table});
  const int64_t tokens = key.dim(0), kv_heads = blocks.key.dim(1);
  check_shape(op, "key", key, {tokens, kv_heads, blocks.key.dim(2)});
  check_shape(op, "value", value, {tokens, kv_heads, blocks.value.dim(3)});
  return checked_rows(op, rows, tokens, blocks.key.dim(0), nullptr);
}

PagedAttentionOptions check_query(const char* op, const Tensor& query, const KvBlocks& blocks,
                                  const PagedAttentionOptions& options) {
  check_rank(op, "query", query, 3);
  check_dtype(op, "query", query, DType::kF32);
  check_same_device(op, {&query, &blocks.key, &options.sinks, &options.alibi_slopes, &options.distance_bias});
  const int64_t heads = query.dim(1), kv_heads = blocks.key.dim(1);
  check_shape(op, "query", query, {query.dim(0), heads, blocks.key.dim(2)});
  if (heads % kv_heads != 0) {
    throw Error(ErrorCode::kShape, cat(op, ": ", heads, " heads are not a multiple of ", kv_heads, " key heads"));
  }
  if (options.window < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": window ", options.window, " is below 0"));
  }
  if (options.chunk < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": chunk ", options.chunk, " is below 0"));
  }
  if (!(options.soft_cap >= 0) || !std::isfinite(options.soft_cap)) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": soft cap ", options.soft_cap, " is not a finite size"));
  }
  PagedAttentionOptions used = options;
  for (const auto& [what, each] : {std::pair{"sinks", &used.sinks}, std::pair{"alibi_slopes", &used.alibi_slopes}}) {
    if (!each->defined()) continue;
    check_dtype(op, what, *each, DType::kF32);
    check_shape(op, what, *each, {heads});
    *each = with_unit_stride(*each);
  }
  if (used.distance_bias.defined()) {
    check_rank(op, "distance_bias", used.distance_bias, 2);
    check_dtype(op, "distance_bias", used.distance_bias, DType::kF32);
    const int64_t distances = used.distance_bias.dim(1);
    check_shape(op, "distance_bias", used.distance_bias, {heads, distances});
    if (distances < 1 || distances > std::numeric_limits<int32_t>::max()) {
      throw Error(ErrorCode::kShape, cat(op, ": distance_bias is for ", distances, " distances"));
    }
    used.distance_bias = used.distance_bias.detach().contiguous();
  }
  return used;
}

}  // namespace

void store_kv(const Tensor& key, const Tensor& value, const PagedRows& rows, const KvBlocks& blocks) {
  constexpr const char* kName = "store_kv";
  const PagedRows checked = check_store(kName, key, value, rows, blocks);
  const auto kernel = find_kernel(kName, key.device(), &KernelTable::store_kv);
  if (key.dim(0) > 0) kernel(with_unit_stride(key), with_unit_stride(value), checked, blocks);
}

Tensor paged_attention(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows,
                       const PagedAttentionOptions& options) {
  constexpr const char* kName = "paged_attention";
  check_blocks(kName, blocks);
  check_same_device(kName, {&query, &blocks.key, &blocks.value, &blocks.key_scale, &blocks.value_scale,
                            &rows.row_starts, &rows.positions, &rows.block_table});
  const PagedAttentionOptions used = check_query(kName, query, blocks, options);
  const PagedRows checked = checked_rows(kName, rows, query.dim(0), blocks.key.dim(0), &options);
  const auto kernel = find_kernel(kName, query.device(), &KernelTable::paged_attention);
  Tensor out = empty({query.dim(0), query.dim(1), blocks.value.dim(3)}, DType::kF32, query.device());
  if (out.numel() > 0) kernel(with_unit_stride(query), blocks, checked, used, out);
  return out;
}

Attended attend(const AttendInput& input, const HeadRotation& rotation, const KvBlocks& blocks, const PagedRows& rows,
                const PagedAttentionOptions& options, bool wants_queries) {
  constexpr const char* kName = "attend";
  const auto& [query, key, value] = input;
  const PagedRows stored = check_store(kName, key, value, rows, blocks);
  const PagedAttentionOptions used = check_query(kName, query, blocks, options);
  const PagedRows checked = checked_rows(kName, stored, query.dim(0), blocks.key.dim(0), &options);
  const int64_t tokens = query.dim(0), dim = query.dim(2);
  if (key.dim(0) != tokens) {
    throw Error(ErrorCode::kShape, cat(kName, ": ", tokens, " queries and ", key.dim(0), " keys"));
  }
  if (rotation.query_weight.defined() != rotation.key_weight.defined() ||
      rotation.cos.defined() != rotation.sin.defined()) {
    throw Error(ErrorCode::kInvalidArgument, cat(kName, ": one of two norms or of cos and sin is missing"));
  }
  HeadRotation dense = rotation;
  for (const auto& [what, each] :
       {std::pair{"query_weight", &dense.query_weight}, std::pair{"key_weight", &dense.key_weight}}) {
    if (!each->defined()) continue;
    check_dtype(kName, what, *each, DType::kF32);
    check_shape(kName, what, *each, {dim});
    *each = with_unit_stride(*each);
  }
  if (rotation.cos.defined()) {
    const int64_t pairs = rotation.cos.rank() == 2 ? rotation.cos.dim(1) : 0;
    for (const auto& [what, each] : {std::pair{"cos", &dense.cos}, std::pair{"sin", &dense.sin}}) {
      check_dtype(kName, what, *each, DType::kF32);
      check_shape(kName, what, *each, {tokens, pairs});
      *each = each->detach().contiguous();
    }
    if (2 * pairs > dim) {
      throw Error(ErrorCode::kShape, cat(kName, ": ", pairs, " pairs rotate in heads of ", dim, " components"));
    }
  }
  check_same_device(kName, {&query, &rotation.query_weight, &rotation.key_weight, &rotation.cos, &rotation.sin});
  const auto kernel = find_kernel(kName, query.device(), &KernelTable::attend);
  Attended result{empty({tokens, query.dim(1), blocks.value.dim(3)}, DType::kF32, query.device()), {}};
  if (wants_queries) result.queries = empty(query.shape(), DType::kF32, query.device());
  if (tokens > 0) {
    kernel({query.detach().contiguous(), key.detach().contiguous(), value.detach().contiguous()}, dense, blocks,
           checked, used, result.queries, result.out);
  }
  return result;
}

}  // namespace wick
