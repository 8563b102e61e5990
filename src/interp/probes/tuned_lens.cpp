#include "interp/probes/tuned_lens.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "ops/binary.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"

namespace wick {

TunedLens::TunedLens(std::vector<Tensor> weights, std::vector<Tensor> biases)
    : weights_(std::move(weights)), biases_(std::move(biases)) {
  if (weights_.empty() || weights_.size() != biases_.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a tuned lens has ", weights_.size(), " weights and ", biases_.size(), " biases"));
  }
}

TunedLens TunedLens::load(const std::filesystem::path& path, int layers, int64_t hidden) {
  const Checkpoint file = Checkpoint::open(path);
  const std::string prefix = file.find("layer_translators.0.weight") ? "layer_translators." : "";
  const auto read = [&](const std::string& name, const Shape& shape) {
    const TensorEntry* entry = file.find(name);
    if (!entry)
      throw Error(ErrorCode::kBadFile, cat(path, ": there is no '", name, "' for a lens of ", layers, " layers"));
    if (!(entry->shape == shape)) {
      throw Error(ErrorCode::kBadFile, cat(path, ": '", name, "' is ", entry->shape, ", expected ", shape));
    }
    return file.get(*entry).to_dtype(DType::kF32);
  };
  std::vector<Tensor> weights, biases;
  for (int i = 0; i < layers; ++i) {
    weights.push_back(read(cat(prefix, i, ".weight"), {hidden, hidden}));
    biases.push_back(read(cat(prefix, i, ".bias"), {hidden}));
  }
  return {std::move(weights), std::move(biases)};
}

Tensor TunedLens::operator()(int layer, const Tensor& rows) const {
  if (layer < 0 || layer >= layers()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the tuned lens has ", layers(), " layers, layer ", layer, " is asked for"));
  }
  const auto i = static_cast<size_t>(layer);
  return add(rows, add(matmul(rows, transpose(weights_[i], 0, 1)), biases_[i]));
}

}  // namespace wick
