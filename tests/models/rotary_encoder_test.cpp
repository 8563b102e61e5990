// Nomic-BERT and EuroBERT against plain arithmetic: rotated positions, gates, norms behind sums or before parts.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "formats/gguf/gguf_export.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/names.h"
#include "models/encoders/text_encoder.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kWidth = 24, kHeads = 3, kDim = 8, kInner = 40, kVocabulary = 50, kLayers = 2;
constexpr double kTheta = 1000;
using Row = std::vector<double>;

struct Plain {
  explicit Plain(bool is_nomic) : nomic(is_nomic) {
    add(nomic ? "embeddings.word_embeddings.weight" : "model.embed_tokens.weight", {kVocabulary, kWidth}, 0.6);
    if (nomic) {
      add("embeddings.token_type_embeddings.weight", {2, kWidth}, 0.6);
      add_norm("emb_ln");
    } else {
      add_norm("model.norm");
    }
    for (int64_t i = 0; i < kLayers; ++i) {
      const std::string at = layer(i);
      if (nomic) {
        add(at + "attn.Wqkv.weight", {3 * kWidth, kWidth}, 0.5);
      } else {
        for (const char* part : {"q", "k", "v"})
          add(cat(at, "self_attn.", part, "_proj.weight"), {kWidth, kWidth}, 0.5);
      }
      add(out(at), {kWidth, kWidth}, 0.5);
      add(gate(at), {kInner, kWidth}, 0.5);
      add(up(at), {kInner, kWidth}, 0.5);
      add(down(at), {kWidth, kInner}, 0.5);
      for (const std::string& norm : norms(at)) add_norm(norm);
    }
  }
  std::string layer(int64_t i) const { return cat(nomic ? "encoder.layers." : "model.layers.", i, "."); }
  std::string out(const std::string& at) const {
    return at + (nomic ? "attn.out_proj.weight" : "self_attn.o_proj.weight");
  }
  std::string gate(const std::string& at) const { return at + (nomic ? "mlp.fc12.weight" : "mlp.gate_proj.weight"); }
  std::string up(const std::string& at) const { return at + (nomic ? "mlp.fc11.weight" : "mlp.up_proj.weight"); }
  std::string down(const std::string& at) const { return at + (nomic ? "mlp.fc2.weight" : "mlp.down_proj.weight"); }
  std::vector<std::string> norms(const std::string& at) const {
    if (nomic) return {at + "norm1", at + "norm2"};
    return {at + "input_layernorm", at + "post_attention_layernorm"};
  }
  std::string config(const std::string& more = "") const {
    if (nomic) {
      return cat(R"({"model_type": "nomic_bert", "n_embd": 24, "n_head": 3, "n_layer": 2, "n_inner": 40,
          "n_positions": 64, "max_trained_positions": 32, "vocab_size": 50, "type_vocab_size": 2,
          "activation_function": "swiglu", "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false,
          "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "prenorm": false,
          "rotary_scaling_factor": 2, "causal": false)",
                 more, "}");
    }
    return cat(R"({"model_type": "eurobert", "hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 3,
          "num_hidden_layers": 2, "intermediate_size": 40, "max_position_embeddings": 32, "vocab_size": 50,
          "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 1000, "head_dim": 8)",
               more, "}");
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
  void add_norm(const std::string& name) {
    add(name + ".weight", {kWidth}, 0.3, 1);
    if (nomic) add(name + ".bias", {kWidth}, 0.2);
  }
  const float* data(const std::string& name) const { return weights.at(name).data<float>(); }
  Row product(const std::string& name, int64_t first, int64_t count, const Row& x) const {
    Row sums;
    const auto inputs = std::ssize(x);
    for (int64_t o = first; o < first + count; ++o) {
      sums.push_back(0);
      for (int64_t i = 0; i < inputs; ++i) sums.back() += data(name)[o * inputs + i] * x[static_cast<size_t>(i)];
    }
    return sums;
  }
  Row normed(const std::string& name, Row x) const {
    double mean = 0, square = 0;
    for (const double value : x) mean += nomic ? value / kWidth : 0;
    for (const double value : x) square += (value - mean) * (value - mean) / kWidth;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) / std::sqrt(square + (nomic ? 1e-12 : 1e-5)) * data(name + ".weight")[i];
      if (nomic) x[i] += data(name + ".bias")[i];
    }
    return x;
  }
  // Component i of a head turns with component i + 4.
  static void turn(Row& x, int64_t position) {
    for (int64_t head = 0; head < kHeads; ++head) {
      for (int64_t i = 0; i < kDim / 2; ++i) {
        const double angle = static_cast<double>(position) / std::pow(kTheta, static_cast<double>(2 * i) / kDim);
        double &a = x[static_cast<size_t>(head * kDim + i)], &b = x[static_cast<size_t>(head * kDim + i + kDim / 2)];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = turned;
      }
    }
  }
  std::vector<Row> attention(const std::string& at, const std::vector<Row>& x) const {
    std::vector<Row> parts[3], made;
    for (size_t t = 0; t < x.size(); ++t) {
      for (int64_t p = 0; p < 3; ++p) {
        const std::string name =
            cat(at, "self_attn.", std::string("qkv").substr(static_cast<size_t>(p), 1), "_proj.weight");
        parts[p].push_back(nomic ? product(at + "attn.Wqkv.weight", p * kWidth, kWidth, x[t])
                                 : product(name, 0, kWidth, x[t]));
        if (p < 2) turn(parts[p].back(), static_cast<int64_t>(t));
      }
    }
    for (size_t t = 0; t < x.size(); ++t) {
      Row mixed(kWidth);
      for (int64_t head = 0; head < kHeads; ++head) {
        Row weights_of;
        double total = 0;
        for (size_t key = 0; key < x.size(); ++key) {
          double score = 0;
          for (int64_t d = head * kDim; d < (head + 1) * kDim; ++d) {
            score += parts[0][t][static_cast<size_t>(d)] * parts[1][key][static_cast<size_t>(d)];
          }
          weights_of.push_back(std::exp(score / std::sqrt(static_cast<double>(kDim))));
          total += weights_of.back();
        }
        for (size_t key = 0; key < x.size(); ++key) {
          for (int64_t d = head * kDim; d < (head + 1) * kDim; ++d) {
            mixed[static_cast<size_t>(d)] += weights_of[key] / total * parts[2][key][static_cast<size_t>(d)];
          }
        }
      }
      made.push_back(product(out(at), 0, kWidth, mixed));
    }
    return made;
  }
  Row mlp(const std::string& at, const Row& x) const {
    Row inner = product(gate(at), 0, kInner, x);
    const Row other = product(up(at), 0, kInner, x);
    for (size_t i = 0; i < inner.size(); ++i) inner[i] = inner[i] / (1 + std::exp(-inner[i])) * other[i];
    return product(down(at), 0, kWidth, inner);
  }
  Tensor encode(const std::vector<int32_t>& tokens, const std::vector<int32_t>& types) const {
    std::vector<Row> x;
    for (size_t t = 0; t < tokens.size(); ++t) {
      Row row;
      for (int64_t i = 0; i < kWidth; ++i) {
        row.push_back(
            data(nomic ? "embeddings.word_embeddings.weight" : "model.embed_tokens.weight")[tokens[t] * kWidth + i]);
        if (nomic) row.back() += data("embeddings.token_type_embeddings.weight")[types[t] * kWidth + i];
      }
      x.push_back(nomic ? normed("emb_ln", row) : row);
    }
    const auto add_to = [](Row row, const Row& more) {
      for (size_t i = 0; i < row.size(); ++i) row[i] += more[i];
      return row;
    };
    for (int64_t l = 0; l < kLayers; ++l) {
      const std::string at = layer(l);
      const std::vector<std::string> norm = norms(at);
      std::vector<Row> in = x;
      if (!nomic) {
        for (Row& row : in) row = normed(norm[0], row);
      }
      const std::vector<Row> seen = attention(at, in);
      for (size_t t = 0; t < x.size(); ++t) {
        x[t] = add_to(x[t], seen[t]);
        if (nomic) {
          x[t] = normed(norm[0], x[t]);
          x[t] = normed(norm[1], add_to(x[t], mlp(at, x[t])));
        } else {
          x[t] = add_to(x[t], mlp(at, normed(norm[1], x[t])));
        }
      }
    }
    std::vector<float> values;
    for (Row& row : x) {
      if (!nomic) row = normed("model.norm", row);
      values.insert(values.end(), row.begin(), row.end());
    }
    return from_vector(values, {std::ssize(x), kWidth});
  }

  bool nomic;
  uint32_t seed = 3;
  std::map<std::string, Tensor> weights;
};

