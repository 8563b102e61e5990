// Jina 2, GTE's second generation and EmbeddingGemma against plain arithmetic in f64, for which no reference of PyTorch
// is there: ALiBi to both sides, gates of either order, longer waves, shared heads of keys, norms of heads and behind
// parts, windows to both sides.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "formats/gguf/gguf_writer.h"
#include "models/encoders/text_encoder.h"
#include "models/load_model.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

enum class Kind { kJina, kGte, kGemma };

constexpr int64_t kWidth = 24, kInner = 40, kVocabulary = 50, kLayers = 2;
using Row = std::vector<double>;

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

struct Plain {
  explicit Plain(Kind of) : kind(of) {
    add(is(Kind::kGemma) ? "embed_tokens.weight" : "embeddings.word_embeddings.weight", {kVocabulary, kWidth}, 0.6);
    if (is(Kind::kGemma)) {
      add_norm("norm", kWidth);
    } else {
      add("embeddings.token_type_embeddings.weight", {2, kWidth}, 0.6);
      add_norm("embeddings.LayerNorm", kWidth);
    }
    for (int64_t i = 0; i < kLayers; ++i) {
      const std::string at = layer(i);
      if (is(Kind::kGte)) {
        add_linear(at + "attention.qkv_proj", 3 * kWidth, kWidth, true);
        add_linear(at + "attention.o_proj", kWidth, kWidth, true);
        add_linear(at + "mlp.up_gate_proj", 2 * kInner, kWidth, false);
        add_linear(at + "mlp.down_proj", kWidth, kInner, true);
        add_norm(at + "attn_ln", kWidth);
        add_norm(at + "mlp_ln", kWidth);
      } else if (is(Kind::kJina)) {
        for (const char* part : {"query", "key", "value"}) {
          add_linear(cat(at, "attention.self.", part), kWidth, kWidth, true);
        }
        add_linear(at + "attention.output.dense", kWidth, kWidth, true);
        add_linear(at + "mlp.gated_layers", 2 * kInner, kWidth, false);
        add_linear(at + "mlp.wo", kWidth, kInner, true);
        add_norm(at + "attention.output.LayerNorm", kWidth);
        add_norm(at + "mlp.layernorm", kWidth);
      } else {
        add_linear(at + "self_attn.q_proj", heads() * dim(), kWidth, false);
        for (const char* part : {"k", "v"}) {
          add_linear(cat(at, "self_attn.", part, "_proj"), kv_heads() * dim(), kWidth, false);
        }
        add_linear(at + "self_attn.o_proj", kWidth, heads() * dim(), false);
        for (const char* part : {"gate", "up"}) add_linear(cat(at, "mlp.", part, "_proj"), kInner, kWidth, false);
        add_linear(at + "mlp.down_proj", kWidth, kInner, false);
        for (const char* norm : {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                                 "post_feedforward_layernorm"}) {
          add_norm(at + norm, kWidth);
        }
        for (const char* norm : {"q_norm", "k_norm"}) add_norm(cat(at, "self_attn.", norm), dim());
      }
    }
  }
  bool is(Kind other) const { return kind == other; }
  int64_t heads() const { return is(Kind::kGemma) ? 4 : 3; }
  int64_t kv_heads() const { return is(Kind::kGemma) ? 2 : 3; }
  static int64_t dim() { return 8; }
  std::string layer(int64_t i) const { return cat(is(Kind::kGemma) ? "layers." : "encoder.layer.", i, "."); }

