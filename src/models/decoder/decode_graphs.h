#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "base/inline_vector.h"
#include "models/decoder/decoder_config.h"
#include "models/forward_batch.h"
#include "nn/kv_cache.h"
#include "nn/rope.h"
#include "ops/device_graph.h"

namespace wick {

// What a pass reads besides weights and cache, on the device.
struct DecodeInputs {
  Tensor ids, position_ids;  // i64 [rows]
  PagedRows rows;
  InlineVector<RopeRows, kMostRopes> ropes;  // one per table
};

// Decode steps of some sequences, captured as graphs: hundreds of kernels are then started at once. There is one graph
// for each number of sequences and (by powers of two) length of their block tables, captured when it is needed the
// second time. Thread-safe.
class DecodeGraphs {
 public:
  static constexpr size_t kMostSequences = 64;

  // The logits of `forward` for this batch, through a graph. Empty where there is none (yet): the caller goes on as
  // usual. `forward` is called while capturing and must read nothing but its argument, weights and the cache.
  std::optional<Tensor> run(const ForwardBatch& batch, const KvCache& cache, const std::vector<RopeTable>& tables,
                            Device device, FunctionRef<Tensor(const DecodeInputs&)> forward);

 private:
  struct Key {
    int64_t sequences, table_width, blocks;
    const std::byte* keys;  // of the cache
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::unique_ptr<DeviceGraph> graph;  // null: seen once
    Tensor memory, ids, logits;          // what the inputs are views of, one of them; what comes out
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
  bool refused_ = false;  // the model does something that cannot be captured
};

}  // namespace wick
