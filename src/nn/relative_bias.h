#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// T5's positions: a number for each head and for how far a key lies from its query, added to their score. Distances
// share a bucket with others, the more the larger they are.
struct RelativeBias {
  Tensor table;                 // f32 [buckets, heads]
  int64_t most_distance = 128;  // from here on all are in the last bucket
  bool both_ways = true;        // keys lie behind queries, too; false: all that do share bucket 0
  // In place of a table ALiBi: each head's slope times the distance is taken off, to both sides.
  std::vector<float> slopes = {};

  // Of a key that lies `distance` behind its query, below zero before it.
  int64_t bucket(int64_t distance) const;
  // Of keys that lie 0, 1, .. most_distance before their query: f32 [heads, most_distance + 1] on the host.
  Tensor by_distance() const;
  // Of `queries` rows of a text from the first on: f32 [1, heads, queries, length].
  Tensor scores(int64_t length, int64_t first, int64_t queries) const;
};

}  // namespace wick