  std::string config(const std::string& more = "") const {
    if (is(Kind::kJina)) {
      return cat(R"({"model_type": "bert", "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2,
          "intermediate_size": 40, "max_position_embeddings": 700, "vocab_size": 50, "type_vocab_size": 2,
          "hidden_act": "gelu", "layer_norm_eps": 1e-12, "position_embedding_type": "alibi")",
                 more.empty() ? R"(, "feed_forward_type": "geglu")" : more, "}");
    }
    if (is(Kind::kGte)) {
      return cat(R"({"model_type": "new", "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2,
          "intermediate_size": 40, "max_position_embeddings": 64, "vocab_size": 50, "type_vocab_size": 2,
          "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pack_qkv": true, "position_embedding_type": "rope", "rope_theta": 1000,
          "rope_scaling": {"type": "ntk", "factor": 2.0}, "logn_attention_clip1": false, "unpad_inputs": false)",
                 more.empty() ? R"(, "layer_norm_type": "layer_norm", "logn_attention_scale": false)" : more, "}");
    }
    return cat(R"({"model_type": "gemma3_text", "hidden_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 8, "num_hidden_layers": 2, "intermediate_size": 40, "max_position_embeddings": 64,
          "vocab_size": 50, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-06, "rope_theta": 1000,
          "rope_local_base_freq": 100, "query_pre_attn_scalar": 16, "sliding_window": 4,
          "layer_types": ["sliding_attention", "full_attention"])",
               more.empty() ? R"(, "use_bidirectional_attention": true)" : more, "}");
  }
  void write(const std::filesystem::path& folder, const std::string& more = "") const {
    write_checkpoint(folder, config(more), {weights.begin(), weights.end()});
  }

  void add(const std::string& name, const Shape& shape, double size, double middle = 0) {
    const Tensor x = empty(shape);
    for (int64_t i = 0; i < x.numel(); ++i) {
      seed = seed * 1664525 + 1013904223;
      x.mutable_data<float>()[i] = static_cast<float>(middle + size * (static_cast<double>(seed >> 8) / (1 << 23) - 1));
    }
    weights[name] = x;
  }
  void add_linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias) {
    add(name + ".weight", {outputs, inputs}, 0.5);
    if (bias) add(name + ".bias", {outputs}, 0.2);
  }
  void add_norm(const std::string& name, int64_t size) {
    add(name + ".weight", {size}, 0.3, is(Kind::kGemma) ? 0 : 1);
    if (!is(Kind::kGemma)) add(name + ".bias", {size}, 0.2);
  }
  const float* data(const std::string& name) const { return weights.at(name).data<float>(); }
  Row linear(const std::string& name, const Row& x) const {
    const Tensor& weight = weights.at(name + ".weight");
    Row sums;
    for (int64_t o = 0; o < weight.dim(0); ++o) {
      sums.push_back(weights.count(name + ".bias") ? data(name + ".bias")[o] : 0);
      for (size_t i = 0; i < x.size(); ++i)
        sums.back() += weight.data<float>()[o * weight.dim(1) + static_cast<int64_t>(i)] * x[i];
    }
    return sums;
  }
  Row normed(const std::string& name, const Row& x) const {
    const auto size = static_cast<double>(x.size());
    double mean = 0, square = 0;
    for (const double value : x) mean += is(Kind::kGemma) ? 0 : value / size;
    for (const double value : x) square += (value - mean) * (value - mean) / size;
    Row out;
    for (size_t i = 0; i < x.size(); ++i) {
      const double unit = (x[i] - mean) / std::sqrt(square + (is(Kind::kGemma) ? 1e-6 : 1e-12));
      const double weight = data(name + ".weight")[i];
      out.push_back(is(Kind::kGemma) ? unit * (1 + weight) : unit * weight + data(name + ".bias")[i]);
    }
    return out;
  }
  // Radians per position of pair i.
  double speed(int64_t i, int64_t at_layer) const {
    const double share = static_cast<double>(2 * i) / static_cast<double>(dim());
    if (is(Kind::kGte)) return 1 / std::pow(2 * 1000.0, share) / std::pow(2.0, 2.0 / static_cast<double>(dim()));
    return 1 / std::pow(at_layer == 0 ? 100.0 : 1000.0, share);
  }
  Row head(const Row& row, int64_t index, int64_t position, int64_t at_layer, const std::string& norm) const {
    Row x(row.begin() + index * dim(), row.begin() + (index + 1) * dim());
    if (!norm.empty()) x = normed(norm, x);
    if (is(Kind::kJina) || position < 0) return x;
    for (int64_t i = 0; i < dim() / 2; ++i) {
      const double angle = static_cast<double>(position) * speed(i, at_layer);
      double &a = x[static_cast<size_t>(i)], &b = x[static_cast<size_t>(i + dim() / 2)];
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle);
      a = turned;
    }
    return x;
  }
  std::vector<Row> attention(int64_t l, const std::vector<Row>& x) const {
    const std::string at = layer(l);
    constexpr double kSlopes[] = {1.0 / 16, 1.0 / 256, 1.0 / 4};
    std::vector<Row> q, k, v, made;
    for (const Row& row : x) {
      if (is(Kind::kGte)) {
        const Row all = linear(at + "attention.qkv_proj", row);
        q.emplace_back(all.begin(), all.begin() + kWidth);
        k.emplace_back(all.begin() + kWidth, all.begin() + 2 * kWidth);
        v.emplace_back(all.begin() + 2 * kWidth, all.end());
      } else {
        const bool jina = is(Kind::kJina);
        q.push_back(linear(at + (jina ? "attention.self.query" : "self_attn.q_proj"), row));
        k.push_back(linear(at + (jina ? "attention.self.key" : "self_attn.k_proj"), row));
        v.push_back(linear(at + (jina ? "attention.self.value" : "self_attn.v_proj"), row));
      }
    }
    const auto norm = [&](const char* name) { return is(Kind::kGemma) ? at + "self_attn." + name : std::string(); };
    const auto count = std::ssize(x);
    for (int64_t t = 0; t < count; ++t) {
      Row mixed;
      for (int64_t h = 0; h < heads(); ++h) {
        const int64_t shared = h * kv_heads() / heads();
        const Row query = head(q[static_cast<size_t>(t)], h, t, l, norm("q_norm"));
        Row seen(static_cast<size_t>(dim()));
        double total = 0;
        for (int64_t s = 0; s < count; ++s) {
          if (is(Kind::kGemma) && l == 0 && std::abs(s - t) > 2) continue;  // a window of 4 is 2 to each side
          const Row key = head(k[static_cast<size_t>(s)], shared, s, l, norm("k_norm"));
          double score = 0;
          for (size_t d = 0; d < key.size(); ++d) score += query[d] * key[d];
          score /= is(Kind::kGemma) ? 4.0 : std::sqrt(8.0);
          if (is(Kind::kJina)) score -= kSlopes[h] * static_cast<double>(std::abs(s - t));
          total += std::exp(score);
          const Row value = head(v[static_cast<size_t>(s)], shared, -1, l, "");
          for (size_t d = 0; d < value.size(); ++d) seen[d] += std::exp(score) * value[d];
        }
        for (const double value : seen) mixed.push_back(value / total);
      }
      made.push_back(linear(at + (is(Kind::kGte)    ? "attention.o_proj"
                                  : is(Kind::kJina) ? "attention.output.dense"
                                                    : "self_attn.o_proj"),
                            mixed));
    }
    return made;
  }
  Row mlp(const std::string& at, const Row& x) const {
    Row gate, up;
    if (is(Kind::kGemma)) {
      gate = linear(at + "mlp.gate_proj", x);
      up = linear(at + "mlp.up_proj", x);
    } else {
      const Row both = linear(at + (is(Kind::kGte) ? "mlp.up_gate_proj" : "mlp.gated_layers"), x);
      gate.assign(both.begin(), both.begin() + kInner);
      up.assign(both.begin() + kInner, both.end());
      if (is(Kind::kGte)) std::swap(gate, up);
    }
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = (is(Kind::kGemma) ? gelu_tanh(gate[i]) : gelu(gate[i])) * up[i];
    return linear(at + (is(Kind::kJina) ? "mlp.wo" : "mlp.down_proj"), gate);
  }
  Tensor encode(const std::vector<int32_t>& tokens) const {
    std::vector<Row> x;
    const auto sum = [](Row a, const Row& b) {
      for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
      return a;
    };
    for (const int32_t token : tokens) {
      const float* from = data(is(Kind::kGemma) ? "embed_tokens.weight" : "embeddings.word_embeddings.weight");
      Row row(from + token * kWidth, from + (token + 1) * kWidth);
      if (is(Kind::kGemma)) {
        for (double& value : row) value *= std::sqrt(static_cast<double>(kWidth));
      } else {
        const float* type = data("embeddings.token_type_embeddings.weight");
        row = normed("embeddings.LayerNorm", sum(row, Row(type, type + kWidth)));
      }
      x.push_back(row);
    }
    for (int64_t l = 0; l < kLayers; ++l) {
      const std::string at = layer(l);
      std::vector<Row> in = x;
      for (Row& row : in) row = is(Kind::kGemma) ? normed(at + "input_layernorm", row) : row;
      const std::vector<Row> seen = attention(l, in);
      for (size_t t = 0; t < x.size(); ++t) {
        if (is(Kind::kGemma)) {
          x[t] = sum(x[t], normed(at + "post_attention_layernorm", seen[t]));
          x[t] = sum(
              x[t], normed(at + "post_feedforward_layernorm", mlp(at, normed(at + "pre_feedforward_layernorm", x[t]))));
        } else {
          x[t] = normed(at + (is(Kind::kGte) ? "attn_ln" : "attention.output.LayerNorm"), sum(x[t], seen[t]));
          x[t] = normed(at + (is(Kind::kGte) ? "mlp_ln" : "mlp.layernorm"), sum(x[t], mlp(at, x[t])));
        }
      }
    }
    std::vector<float> values;
    for (const Row& row : x) {
      const Row last = is(Kind::kGemma) ? normed("norm", row) : row;
      values.insert(values.end(), last.begin(), last.end());
    }
    return from_vector(values, {std::ssize(x), kWidth});
  }

  Kind kind;
  uint32_t seed = 3;
  std::map<std::string, Tensor> weights;
};

