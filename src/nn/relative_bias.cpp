#include "nn/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

Tensor alibi_scores(const std::vector<float>& slopes, int64_t length, int64_t first, int64_t queries) {
  const Tensor scores = empty({1, std::ssize(slopes), queries, length});
  float* out = scores.mutable_data<float>();
  for (const float slope : slopes) {
    for (int64_t query = first; query < first + queries; ++query) {
      for (int64_t key = 0; key < length; ++key) *out++ = -slope * static_cast<float>(std::abs(key - query));
    }
  }
  return scores;
}

}  // namespace

int64_t RelativeBias::bucket(int64_t distance) const {
  int64_t buckets = table.dim(0), first = 0;
  if (both_ways) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  const int64_t exact = buckets / 2;  // of these each has its own
  if (distance < exact) return first + distance;
  // In f32, as it is everywhere: borders between buckets depend on it.
  const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(most_distance) / static_cast<double>(exact)));
  const auto further = static_cast<int64_t>(share * static_cast<float>(buckets - exact));
  return first + std::min(exact + further, buckets - 1);
}

Tensor RelativeBias::by_distance() const {
  const ArenaPause keep;
  const int64_t heads = table.dim(1);
  const Tensor host = table.to_device(Device::cpu()).to_dtype(DType::kF32).contiguous();
  const Tensor biases = empty({heads, most_distance + 1});
  float* out = biases.mutable_data<float>();
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t distance = 0; distance <= most_distance; ++distance) {
      *out++ = host.data<float>()[bucket(-distance) * heads + head];
    }
  }
  return biases;
}

Tensor RelativeBias::scores(int64_t length, int64_t first, int64_t queries) const {
  const ArenaPause keep;
  if (!slopes.empty()) return alibi_scores(slopes, length, first, queries);
  const int64_t heads = table.dim(1);
  const Tensor host = table.to_device(Device::cpu()).to_dtype(DType::kF32).contiguous();
  std::vector<int64_t> buckets;  // by distance + length - 1
  for (int64_t distance = 1 - length; distance < length; ++distance) buckets.push_back(bucket(distance));
  const Tensor scores = empty({1, heads, queries, length});
  float* out = scores.mutable_data<float>();
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t query = first; query < first + queries; ++query) {
      for (int64_t key = 0; key < length; ++key) {
        const int64_t at = buckets[static_cast<size_t>(key - query + length - 1)];
        *out++ = host.data<float>()[at * heads + head];
      }
    }
  }
  return scores;
}

}  // namespace wick
