#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Silero's network written down from its definition, in f64, for both rates. The tensors have the names of
// silero_vad_16k.safetensors.
class PlainSilero {
 public:
  explicit PlainSilero(const std::map<std::string, Tensor, std::less<>>& tensors) {
    for (const auto& [name, tensor] : tensors) w_[name] = tensor.to_vector<double>();
    n_ = static_cast<size_t>(tensors.find("stft_conv.weight")->second.dim(2));
  }

  double score(const std::vector<float>& sound, size_t at) {
    const auto last = static_cast<int64_t>(2 * n_ - 1), before = static_cast<int64_t>(n_ / 4);
    const auto sample = [&](int64_t i) {  // mirrored behind the last
      if (i > last) i = 2 * last - i;
      const int64_t place = static_cast<int64_t>(at) + i;
      return place < 0 ? 0.0 : double{sound[static_cast<size_t>(place)]};
    };
    const size_t bins = n_ / 2 + 1;
    std::vector<Values> x(bins, Values(4));
    for (size_t k = 0; k < bins; ++k) {
      for (size_t frame = 0; frame < 4; ++frame) {
        double re = 0, im = 0;
        for (size_t i = 0; i < n_; ++i) {
          const double value = sample(static_cast<int64_t>(frame * n_ / 2 + i) - before);
          re += w_["stft_conv.weight"][k * n_ + i] * value;
          im += w_["stft_conv.weight"][(k + bins) * n_ + i] * value;
        }
        x[k][frame] = std::hypot(re, im);
      }
    }
    x = conv("conv1", x, 1);
    x = conv("conv2", x, 2);
    x = conv("conv3", x, 2);
    x = conv("conv4", x, 1);
    const auto gate = [&](size_t row) {
      double sum = w_["lstm_cell.bias_ih"][row] + w_["lstm_cell.bias_hh"][row];
      for (size_t i = 0; i < 128; ++i) {
        sum +=
            w_["lstm_cell.weight_ih"][row * 128 + i] * x[i][0] + w_["lstm_cell.weight_hh"][row * 128 + i] * hidden_[i];
      }
      return sum;
    };
    Values next(128);
    double logit = w_["final_conv.bias"][0];
    for (size_t i = 0; i < 128; ++i) {
      cell_[i] = sigmoid(gate(128 + i)) * cell_[i] + sigmoid(gate(i)) * std::tanh(gate(256 + i));
      next[i] = sigmoid(gate(384 + i)) * std::tanh(cell_[i]);
      logit += w_["final_conv.weight"][i] * std::max(0.0, next[i]);
    }
    hidden_ = next;
    return sigmoid(logit);
  }

 private:
  using Values = std::vector<double>;

  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  std::vector<Values> conv(const std::string& name, const std::vector<Values>& x, size_t stride) {
    const Values &weight = w_[name + ".weight"], &bias = w_[name + ".bias"];
    std::vector<Values> out(bias.size(), Values((x[0].size() - 1) / stride + 1));
    for (size_t o = 0; o < out.size(); ++o) {
      for (size_t t = 0; t < out[o].size(); ++t) {
        double sum = bias[o];
        for (size_t c = 0; c < x.size(); ++c) {
          for (size_t k = 0; k < 3; ++k) {
            const size_t at = t * stride + k;
            if (at >= 1 && at <= x[c].size()) sum += weight[(o * x.size() + c) * 3 + k] * x[c][at - 1];
          }
        }
        out[o][t] = std::max(0.0, sum);
      }
    }
    return out;
  }

  std::map<std::string, Values> w_;
  size_t n_ = 0;
  Values hidden_ = Values(128), cell_ = Values(128);
};

}  // namespace wick