std::unique_ptr<TextEncoder> load(const TempFolder& folder) {
  return TextEncoder::load(WeightSource(Checkpoint::open(folder.path())));
}

class GatedEncoder : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(All, GatedEncoder, testing::Values(Kind::kJina, Kind::kGte, Kind::kGemma),
                         [](const auto& test) {
                           return test.param == Kind::kJina ? "jina" : test.param == Kind::kGte ? "gte" : "gemma";
                         });

TEST_P(GatedEncoder, IsPlainArithmetic) {
  const Plain plain(GetParam());
  const TempFolder folder;
  plain.write(folder.path());
  const auto encoder = load(folder);
  for (const size_t length : {1, 3, 9, 32}) {
    const std::vector<int32_t> tokens = some_tokens(length, 5, kVocabulary);
    const EncoderText text{tokens};
    EXPECT_LT(relative_error(encoder->encode({&text, 1}), plain.encode(tokens)), 3e-6) << length;
  }
}

TEST_P(GatedEncoder, ATextAloneHasTheBitsItHasInABatch) {
  const Plain plain(GetParam());
  const TempFolder folder;
  plain.write(folder.path());
  const auto encoder = load(folder);
  std::vector<std::vector<int32_t>> texts;
  for (const size_t length : {9, 1, 9, 33, 2}) texts.push_back(some_tokens(length, 7, kVocabulary));
  std::vector<EncoderText> batch;
  for (const auto& text : texts) batch.push_back({text});
  const Tensor all = encoder->encode(batch);
  int64_t row = 0;
  for (const EncoderText& text : batch) {
    const auto count = std::ssize(text.tokens);
    expect_identical(all.with_layout(all.layout().narrow(0, row, count)).clone(), encoder->encode({&text, 1}), "alone");
    row += count;
  }
}

