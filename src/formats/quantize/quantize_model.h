#pragma once

#include <filesystem>
#include <functional>

#include "formats/gguf/gguf_export.h"
#include "formats/quantize/importance.h"
#include "formats/quantize/quantize_plan.h"

namespace wick {

// A GGUF file that is about to be made from a model: everything but the data.
struct GgufModel {
  struct Item {
    GgufTensor tensor;
    DType dtype;        // to be written
    int64_t bytes = 0;  // then
  };
  Metadata metadata;
  std::vector<Item> items;
  int64_t bytes = 0;               // of the data
  std::vector<std::string> notes;  // what the user should know: one sentence each

  int64_t weights() const;
};

// Decides names, types and metadata, and reads the tokenizer. `importance` may be null. The source must outlive the
// model. Throws Error(kUnsupported) saying what GGUF cannot hold, Error(kBadFile) naming what is wrong with the model
// or the importance matrix.
GgufModel plan_gguf_model(const WeightSource& source, const QuantizePlan& plan, const Importance* importance);

// Converts tensor by tensor, each on all threads, and writes the file; it appears when it is complete. `progress`
// hears in front of each tensor and after each piece of it how many bytes of its source are done; an exception from it
// stops the work and leaves nothing.
using QuantizeProgress = std::function<void(const GgufModel::Item& item, int64_t done)>;
void write_gguf_model(const GgufModel& model, const WeightSource& source, const Importance* importance,
                      const std::filesystem::path& path, const QuantizeProgress& progress);

}  // namespace wick
