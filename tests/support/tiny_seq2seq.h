#pragma once

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {

// Models with an encoder and a decoder of two small layers each and random weights, and what they compute, in plain
// arithmetic: BART, mBART, Marian, Pegasus and M2M100.
class TinySeq2Seq {
 public:
  using Row = std::vector<double>;
  static constexpr int64_t kWidth = 24, kHeads = 3, kInner = 40, kVocabulary = 50, kLayers = 2, kPositions = 20;

  explicit TinySeq2Seq(std::string family, std::string settings = "", bool has_prefix = true)
      : family_(std::move(family)), settings_(std::move(settings)), prefix_(has_prefix ? "model." : "") {
    const bool learns = family_ == "bart" || family_ == "mbart";
    add(prefix_ + "shared.weight", {kVocabulary, kWidth}, 0.5);
    if (family_ != "m2m_100") add("final_logits_bias", {1, kVocabulary}, 0.5);
    for (const char* side : {"encoder", "decoder"}) {
      const std::string stem = cat(prefix_, side, ".");
      if (learns) {
        add(stem + "embed_positions.weight", {kPositions + 2, kWidth}, 0.5);
        add_norm(stem + "layernorm_embedding");
      }
      if (norms_first()) add_norm(stem + "layer_norm");
      for (int64_t i = 0; i < kLayers; ++i) {
        const std::string layer = cat(stem, "layers.", i, ".");
        add_attention(layer + "self_attn");
        if (side == std::string("decoder")) add_attention(layer + "encoder_attn");
        add_linear(layer + "fc1", kInner, kWidth);
        add_linear(layer + "fc2", kWidth, kInner);
        add_norm(layer + "final_layer_norm");
      }
    }
  }

  std::string config() const {
    return cat(R"({"model_type": ")", family_, R"(", "d_model": )", kWidth, R"(, "vocab_size": )", kVocabulary,
               R"(, "encoder_layers": )", kLayers, R"(, "decoder_layers": )", kLayers,
               R"(, "encoder_attention_heads": )", kHeads, R"(, "decoder_attention_heads": )", kHeads,
               R"(, "encoder_ffn_dim": )", kInner, R"(, "decoder_ffn_dim": )", kInner,
               R"(, "max_position_embeddings": )", kPositions, R"(, "activation_function": "relu")",
               R"(, "decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1, "is_encoder_decoder": true)",
               settings_, "}");
  }
  // Makes a token likelier everywhere.
  void prefer(int64_t token, float by) { weights_.at("final_logits_bias").mutable_data<float>()[token] += by; }
  void write(const std::filesystem::path& folder) const {
    std::vector<std::pair<std::string, Tensor>> tensors(weights_.begin(), weights_.end());
    write_checkpoint(folder, config(), tensors);
  }
  // Words "a0", "a1", ..., and a language, token 7.
  void write_with_tokenizer(const std::filesystem::path& folder) const {
    write(folder);
    std::ofstream tokenizer(folder / "tokenizer.json");
    tokenizer << R"({"version":"1.0","pre_tokenizer":{"type":"Whitespace"},"added_tokens":[{"id":7,"content":"<fr>",)"
              << R"("special":true,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false}],)"
              << R"("model":{"type":"WordLevel","unk_token":"a0","vocab":{)";
    for (int64_t id = 0; id < kVocabulary; ++id) {
      tokenizer << (id ? "," : "") << '"' << (id == 7 ? std::string("<fr>") : cat("a", id)) << "\":" << id;
    }
    tokenizer << "}}}";
  }

  // Logits of each token behind what is read.
  std::vector<Row> logits(const std::vector<int32_t>& source, const std::vector<int32_t>& tokens) const {
    const std::vector<Row> read = run("encoder", source, {});
    std::vector<Row> logits;
    const float* table = weights_.at(prefix_ + "shared.weight").data<float>();
    const bool is_biased = weights_.count("final_logits_bias") > 0;
    for (const Row& row : run("decoder", tokens, read)) {
      Row& out = logits.emplace_back();
      for (int64_t token = 0; token < kVocabulary; ++token) {
        double sum = is_biased ? at("final_logits_bias", token) : 0;
        for (int64_t i = 0; i < kWidth; ++i) sum += row[static_cast<size_t>(i)] * table[token * kWidth + i];
        out.push_back(sum);
      }
    }
    return logits;
  }

 private:
  bool norms_first() const { return family_ == "mbart" || family_ == "m2m_100" || family_ == "pegasus"; }
  void add(const std::string& name, const Shape& shape, double size, double middle = 0) {
    const Tensor x = empty(shape);
    for (int64_t i = 0; i < x.numel(); ++i) {
      seed_ = seed_ * 1664525 + 1013904223;
      x.mutable_data<float>()[i] =
          static_cast<float>(middle + size * (static_cast<double>(seed_ >> 8) / (1 << 23) - 1));
    }
    weights_[name] = x;
  }
  void add_linear(const std::string& name, int64_t outputs, int64_t inputs) {
    add(name + ".weight", {outputs, inputs}, 0.4);
    add(name + ".bias", {outputs}, 0.2);
  }
  void add_norm(const std::string& name) {
    add(name + ".weight", {kWidth}, 0.3, 1);
    add(name + ".bias", {kWidth}, 0.2);
  }
  void add_attention(const std::string& name) {
    for (const char* part : {".q_proj", ".k_proj", ".v_proj", ".out_proj"}) add_linear(name + part, kWidth, kWidth);
    add_norm(name + "_layer_norm");
  }

  double at(const std::string& name, int64_t i) const { return weights_.at(name).data<float>()[i]; }
  double embedded(int64_t token, int64_t i) const { return at(prefix_ + "shared.weight", token * kWidth + i); }
  Row linear(const std::string& name, const Row& x) const {
    Row out;
    const Tensor &weight = weights_.at(name + ".weight"), &bias = weights_.at(name + ".bias");
    const auto inputs = std::ssize(x);
    for (int64_t o = 0; o < bias.numel(); ++o) {
      double sum = bias.data<float>()[o];
      for (int64_t i = 0; i < inputs; ++i) sum += weight.data<float>()[o * inputs + i] * x[static_cast<size_t>(i)];
      out.push_back(sum);
    }
    return out;
  }
  Row norm(const std::string& name, const Row& x) const {
    double mean = 0, spread = 0;
    for (const double value : x) mean += value / kWidth;
    for (const double value : x) spread += (value - mean) * (value - mean) / kWidth;
    Row out;
    for (int64_t i = 0; i < kWidth; ++i) {
      const double value = (x[static_cast<size_t>(i)] - mean) / std::sqrt(spread + 1e-5);
      out.push_back(value * at(name + ".weight", i) + at(name + ".bias", i));
    }
    return out;
  }
  double place(const std::string& stem, int64_t position, int64_t i) const {
    if (family_ == "bart" || family_ == "mbart") {
      return at(stem + "embed_positions.weight", (position + 2) * kWidth + i);
    }
    const int64_t half = kWidth / 2;
    if (family_ == "marian" ||
        family_ == "pegasus") {  // components 2i and 2i + 1 share a rate; the even ones are the sines
      const int64_t j = i < half ? 2 * i : 2 * (i - half) + 1;
      const double angle = static_cast<double>(position) /
                           std::pow(10000.0, 2.0 * static_cast<double>(j / 2) / static_cast<double>(kWidth));
      return j % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
    const double rate = std::exp(static_cast<double>(i % half) * -(std::log(10000.0) / static_cast<double>(half - 1)));
    const double angle = static_cast<double>(position + 2) * rate;
    return i < half ? std::sin(angle) : std::cos(angle);
  }

  // What attention adds for each of `x`, looking at `keys`.
  std::vector<Row> attend(const std::string& name, const std::vector<Row>& x, const std::vector<Row>& keys,
                          bool is_causal) const {
    constexpr int64_t kDim = kWidth / kHeads;
    std::vector<Row> k, v, out;
    for (const Row& row : keys) {
      k.push_back(linear(name + ".k_proj", row));
      v.push_back(linear(name + ".v_proj", row));
    }
    for (size_t at = 0; at < x.size(); ++at) {
      const Row q = linear(name + ".q_proj", x[at]);
      Row mixed(kWidth);
      const size_t seen = is_causal ? at + 1 : keys.size();
      for (int64_t head = 0; head < kHeads; ++head) {
        std::vector<double> weights;
        double total = 0;
        for (size_t key = 0; key < seen; ++key) {
          double score = 0;
          for (int64_t d = head * kDim; d < (head + 1) * kDim; ++d) {
            score += q[static_cast<size_t>(d)] * k[key][static_cast<size_t>(d)];
          }
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kDim))));
          total += weights.back();
        }
        for (size_t key = 0; key < seen; ++key) {
          for (int64_t d = head * kDim; d < (head + 1) * kDim; ++d) {
            mixed[static_cast<size_t>(d)] += weights[key] / total * v[key][static_cast<size_t>(d)];
          }
        }
      }
      out.push_back(linear(name + ".out_proj", mixed));
    }
    return out;
  }
  std::vector<Row> mlp(const std::string& layer, const std::vector<Row>& x) const {
    std::vector<Row> out;
    for (const Row& row : x) {
      Row inner = linear(layer + "fc1", row);
      for (double& value : inner) value = std::max(value, 0.0);
      out.push_back(linear(layer + "fc2", inner));
    }
    return out;
  }
  // x + part(x), with the norm where the family has it.
  std::vector<Row> sum(const std::string& norm_name, const std::vector<Row>& x,
                       const std::function<std::vector<Row>(const std::vector<Row>&)>& part) const {
    std::vector<Row> in = x;
    if (norms_first()) {
      for (Row& row : in) row = norm(norm_name, row);
    }
    std::vector<Row> out = part(in);
    for (size_t r = 0; r < out.size(); ++r) {
      for (size_t i = 0; i < out[r].size(); ++i) out[r][i] += x[r][i];
      if (!norms_first()) out[r] = norm(norm_name, out[r]);
    }
    return out;
  }
  std::vector<Row> run(const std::string& side, const std::vector<int32_t>& tokens,
                       const std::vector<Row>& read) const {
    const std::string stem = cat(prefix_, side, ".");
    const bool is_scaled = settings_.find("\"scale_embedding\": true") != std::string::npos;
    std::vector<Row> x;
    for (size_t t = 0; t < tokens.size(); ++t) {
      Row& row = x.emplace_back();
      for (int64_t i = 0; i < kWidth; ++i) {
        row.push_back(embedded(tokens[t], i) * (is_scaled ? std::sqrt(static_cast<double>(kWidth)) : 1) +
                      place(stem, static_cast<int64_t>(t), i));
      }
      if (weights_.count(stem + "layernorm_embedding.weight")) row = norm(stem + "layernorm_embedding", row);
    }
    const bool is_decoder = side == "decoder";
    for (int64_t i = 0; i < kLayers; ++i) {
      const std::string layer = cat(stem, "layers.", i, ".");
      x = sum(layer + "self_attn_layer_norm", x,
              [&](const std::vector<Row>& in) { return attend(layer + "self_attn", in, in, is_decoder); });
      if (is_decoder) {
        x = sum(layer + "encoder_attn_layer_norm", x,
                [&](const std::vector<Row>& in) { return attend(layer + "encoder_attn", in, read, false); });
      }
      x = sum(layer + "final_layer_norm", x, [&](const std::vector<Row>& in) { return mlp(layer, in); });
    }
    for (Row& row : x) {
      if (norms_first()) row = norm(stem + "layer_norm", row);
    }
    return x;
  }

  std::string family_, settings_, prefix_;
  uint32_t seed_ = 7;
  std::map<std::string, Tensor> weights_;
};

}  // namespace wick
