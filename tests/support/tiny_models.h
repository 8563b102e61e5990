#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace wick {

// A model of two small layers with random weights, as Hugging Face lays it out: config.json and its tensors.
struct TinyTensor {
  std::string name;
  Shape shape;
};
struct TinyModel {
  std::string_view family;
  std::string config;
  std::vector<TinyTensor> tensors;
};

// One per way that names and bytes differ between Hugging Face and GGUF.
const std::vector<TinyModel>& tiny_models();
const TinyModel& tiny_model(std::string_view family);

// Writes config.json and model.safetensors (f32, random) into the folder.
void write_tiny_model(const TinyModel& model, const std::filesystem::path& folder);

// Writes `tensors` as model.safetensors and `config` as config.json.
void write_checkpoint(const std::filesystem::path& folder, const std::string& config,
                      const std::vector<std::pair<std::string, Tensor>>& tensors);

// Writes the model in `folder` as a GGUF file, without a tokenizer.
void write_gguf(const std::filesystem::path& folder, const std::filesystem::path& path);

}  // namespace wick