class RotaryEncoder : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(All, RotaryEncoder, testing::Bool(),
                         [](const auto& test) { return test.param ? "nomic_bert" : "eurobert"; });

TEST_P(RotaryEncoder, IsPlainArithmetic) {
  const Plain plain(GetParam());
  const TempFolder folder;
  plain.write(folder.path());
  const auto encoder = TextEncoder::load(WeightSource(Checkpoint::open(folder.path())));
  EXPECT_EQ(encoder->config().positions, 32);
  for (const size_t length : {1, 9, 32}) {
    const std::vector<int32_t> tokens = some_tokens(length, 5, kVocabulary);
    std::vector<int32_t> types(length, 0);
    if (GetParam()) types.back() = 1;
    const EncoderText text{tokens, types};
    EXPECT_LT(relative_error(encoder->encode({&text, 1}), plain.encode(tokens, types)), 2e-6) << length;
  }
}

TEST(RotaryEncoders, SettingsThatAreNotKnownAreRefused) {
  const TempFolder folder;
  const auto expect_refused = [&](bool nomic, const char* more, const char* what) {
    Plain(nomic).write(folder.path(), more);
    EXPECT_ERROR(TextEncoder::load(WeightSource(Checkpoint::open(folder.path()))), kUnsupported, what);
  };
  expect_refused(true, R"(, "use_rms_norm": true)", "'use_rms_norm'");
  expect_refused(true, R"(, "moe_every_n_layers": 2)", "'moe_every_n_layers'");
  expect_refused(true, R"(, "rotary_emb_interleaved": true)", "'rotary_emb_interleaved'");
}

