#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "formats/checkpoint.h"

namespace wick {

// wav2vec2 and its conformer once more, in loops over doubles and nothing shared with the model that is tested.
class PlainWav2Vec2 {
 public:
  using Rows = std::vector<std::vector<double>>;  // [time][channels]

  explicit PlainWav2Vec2(const Checkpoint& file, const Json& config) : file_(file), config_(config) {
    conformer_ = config.at("model_type").as_text() == "wav2vec2-conformer";
    prefix_ = conformer_ ? "wav2vec2_conformer." : "wav2vec2.";
    eps_ = config.get("layer_norm_eps", 1e-5);
    heads_ = config.at("num_attention_heads").to<size_t>();
  }

  Rows logits(const std::vector<float>& samples) const {
    Rows x;
    for (const float sample : samples) x.push_back({sample});
    const auto kernels = config_.at("conv_kernel").to<std::vector<size_t>>();
    const auto strides = config_.at("conv_stride").to<std::vector<size_t>>();
    const bool layer_norms = config_.get("feat_extract_norm", "group") == std::string("layer");
    for (size_t i = 0; i < kernels.size(); ++i) {
      const std::string name = cat(prefix_, "feature_extractor.conv_layers.", i, ".");
      x = conv(x, get(name + "conv.weight"), get_if(name + "conv.bias"), kernels[i], strides[i], 0, 1);
      if (layer_norms) {
        x = norm(x, name + "layer_norm", 1e-5);
      } else if (i == 0) {
        x = transposed(norm(transposed(x), "", 1e-5));
        scale_shift(x, get(name + "layer_norm.weight"), get(name + "layer_norm.bias"));
      }
      for (auto& row : x) act(row, config_.get("feat_extract_activation", "gelu"));
    }
    x = linear(norm(x, prefix_ + "feature_projection.layer_norm", eps_), prefix_ + "feature_projection.projection");
    const bool stable = config_.get("do_stable_layer_norm", false);
    if (!conformer_) {
      x = add(x, places(x));
      if (!stable) x = norm(x, prefix_ + "encoder.layer_norm", eps_);
    }
    for (int64_t i = 0; i < config_.at("num_hidden_layers").as_int(); ++i) {
      const std::string name = cat(prefix_, "encoder.layers.", i, ".");
      x = conformer_ ? conformer_layer(x, name) : layer(x, name, stable);
    }
    if (conformer_ || stable) x = norm(x, prefix_ + "encoder.layer_norm", eps_);
    return linear(x, "lm_head");
  }

 private:
  std::vector<float> get(const std::string& name) const {
    return file_.get(name).to_dtype(DType::kF32).to_vector<float>();
  }
  std::vector<float> get_if(const std::string& name) const {
    return file_.find(name) ? get(name) : std::vector<float>();
  }