// ALiBi's numbers for each pair of tokens are made some rows at a time.
TEST(GatedEncoders, LongTextsOfJinaAreThoseOfShortRows) {
  const Plain plain(Kind::kJina);
  const TempFolder folder;
  plain.write(folder.path());
  const std::vector<int32_t> tokens = some_tokens(600, 5, kVocabulary);
  const EncoderText text{tokens};
  EXPECT_LT(relative_error(load(folder)->encode({&text, 1}), plain.encode(tokens)), 3e-6);
}

void write_gguf_file(const std::filesystem::path& path, const Metadata& metadata,
                     const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype(), tensor.shape()});
  GgufWriter writer(path, metadata, specs);
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish();
}

Tensor half(const Tensor& both, int64_t index) {
  const int64_t rows = both.dim(0) / 2;
  return both.with_layout(both.layout().narrow(0, index * rows, rows)).clone();
}

Tensor plus_one(const Tensor& x) {
  const Tensor sum = x.clone();
  for (int64_t i = 0; i < sum.numel(); ++i) sum.mutable_data<float>()[i] += 1;
  return sum;
}

// As llama.cpp names them: jina-bert-v2 and gemma-embedding.
TEST(GatedEncoders, GgufHasTheSameBits) {
  for (const Kind kind : {Kind::kJina, Kind::kGemma}) {
    const Plain plain(kind);
    const bool jina = kind == Kind::kJina;
    const TempFolder folder;
    plain.write(folder.path());
    const std::string architecture = jina ? "jina-bert-v2" : "gemma-embedding";
    Metadata metadata;
    metadata.set_text("general.architecture", architecture);
    const auto set = [&](const char* key, uint32_t value) { metadata.set_u32(cat(architecture, ".", key), value); };
    set("context_length", jina ? 700 : 64);
    set("embedding_length", 24);
    set("feed_forward_length", 40);
    set("block_count", 2);
    set("attention.head_count", static_cast<uint32_t>(plain.heads()));
    set("pooling_type", 1);
    if (jina) {
      metadata.set_f32(architecture + ".attention.layer_norm_epsilon", 1e-12f);
      metadata.set_bool(architecture + ".attention.causal", false);
    } else {
      set("attention.head_count_kv", 2);
      set("attention.key_length", 8);
      set("attention.value_length", 8);
      set("attention.sliding_window", 4);
      metadata.set_f32(architecture + ".attention.layer_norm_rms_epsilon", 1e-6f);
      metadata.set_f32(architecture + ".rope.freq_base", 1000);
      metadata.set_f32(architecture + ".rope.freq_base_swa", 100);
    }
    const std::vector<std::pair<std::string, std::string>> names =
        jina ? std::vector<std::pair<std::string, std::string>>{{"embeddings.word_embeddings", "token_embd"},
                                                                {"embeddings.token_type_embeddings", "token_types"},
                                                                {"embeddings.LayerNorm", "token_embd_norm"},
                                                                {"encoder.layer.", "blk."},
                                                                {"attention.self.query", "attn_q"},
                                                                {"attention.self.key", "attn_k"},
                                                                {"attention.self.value", "attn_v"},
                                                                {"attention.output.dense", "attn_output"},
                                                                {"attention.output.LayerNorm", "attn_output_norm"},
                                                                {"mlp.wo", "ffn_down"},
                                                                {"mlp.layernorm", "layer_output_norm"}}
             : std::vector<std::pair<std::string, std::string>>{{"embed_tokens", "token_embd"},
                                                                {"layers.", "blk."},
                                                                {"input_layernorm", "attn_norm"},
                                                                {"self_attn.q_proj", "attn_q"},
                                                                {"self_attn.k_proj", "attn_k"},
                                                                {"self_attn.v_proj", "attn_v"},
                                                                {"self_attn.o_proj", "attn_output"},
                                                                {"self_attn.q_norm", "attn_q_norm"},
                                                                {"self_attn.k_norm", "attn_k_norm"},
                                                                {"post_attention_layernorm", "post_attention_norm"},
                                                                {"pre_feedforward_layernorm", "ffn_norm"},
                                                                {"post_feedforward_layernorm", "post_ffw_norm"},
                                                                {"mlp.gate_proj", "ffn_gate"},
                                                                {"mlp.up_proj", "ffn_up"},
                                                                {"mlp.down_proj", "ffn_down"}};
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& [hf, tensor] : plain.weights) {
      std::string name = hf;
      for (const auto& [from, to] : names) {
        if (const size_t at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
      }
      if (name.starts_with("norm.")) name = "output_" + name;
      if (const size_t at = name.find("mlp.gated_layers"); at != name.npos) {
        tensors.emplace_back(name.substr(0, at) + "ffn_gate.weight", half(tensor, 0));
        tensors.emplace_back(name.substr(0, at) + "ffn_up.weight", half(tensor, 1));
        continue;
      }
      const bool is_gemma_norm = !jina && name.find("norm") != name.npos;
      tensors.emplace_back(name, is_gemma_norm ? plus_one(tensor) : tensor);
    }
    // Their heads are scaled by their size there, which the folder is made to say, too; and one layer of six is full.
    const std::string same = R"(, "use_bidirectional_attention": true, "sliding_window_pattern": 6)";
    std::string config = plain.config(jina ? "" : same);
    const auto replace = [&](const std::string& from, const std::string& to) {
      if (const size_t at = config.find(from); at != config.npos) config.replace(at, from.size(), to);
    };
    replace(R"("query_pre_attn_scalar": 16)", R"("query_pre_attn_scalar": 8)");
    replace(R"(,
          "layer_types": ["sliding_attention", "full_attention"])",
            "");
    write_checkpoint(folder.path(), config, {plain.weights.begin(), plain.weights.end()});
    write_gguf_file(folder.path() / "model.gguf", metadata, tensors);
    const std::vector<int32_t> tokens = some_tokens(12, 5, kVocabulary);
    const EncoderText text{tokens};
    const auto of_gguf = TextEncoder::load(WeightSource(Checkpoint::open(folder.path() / "model.gguf")));
    expect_identical(
        of_gguf->encode({&text, 1}),
        TextEncoder::load(WeightSource(Checkpoint::open(folder.path() / "model.safetensors")))->encode({&text, 1}),
        architecture);
  }
}

