#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor/shape.h"

namespace wick {

// An importance matrix: how much each input of a weight matters, measured on text as the mean square of what flows into
// it. Encoders spend their precision where it matters.
class Importance {
 public:
  // Reads what llama.cpp's imatrix tool writes: a GGUF file with "<tensor>.in_sum2" and "<tensor>.counts", or the older
  // .dat. Throws Error(kBadFile) naming the tensor at fault.
  static Importance load(const std::filesystem::path& path);

  // The importances of a tensor [.., out, in] by its GGUF name: `in` values, or as many per expert; empty when the
  // matrix does not have it. Throws Error(kBadFile) when their count does not fit the shape.
  std::vector<float> of(std::string_view tensor, const Shape& shape) const;

  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }  // in file order

 private:
  void add(std::string name, std::vector<float> values);
  void read_gguf();
  void read_dat();

  std::filesystem::path path_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::vector<float>> values_;
};

}  // namespace wick