  static void act(std::vector<double>& row, const std::string& name) {
    for (double& v : row) v = name == "gelu" ? 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))) : v / (1 + std::exp(-v));
  }
  static Rows transposed(const Rows& x) {
    Rows y(x[0].size(), std::vector<double>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < x[0].size(); ++j) y[j][i] = x[i][j];
    }
    return y;
  }
  static Rows add(Rows x, const Rows& y, double factor = 1) {
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < x[0].size(); ++j) x[i][j] += factor * y[i][j];
    }
    return x;
  }
  static void scale_shift(Rows& x, const std::vector<float>& weight, const std::vector<float>& bias) {
    for (auto& row : x) {
      for (size_t j = 0; j < row.size(); ++j) row[j] = row[j] * weight[j] + bias[j];
    }
  }
  Rows norm(Rows x, const std::string& name, double eps) const {
    for (auto& row : x) {
      double mean = 0, var = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) var += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (double& v : row) v = (v - mean) / std::sqrt(var + eps);
    }
    if (!name.empty()) scale_shift(x, get(name + ".weight"), get(name + ".bias"));
    return x;
  }
  Rows linear(const Rows& x, const std::string& name) const {
    const auto weight = get(name + ".weight"), bias = get_if(name + ".bias");
    const size_t in = x[0].size(), out = weight.size() / in;
    Rows y(x.size(), std::vector<double>(out));
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t o = 0; o < out; ++o) {
        double sum = bias.empty() ? 0 : bias[o];
        for (size_t k = 0; k < in; ++k) sum += x[i][k] * weight[o * in + k];
        y[i][o] = sum;
      }
    }
    return y;
  }
  // weight [out, in / groups, taps]
  static Rows conv(const Rows& x, const std::vector<float>& weight, const std::vector<float>& bias, size_t taps,
                   size_t stride, size_t padding, size_t groups) {
    const size_t in = x[0].size() / groups, out = weight.size() / in / taps;
    Rows y((x.size() + 2 * padding - taps) / stride + 1, std::vector<double>(out));
    for (size_t t = 0; t < y.size(); ++t) {
      for (size_t o = 0; o < out; ++o) {
        double sum = bias.empty() ? 0 : bias[o];
        for (size_t k = 0; k < taps; ++k) {
          const size_t at = t * stride + k;
          if (at < padding || at - padding >= x.size()) continue;
          for (size_t c = 0; c < in; ++c) {
            sum += x[at - padding][o / (out / groups) * in + c] * weight[(o * in + c) * taps + k];
          }
        }
        y[t][o] = sum;
      }
    }
    return y;
  }
  Rows places(const Rows& x) const {
    const std::string name = prefix_ + "encoder.pos_conv_embed.conv.";
    const auto g = get(name + "parametrizations.weight.original0");
    auto v = get(name + "parametrizations.weight.original1");
    const size_t taps = g.size();
    for (size_t k = 0; k < taps; ++k) {
      double sum = 0;
      for (size_t i = k; i < v.size(); i += taps) sum += static_cast<double>(v[i]) * v[i];
      for (size_t i = k; i < v.size(); i += taps) v[i] = static_cast<float>(g[k] * v[i] / std::sqrt(sum));
    }
    Rows y =
        conv(x, v, get(name + "bias"), taps, 1, taps / 2, config_.at("num_conv_pos_embedding_groups").to<size_t>());
    y.resize(x.size());
    for (auto& row : y) act(row, config_.get("feat_extract_activation", "gelu"));
    return y;
  }
  Rows mlp(const Rows& x, const std::string& name) const {
    Rows y = linear(x, name + ".intermediate_dense");
    for (auto& row : y) act(row, config_.get("hidden_act", "gelu"));
    return linear(y, name + ".output_dense");
  }
  // extra(head, i, j, query): what the places add to a score.
  template <typename Extra>
  Rows attend(const Rows& q, const Rows& k, const Rows& v, const std::vector<float>& bias, const Extra& extra) const {
    const size_t size = q[0].size() / heads_;
    Rows y(q.size(), std::vector<double>(q[0].size()));
    for (size_t h = 0; h < heads_; ++h) {
      for (size_t i = 0; i < q.size(); ++i) {
        std::vector<double> scores(k.size());
        double most = -1e300, sum = 0;
        for (size_t j = 0; j < k.size(); ++j) {
          double score = extra(h, i, j);
          for (size_t d = h * size; d < (h + 1) * size; ++d)
            score += (q[i][d] + (bias.empty() ? 0 : bias[d])) * k[j][d];
          scores[j] = score / std::sqrt(static_cast<double>(size));
          most = std::max(most, scores[j]);
        }
        for (double& s : scores) sum += s = std::exp(s - most);
        for (size_t j = 0; j < k.size(); ++j) {
          for (size_t d = h * size; d < (h + 1) * size; ++d) y[i][d] += scores[j] / sum * v[j][d];
        }
      }
    }
    return y;
  }
  Rows layer(const Rows& x, const std::string& name, bool stable) const {
    const auto attention = [&](const Rows& y) {
      const std::string at = name + "attention.";
      return linear(attend(linear(y, at + "q_proj"), linear(y, at + "k_proj"), linear(y, at + "v_proj"), {},
                           [](size_t, size_t, size_t) { return 0.0; }),
                    at + "out_proj");
    };
    const std::string first = name + "layer_norm", second = name + "final_layer_norm";
    if (!stable) {
      const Rows y = norm(add(x, attention(x)), first, eps_);
      return norm(add(y, mlp(y, name + "feed_forward")), second, eps_);
    }
    Rows y = add(x, attention(norm(x, first, eps_)));
    y = add(y, mlp(norm(y, second, eps_), name + "feed_forward"));
    if (!file_.find(name + "adapter_layer.norm.weight")) return y;
    Rows z = linear(norm(y, name + "adapter_layer.norm", eps_), name + "adapter_layer.linear_1");
    for (auto& row : z) {
      for (double& v : row) v = std::max(v, 0.0);
    }
    return add(y, linear(z, name + "adapter_layer.linear_2"));
  }
  Rows turned(Rows x) const {
    const size_t size = x[0].size() / heads_;
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t h = 0; h < heads_; ++h) {
        for (size_t i = 0; i < size / 2; ++i) {
          const double angle =
              static_cast<double>(t) * std::pow(config_.get("rotary_embedding_base", 10000.0),
                                                -2.0 * static_cast<double>(i) / static_cast<double>(size));
          double &a = x[t][h * size + i], &b = x[t][h * size + i + size / 2];
          const double old = a;
          a = old * std::cos(angle) - b * std::sin(angle);
          b = b * std::cos(angle) + old * std::sin(angle);
        }
      }
    }
    return x;
  }
  Rows conformer_attention(const Rows& x, const std::string& at) const {
    const bool rotary = config_.get("position_embeddings_type", "relative") == std::string("rotary");
    const Rows from = rotary ? turned(x) : x;
    const Rows q = linear(from, at + "linear_q"), k = linear(from, at + "linear_k"), v = linear(x, at + "linear_v");
    if (rotary) return linear(attend(q, k, v, {}, [](size_t, size_t, size_t) { return 0.0; }), at + "linear_out");
    const size_t width = x[0].size(), size = width / heads_;
    Rows table;
    const auto count = static_cast<int64_t>(x.size());
    for (int64_t distance = 1 - count; distance < count; ++distance) {
      table.emplace_back();
      for (size_t i = 0; i < width; ++i) {
        const double angle = static_cast<double>(distance) *
                             std::pow(10000.0, -static_cast<double>(i / 2 * 2) / static_cast<double>(width));
        table.back().push_back(i % 2 ? std::cos(angle) : std::sin(angle));
      }
    }
    const Rows p = linear(table, at + "linear_pos");
    const auto bias = get(at + "pos_bias_v");
    const auto extra = [&](size_t h, size_t i, size_t j) {
      double sum = 0;
      for (size_t d = h * size; d < (h + 1) * size; ++d) sum += (q[i][d] + bias[d]) * p[x.size() - 1 + i - j][d];
      return sum;
    };
    return linear(attend(q, k, v, get(at + "pos_bias_u"), extra), at + "linear_out");
  }
  Rows conv_module(const Rows& x, const std::string& at) const {
    Rows y = norm(x, at + "layer_norm", eps_);
    y = conv(y, get(at + "pointwise_conv1.weight"), {}, 1, 1, 0, 1);
    const size_t width = x[0].size();
    for (auto& row : y) {
      for (size_t i = 0; i < width; ++i) row[i] /= 1 + std::exp(-row[i + width]);
      row.resize(width);
    }
    const auto taps = config_.at("conv_depthwise_kernel_size").to<size_t>();
    y = conv(y, get(at + "depthwise_conv.weight"), {}, taps, 1, (taps - 1) / 2, width);
    const auto mean = get(at + "batch_norm.running_mean"), var = get(at + "batch_norm.running_var");
    for (auto& row : y) {
      for (size_t i = 0; i < width; ++i) row[i] = (row[i] - mean[i]) / std::sqrt(var[i] + 1e-5);
    }
    scale_shift(y, get(at + "batch_norm.weight"), get(at + "batch_norm.bias"));
    for (auto& row : y) act(row, config_.get("hidden_act", "gelu"));
    return conv(y, get(at + "pointwise_conv2.weight"), {}, 1, 1, 0, 1);
  }
  Rows conformer_layer(Rows x, const std::string& name) const {
    x = add(x, mlp(norm(x, name + "ffn1_layer_norm", eps_), name + "ffn1"), 0.5);
    x = add(x, conformer_attention(norm(x, name + "self_attn_layer_norm", eps_), name + "self_attn."));
    x = add(x, conv_module(x, name + "conv_module."));
    x = add(x, mlp(norm(x, name + "ffn2_layer_norm", eps_), name + "ffn2"), 0.5);
    return norm(x, name + "final_layer_norm", eps_);
  }

  const Checkpoint& file_;
  const Json& config_;
  bool conformer_ = false;
  std::string prefix_;
  double eps_ = 1e-5;
  size_t heads_ = 1;
};

}  // namespace wick
