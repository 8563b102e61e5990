#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/text_rows.h"
#include "tensor/tensor.h"

namespace wick {

struct ProbeOptions {
  int64_t steps = 300;  // over all training rows
  double learning_rate = 0.05;
  double weight_decay = 0.01;
  double test_share = 0.25;  // of the rows, drawn at random and kept from training; 0: none
  uint64_t seed = 1;
};

struct ProbeReport {
  int64_t train_rows = 0, test_rows = 0;
  double train_accuracy = 0, test_accuracy = 0;  // 0 to 1; 0 without rows
  double train_loss = 0;                         // at the end, in nats
};

// A linear classifier of hidden states, trained by logistic regression: can this be read off here?
class LinearProbe {
 public:
  // rows [n, values], labels 0 to classes - 1, one per row. Throws Error(kInvalidArgument) for shapes and labels that
  // do not fit, values that are not finite, and options out of range.
  static LinearProbe train(const Tensor& rows, std::span<const int64_t> labels, int64_t classes,
                           const ProbeOptions& options = {}, ProbeReport* report = nullptr);

  int64_t classes() const { return weight_.dim(0); }
  Tensor probabilities(const Tensor& rows) const;           // [n, classes]
  std::vector<int64_t> classify(const Tensor& rows) const;  // the likeliest class of each row
  const Tensor& weight() const { return weight_; }          // f32 [classes, values]: a class's direction
  const Tensor& bias() const { return bias_; }              // f32 [classes]

  std::string point;                // where the rows come from; may be empty
  std::optional<TextRow> row;       // which row stands for a text; empty: not known
  std::vector<std::string> labels;  // what the classes stand for; empty, or one each

  // As safetensors: "weight" and "bias", with point, row and labels as metadata. load throws Error(kBadFile) naming
  // what is wrong.
  void save(const std::filesystem::path& path) const;
  static LinearProbe load(const std::filesystem::path& path);

 private:
  LinearProbe(Tensor weight, Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

  Tensor weight_, bias_;
};

}  // namespace wick
