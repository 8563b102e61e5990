#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/quantize/quantize_plan.h"
#include "formats/weights.h"
#include "models/model_options.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

// A tensor that a model asks for.
struct WantedTensor {
  std::string name;
  Shape shape;
};

// Hands a model its weights by name, checked against the shapes that its settings imply. The same code that builds a
// model can first run on a listing loader, which only writes down what is asked for and gives nothing.
class WeightLoader {
 public:
  static WeightLoader listing() { return {}; }
  WeightLoader(const WeightSource& source, const ModelOptions& options);

  // Names without ".weight" and ".bias". Throw Error(kBadFile) naming the tensor when it is missing or has another
  // shape. `transposed`: stored as [in, out].
  Linear linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias, bool transposed = false);
  // A table of rows, for looking up.
  Tensor table(const std::string& name, int64_t rows, int64_t columns);
  // Small tensors, as f32. Full names.
  Tensor vector(const std::string& full_name, const Shape& shape);
  Norm norm(const std::string& name, NormKind kind, int64_t size, float eps, bool weights, bool bias, float offset);

  Device device() const { return device_; }
  bool is_listing() const { return source_ == nullptr; }
  const std::vector<WantedTensor>& wanted() const { return wanted_; }
  int64_t parameters() const { return parameters_; }
  int64_t bytes() const { return bytes_; }
  void expect_total(int64_t bytes) { total_ = bytes; }
  // Linears that are loaded from now on have a place for adapters and are put there, too; null: no longer.
  void set_offered(std::vector<std::pair<std::string, Linear>>* linears) { offered_ = linears; }

 private:
  WeightLoader() = default;
  LoadedWeight load(const std::string& full_name, const Shape& shape, bool transposed);
  void count(const Tensor& tensor);

  const WeightSource* source_ = nullptr;
  QuantizePlan plan_ = QuantizePlan::named("auto");
  Device device_;
  std::function<void(int64_t, int64_t)> progress_;
  std::vector<WantedTensor> wanted_;
  std::vector<std::pair<std::string, Linear>>* offered_ = nullptr;
  int64_t parameters_ = 0, bytes_ = 0, total_ = 0;
};

}  // namespace wick
