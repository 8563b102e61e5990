#pragma once

#include <filesystem>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// One affine map per layer that turns what enters it into what the last layer would make of it: x + W x + b (Belrose et
// al. 2023). Reads safetensors with "<layer>.weight" [hidden, hidden] and "<layer>.bias" [hidden], or the same behind
// "layer_translators.". Number i belongs to what enters layer i.
class TunedLens {
 public:
  // Throws Error(kBadFile) naming the tensor that is missing or of a wrong shape.
  static TunedLens load(const std::filesystem::path& path, int layers, int64_t hidden);
  TunedLens(std::vector<Tensor> weights, std::vector<Tensor> biases);  // f32, one of each per layer

  int layers() const { return static_cast<int>(weights_.size()); }
  Tensor operator()(int layer, const Tensor& rows) const;  // f32 [rows, hidden]

 private:
  std::vector<Tensor> weights_, biases_;
};

}  // namespace wick