TEST(GatedEncoders, WhatLooksBothWaysWritesNoText) {
  const Plain plain(Kind::kGemma);
  const TempFolder folder;
  plain.write(folder.path());
  EXPECT_TRUE(is_encoder_config(Json::parse(plain.config(), "config.json")));
  EXPECT_ERROR(load_model(WeightSource(Checkpoint::open(folder.path()))), kUnsupported, "writes no text");
  EXPECT_FALSE(
      is_encoder_config(Json::parse(plain.config(R"(, "use_bidirectional_attention": false)"), "config.json")));
}

TEST(GatedEncoders, SettingsThatAreNotKnownAreRefused) {
  const TempFolder folder;
  const auto expect_refused = [&](Kind kind, const char* more, const char* what) {
    Plain(kind).write(folder.path(), more);
    EXPECT_ERROR(load(folder), kUnsupported, what);
  };
  expect_refused(Kind::kJina, R"(, "feed_forward_type": "glu")", "feed_forward_type = 'glu'");
  expect_refused(Kind::kGte, R"(, "logn_attention_scale": true)", "logn_attention_scale");
  expect_refused(Kind::kGte, R"(, "layer_norm_type": "rms_norm")", "layer_norm_type = 'rms_norm'");
  expect_refused(Kind::kGemma, R"(, "use_bidirectional_attention": true, "attn_logit_softcapping": 30.0)",
                 "capped scores");
}

}  // namespace
}  // namespace wick
