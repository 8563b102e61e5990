#pragma once

#include <vector>

#include "models/forward_batch.h"
#include "nn/attention.h"
#include "nn/short_conv.h"

namespace wick {

// What all layers of one forward pass share.
struct DecoderStep {
  DecoderStep(const ForwardBatch& batch, const KvCache& cache, const std::vector<RopeTable>& ropes, Device device,
              size_t convolutions);

  const KvCache& cache;
  const std::vector<RopeTable>& tables;
  std::vector<int64_t> positions;  // of each row
  AttentionStep attention;
  std::vector<RopeRows> ropes;                             // one per table
  std::vector<std::vector<ShortConv::Rows>> convolutions;  // one list per convolution layer
  BatchHooks hooks;
};

// Indices as an i64 tensor on the device.
Tensor index_tensor(const std::vector<int64_t>& indices, Device device);

}  // namespace wick
