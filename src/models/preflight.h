#pragma once

#include <string>
#include <vector>

#include "formats/weights.h"
#include "models/weight_loader.h"

namespace wick {

// What a model wants and what its file has, compared by names and shapes before any weight is read.
struct PreflightReport {
  struct Missing {
    WantedTensor wanted;
    std::string nearest;  // a name of the file that may be meant; empty: none is near
  };
  struct Mismatch {
    WantedTensor wanted;
    Shape found;
  };
  std::vector<Missing> missing;
  std::vector<Mismatch> mismatched;
  std::vector<std::string> unused;  // tensors that nothing asks for
  int64_t wanted = 0;

  bool ok() const { return missing.empty() && mismatched.empty() && unused.empty(); }
  // One sentence on what is wrong, with the first tensor of each kind and the number of others; empty when ok.
  std::string sentence() const;
};

// `layers`: the prefix of the layers' names, e.g. "model.layers.". Unused tensors outside the layers only count where
// `is_inferred` says that nobody knows what the model should have: elsewhere they may belong to an encoder.
PreflightReport preflight(const WeightSource& source, const std::vector<WantedTensor>& wanted,
                          const std::string& layers, bool is_inferred);

}  // namespace wick
