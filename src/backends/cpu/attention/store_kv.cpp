// Keys and values of new rows to their places in the pool: keys transposed, 16 positions at a time where a block is
// filled.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/store_kv.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include <cmath>

#include "backends/cpu/gemm/matmul_pack-inl.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"
#include "ops/layers/paged_attention.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// Rows of one sequence that lie in one block.
struct StorePiece {
  const float* from;  // [count, size], rows token_stride apart
  int64_t token_stride, size, slot, count;
};

// The largest magnitude of a row; NaN if any element is.
HWY_INLINE float LargestMagnitude(const float* HWY_RESTRICT from, int64_t size) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  auto most = hn::Zero(d), odd = hn::Zero(d);  // x - x is NaN for infinity too, which the maximum keeps
  for (int64_t i = 0; i < size; i += kLanes) {
    const auto x = i + kLanes <= size ? hn::LoadU(d, from + i) : LoadAsN(d, from + i, static_cast<size_t>(size - i));
    most = hn::Max(hn::Abs(x), most);
    odd = hn::Add(odd, hn::Sub(x, x));
  }
  const float largest = LargestLane(d, most), strange = hn::GetLane(hn::SumOfLanes(d, odd));
  if (strange == 0) return largest;
  for (int64_t i = 0; i < size; ++i) {
    if (std::isnan(from[i])) return from[i];
  }
  return std::numeric_limits<float>::infinity();
}

// Rows times 127 / max|x|, rounded: every element becomes a whole number in f32. Sets the scales.
void RoundRows(const StorePiece& piece, float* HWY_RESTRICT scales, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  for (int64_t r = 0; r < piece.count; ++r, to += piece.size) {
    const float* from = piece.from + r * piece.token_stride;
    const float most = LargestMagnitude(from, piece.size);
    // Numbers too small for the scale's inverse become 0; infinity and NaN live on in the scale.
    const bool rounds = most > 1e-30f && std::isfinite(most);
    scales[piece.slot + r] = most / 127.0f;
    if (!rounds) {
      std::fill_n(to, piece.size, 0.0f);
      continue;
    }
    const float inverse = 127.0f / most;
    int64_t i = 0;
    for (; i + kLanes <= piece.size; i += kLanes) {
      hn::StoreU(hn::Round(hn::Mul(hn::LoadU(d, from + i), hn::Set(d, inverse))), d, to + i);
    }
    for (; i < piece.size; ++i) to[i] = std::nearbyint(from[i] * inverse);
  }
}

// The first `count` of a vector's worth, converted. Whole numbers of i8 rows fit.
template <typename T>
HWY_INLINE void StoreElements(const float* HWY_RESTRICT from, int64_t count, T* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kLanesOf<decltype(d)>;
  int64_t i = 0;
  if constexpr (!std::is_same_v<T, int8_t>) {
    for (; i + kLanes <= count; i += kLanes) StoreAs(hn::LoadU(d, from + i), d, to + i);
  }
  for (; i < count; ++i) to[i] = convert<T>(from[i]);
}

template <typename T>
void StoreKeys(const StorePiece& piece, T* HWY_RESTRICT block) {
  if (piece.count < kKvBlockTokens) {
    for (int64_t r = 0; r < piece.count; ++r) {
      const float* from = piece.from + r * piece.token_stride;
      T* to = block + piece.slot + r;
      for (int64_t i = 0; i < piece.size; ++i) to[i * kKvBlockTokens] = convert<T>(from[i]);
    }
    return;
  }
  float* transposed = cpu::scratch<float, struct StoreKvTransposed>(kKvBlockTokens * piece.size);
  PackTransposed(piece.from, piece.token_stride, 1, kKvBlockTokens, kKvBlockTokens, piece.size, transposed);
  StoreElements(transposed, kKvBlockTokens * piece.size, block);
}

template <typename T>
void StoreValues(const StorePiece& piece, T* HWY_RESTRICT block) {
  for (int64_t r = 0; r < piece.count; ++r) {
    StoreElements(piece.from + r * piece.token_stride, piece.size, block + (piece.slot + r) * piece.size);
  }
}

