#include "ops/layers/paged_attention.h"

#include <cmath>

#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

namespace {

// One vector into the elements `place(d)` of the pool; i8 sets its scale.
template <typename Place>
void store_vector(const Tensor& x, int64_t token, int64_t head, const Tensor& pool, const Place& place,
                  const Tensor& scales, const Index& scale_place) {
  const View<float> from(x);
  const int64_t size = x.dim(2);
  if (pool.dtype() != DType::kI8) {
    const FloatView to(pool);
    for (int64_t d = 0; d < size; ++d) to.set(place(d), from[{token, head, d}]);
    return;
  }
  const View<int8_t> to(pool);
  float most = 0;
  for (int64_t d = 0; d < size; ++d) {
    const float magnitude = std::abs(from[{token, head, d}]);
    if (!std::isnan(most) && !(magnitude <= most)) most = magnitude;
  }
  // Numbers too small for the scale's inverse become 0; infinity and NaN live on in the scale.
  const bool rounds = most > 1e-30f && std::isfinite(most);
  const float inverse = rounds ? 127.0f / most : 0.0f;
  const View<float> scale(scales);
  scale[scale_place] = most / 127.0f;
  for (int64_t d = 0; d < size; ++d) {
    to[place(d)] = rounds ? static_cast<int8_t>(std::nearbyint(from[{token, head, d}] * inverse)) : int8_t{0};
  }
}

}  // namespace

void store_kv(const Tensor& key, const Tensor& value, const PagedRows& rows, const KvBlocks& blocks) {
  const View<int32_t> starts(rows.row_starts), positions(rows.positions), table(rows.block_table);
  for (int64_t s = 0; s < rows.positions.dim(0); ++s) {
    for (int64_t token = starts[{s}]; token < starts[{s + 1}]; ++token) {
      const int64_t position = positions[{s}] + token - starts[{s}];
      const int64_t block = table[{s, position / kKvBlockTokens}], slot = position % kKvBlockTokens;
      for (int64_t head = 0; head < key.dim(1); ++head) {
        const auto key_place = [&](int64_t d) { return Index{block, head, d, slot}; };
        const auto value_place = [&](int64_t d) { return Index{block, head, slot, d}; };
        const Index scale_place{block, head, slot};
        store_vector(key, token, head, blocks.key, key_place, blocks.key_scale, scale_place);
        store_vector(value, token, head, blocks.value, value_place, blocks.value_scale, scale_place);
      }
    }
  }
}

}  // namespace wick::reference