// Nomic-BERT as llama.cpp names it.
TEST(RotaryEncoders, NomicBertOfGgufHasTheSameBits) {
  const Plain plain(true);
  const TempFolder folder;
  plain.write(folder.path());
  const WeightSource source(Checkpoint::open(folder.path()));
  Metadata metadata;
  metadata.set_text("general.architecture", "nomic-bert");
  const auto set = [&](const char* key, uint32_t value) { metadata.set_u32(cat("nomic-bert.", key), value); };
  set("context_length", 32);
  set("embedding_length", 24);
  set("feed_forward_length", 40);
  set("block_count", 2);
  set("attention.head_count", 3);
  set("pooling_type", 1);
  metadata.set_f32("nomic-bert.attention.layer_norm_epsilon", 1e-12f);
  metadata.set_f32("nomic-bert.rope.freq_base", 1000);
  metadata.set_bool("nomic-bert.attention.causal", false);
  const std::vector<GgufTensor> tensors = gguf_tensors(source);
  std::vector<TensorSpec> specs;
  for (const GgufTensor& tensor : tensors) specs.push_back({tensor.name, tensor.dtype, tensor.shape});
  {
    GgufWriter writer(folder.path() / "nomic.gguf", metadata, specs);
    for (const GgufTensor& tensor : tensors) writer.write(tensor.name, tensor.load());
    writer.finish();
  }
  const Checkpoint file = Checkpoint::open(folder.path() / "nomic.gguf");
  for (const char* name : {"token_embd.weight", "token_types.weight", "token_embd_norm.bias", "blk.1.attn_qkv.weight",
                           "blk.1.attn_output.weight", "blk.1.attn_output_norm.weight", "blk.1.ffn_up.weight",
                           "blk.1.ffn_gate.weight", "blk.1.ffn_down.weight", "blk.1.layer_output_norm.bias"}) {
    EXPECT_TRUE(file.find(name)) << name;
  }
  const std::vector<int32_t> tokens = some_tokens(12, 5, kVocabulary);
  const EncoderText text{tokens};
  expect_identical(TextEncoder::load(WeightSource(file))->encode({&text, 1}),
                   TextEncoder::load(source)->encode({&text, 1}), "of GGUF");
}

}  // namespace
}  // namespace wick