// One side (keys or values) of one piece and head; `scales` is the block's, for i8.
template <typename T, bool kKeys>
void StoreSide(StorePiece piece, std::byte* pool, int64_t offset, float* scales) {
  if constexpr (std::is_same_v<T, int8_t>) {
    float* rounded = cpu::scratch<float, struct StoreKvRounded>(piece.count * piece.size);
    RoundRows(piece, scales, rounded);
    piece.from = rounded;
    piece.token_stride = piece.size;
  }
  T* block = reinterpret_cast<T*>(pool) + offset;
  if constexpr (kKeys) {
    StoreKeys(piece, block);
  } else {
    StoreValues(piece, block);
  }
}

template <typename T, bool kKeys>
void StorePieceOf(const Tensor& x, int64_t token, int64_t count, int64_t slot, int64_t block, const Tensor& pool,
                  const Tensor& scale) {
  for (int64_t head = 0; head < x.dim(1); ++head) {
    const float* from = reinterpret_cast<const float*>(x.raw()) + token * x.strides()[0] + head * x.strides()[1];
    float* scales = nullptr;
    if (scale.defined()) {
      scales = reinterpret_cast<float*>(scale.raw()) + block * scale.strides()[0] + head * scale.strides()[1];
    }
    StoreSide<T, kKeys>({from, x.strides()[0], x.dim(2), slot, count}, pool.raw(),
                        block * pool.strides()[0] + head * pool.strides()[1], scales);
  }
}

void StorePiece16(const Tensor& key, const Tensor& value, const KvBlocks& blocks, int64_t token, int64_t count,
                  int64_t slot, int64_t block) {
  const auto store = [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    StorePieceOf<T, true>(key, token, count, slot, block, blocks.key, blocks.key_scale);
    StorePieceOf<T, false>(value, token, count, slot, block, blocks.value, blocks.value_scale);
  };
  switch (blocks.key.dtype()) {
    case DType::kF16: return store(Half{});
    case DType::kBF16: return store(BFloat16{});
    case DType::kI8: return store(int8_t{});
    default: return store(float{});
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(StorePiece16);
namespace cpu {

// Elements of a piece of work: fewer are not worth another thread.
constexpr int64_t kStoreElements = 32768;

void store_kv(const Tensor& key, const Tensor& value, const PagedRows& rows, const KvBlocks& blocks) {
  const auto ints = [](const Tensor& x) { return reinterpret_cast<const int32_t*>(x.raw()); };
  const int32_t *starts = ints(rows.row_starts), *positions = ints(rows.positions);
  const int64_t sequences = rows.positions.dim(0);
  const int64_t row_elements = key.dim(1) * (key.dim(2) + value.dim(2));
  // Rows are handed out in pieces of a fixed number; a piece stores, block by block, what falls into it.
  const int64_t grain = std::max<int64_t>(1, kStoreElements / std::max<int64_t>(1, row_elements));
  parallel_for(key.dim(0), (grain + kKvBlockTokens - 1) / kKvBlockTokens * kKvBlockTokens,
               [&](int64_t begin, int64_t end) {
                 int64_t s = std::upper_bound(starts, starts + sequences, begin) - starts - 1;
                 for (int64_t token = begin; token < end;) {
                   while (starts[s + 1] <= token) ++s;
                   const int64_t position = positions[s] + token - starts[s], slot = position % kKvBlockTokens;
                   const int64_t stop = std::min<int64_t>({end, starts[s + 1], token + kKvBlockTokens - slot});
                   const int32_t* table = ints(rows.block_table) + s * rows.block_table.strides()[0];
                   HWY_DYNAMIC_DISPATCH(StorePiece16)
                   (key, value, blocks, token, stop - token, slot, table[position / kKvBlockTokens]);
                   token = stop;
                 }
               });
}

}  // namespace cpu
}  // namespace wick
#endif
