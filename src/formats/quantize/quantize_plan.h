#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace wick {

// A weight to be stored, under its GGUF or its Hugging Face name.
struct PlannedTensor {
  std::string_view name;
  Shape shape;
  DType dtype;  // as it is now
};

// What the choice of types depends on besides the tensor.
struct PlanFacts {
  std::string_view architecture;  // of GGUF; may be empty
  int64_t layers = 0, heads = 0, kv_heads = 0, experts = 0;
  bool has_importance = false;  // an importance matrix is given
  bool kept_in_f32 = false;     // floats that are not quantised become f32, as readers of GGUF expect
};

// The types that weights get when a model is quantised under a name that people know from GGUF files: "auto" (keep),
// "none" (floats as stored; packed ones become f16), "int8", "int4", "q8_0", "q4_k_m", ... A mix spends more bits where
// they matter: output, values, the way down, first and last layers. Norms, vectors, the router and convolutions are
// not quantised; rows that do not divide into blocks of 256 get a type with blocks of 32.
class QuantizePlan {
 public:
  // Throws Error(kInvalidArgument) that lists the names.
  static QuantizePlan named(std::string_view name);
  static std::vector<std::string_view> names();

  std::string_view name() const { return name_; }
  // One dtype per tensor, in order; all tensors of the model must be given, since mixes count layers.
  std::vector<DType> choose(std::span<const PlannedTensor> tensors, const PlanFacts& facts) const;
  // The same for one tensor by itself, as if every layer had one of its kind; `tied`: the embedding is the output, too.
  DType choose_one(const PlannedTensor& tensor, const PlanFacts& facts, bool tied) const;
  // The code of the type as GGUF's general.file_type, e.g. 15 for q4_k_m; -1 where GGUF has none.
  int gguf_file_type() const { return file_type_; }

 private:
  struct Place {  // the i-th of n
    int64_t i, n;
  };
  DType type_for(const PlannedTensor& tensor, const PlanFacts& facts, bool tied, Place place) const;

  QuantizePlan(std::string_view name, int row, int file_type) : name_(name), row_(row), file_type_(file_type) {}
  std::string_view name_;
  int row_;
  int file_type_;
};

}  // namespace wick
