// All that Gemma 4 can do, in one small model, against plain arithmetic: heads and MLPs of different sizes, keys as
// values, shared keys and values, experts beside the MLP, layers' own embeddings, proportional rope.
#include <gtest/gtest.h>

#include <map>

#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int kLayers = 4, kHidden = 32, kHeads = 2, kLocalDim = 16, kFullDim = 24, kInner = 40, kExperts = 4;
constexpr int kChosen = 2, kExpertInner = 12, kOwn = 8, kVocabulary = 48, kOwnVocabulary = 40, kWindow = 5;
constexpr double kEps = 1e-6, kCap = 20;

const char* const kConfig = R"({"model_type": "gemma4_text", "num_hidden_layers": 4, "hidden_size": 32,
  "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 40, "vocab_size": 48,
  "vocab_size_per_layer_input": 40, "hidden_size_per_layer_input": 8, "max_position_embeddings": 256,
  "rms_norm_eps": 1e-6, "sliding_window": 5, "final_logit_softcapping": 20.0, "attention_k_eq_v": true,
  "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
  "per_layer_config": {"1": {"head_dim": 24, "num_key_value_heads": 2}, "3": {"head_dim": 24, "num_key_value_heads": 2}},
  "num_kv_shared_layers": 2, "use_double_wide_mlp": true, "enable_moe_block": true, "num_experts": 4,
  "top_k_experts": 2, "moe_intermediate_size": 12, "use_bidirectional_attention": "vision",
  "rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
    "rope_theta": 1000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}})";

bool is_full(int layer) { return layer % 2 == 1; }
int head_dim(int layer) { return is_full(layer) ? kFullDim : kLocalDim; }
int kv_heads(int layer) { return is_full(layer) ? 2 : 1; }
int inner(int layer) { return layer >= 2 ? 2 * kInner : kInner; }

// Where a layer's own inputs lie among those of all layers.
size_t own_place(int layer, int i) { return static_cast<size_t>(layer) * kOwn + static_cast<size_t>(i); }

using Row = std::vector<double>;
using Rows = std::vector<Row>;

class PlainGemma4 {
 public:
  PlainGemma4() {
    const auto add = [&](const std::string& name, const Shape& shape, double scale, double offset = 0) {
      Tensor tensor = randn(shape, tensors_.size() + 1);
      float* values = tensor.mutable_data<float>();
      for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(values[i] * scale + offset);
      weights_[name] = tensor;
      tensors_.emplace_back(name, tensor);
    };
    const auto norm = [&](const std::string& name, int size) { add(name + ".weight", {size}, 0.2, 1); };
    add("model.embed_tokens.weight", {kVocabulary, kHidden}, 0.3);
    add("model.embed_tokens_per_layer.weight", {kOwnVocabulary, kLayers * kOwn}, 0.5);
    add("model.per_layer_model_projection.weight", {kLayers * kOwn, kHidden}, 0.5);
    norm("model.per_layer_projection_norm", kOwn);
    norm("model.norm", kHidden);
    for (int i = 0; i < kLayers; ++i) {
      const std::string at = cat("model.layers.", i, ".");
      for (const char* name :
           {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm",
            "post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2",
            "post_per_layer_input_norm"}) {
        norm(at + name, kHidden);
      }
      const int dim = head_dim(i);
      add(at + "self_attn.q_proj.weight", {kHeads * dim, kHidden}, 0.3);
      add(at + "self_attn.o_proj.weight", {kHidden, kHeads * dim}, 0.3);
      norm(at + "self_attn.q_norm", dim);
      if (i < 2) {
        add(at + "self_attn.k_proj.weight", {kv_heads(i) * dim, kHidden}, 0.3);
        if (!is_full(i)) add(at + "self_attn.v_proj.weight", {kv_heads(i) * dim, kHidden}, 0.3);
        norm(at + "self_attn.k_norm", dim);
      }
      add(at + "mlp.gate_proj.weight", {inner(i), kHidden}, 0.3);
      add(at + "mlp.up_proj.weight", {inner(i), kHidden}, 0.3);
      add(at + "mlp.down_proj.weight", {kHidden, inner(i)}, 0.3);
      add(at + "router.proj.weight", {kExperts, kHidden}, 2);
      add(at + "router.scale", {kHidden}, 0.3, 1);
      add(at + "router.per_expert_scale", {kExperts}, 0.3, 1);
      add(at + "experts.gate_up_proj", {kExperts, 2 * kExpertInner, kHidden}, 0.3);
      add(at + "experts.down_proj", {kExperts, kHidden, kExpertInner}, 0.3);
      add(at + "per_layer_input_gate.weight", {kOwn, kHidden}, 0.5);
      add(at + "per_layer_projection.weight", {kHidden, kOwn}, 0.5);
      add(at + "layer_scalar", {1}, 0.1, 0.8);
    }
  }

  const std::vector<std::pair<std::string, Tensor>>& tensors() const { return tensors_; }

  // Logits of every row.
  Rows run(const std::vector<int32_t>& tokens) const {
    Rows stream, own;
    for (const int32_t token : tokens) {
      Row x = row_of("model.embed_tokens.weight", token, kHidden);
      for (double& value : x) value *= std::sqrt(double{kHidden});
      own.push_back(own_inputs(x, token));
      stream.push_back(std::move(x));
    }
    std::map<bool, std::pair<std::vector<Rows>, std::vector<Rows>>> shared;  // by is_full: [token][head]
    for (int i = 0; i < kLayers; ++i) run_layer(i, stream, own, shared[is_full(i)]);
    Rows logits;
    for (const Row& x : stream) {
      Row y = times("model.embed_tokens.weight", 0, normed(x, "model.norm.weight"), kVocabulary);
      for (double& value : y) value = kCap * std::tanh(value / kCap);
      logits.push_back(std::move(y));
    }
    return logits;
  }

 private:
  const float* at(const std::string& name) const { return weights_.at(name).data<float>(); }
  Row row_of(const std::string& name, int64_t row, int size) const {
    return {at(name) + row * size, at(name) + (row + 1) * size};
  }
  // Rows [first, first + count) of a matrix times x.
  Row times(const std::string& name, int64_t first, const Row& x, int count) const {
    Row y(static_cast<size_t>(count), 0);
    const float* weight = at(name) + first * std::ssize(x);
    for (double& out : y) {
      for (const double value : x) out += value * *weight++;
    }
    return y;
  }
  static Row plain_normed(const Row& x) {
    double squares = 0;
    for (const double value : x) squares += value * value / static_cast<double>(x.size());
    Row y = x;
    for (double& value : y) value /= std::sqrt(squares + kEps);
    return y;
  }
  Row normed(const Row& x, const std::string& weight) const {
    Row y = plain_normed(x);
    for (size_t i = 0; i < y.size(); ++i) y[i] *= at(weight)[i];
    return y;
  }
  static double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  }
  static void add_to(Row& x, const Row& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  Row own_inputs(const Row& x, int32_t token) const {
    Row y = times("model.per_layer_model_projection.weight", 0, x, kLayers * kOwn);
    const Row table = row_of("model.embed_tokens_per_layer.weight", token < kOwnVocabulary ? token : 0, kLayers * kOwn);
    Row out;
    for (int i = 0; i < kLayers; ++i) {
      Row part(y.begin() + i * kOwn, y.begin() + (i + 1) * kOwn);
      for (double& value : part) value /= std::sqrt(double{kHidden});
      part = normed(part, "model.per_layer_projection_norm.weight");
      for (int j = 0; j < kOwn; ++j) {
        out.push_back((part[static_cast<size_t>(j)] + table[own_place(i, j)] * std::sqrt(double{kOwn})) /
                      std::sqrt(2.0));
      }
    }
    return out;
  }

  static Row turned(Row head, int layer, int64_t position) {
    const size_t half = head.size() / 2, turning = is_full(layer) ? 3 : half;
    for (size_t i = 0; i < turning; ++i) {
      const double theta = is_full(layer) ? 1000 : 100;
      const double angle = static_cast<double>(position) *
                           std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head.size()));
      const double a = head[i], b = head[i + half];
      head[i] = a * std::cos(angle) - b * std::sin(angle);
      head[i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
    return head;
  }

  void run_layer(int layer, Rows& stream, const Rows& own, std::pair<std::vector<Rows>, std::vector<Rows>>& kv) const {
    const std::string here = cat("model.layers.", layer, ".");
    const int dim = head_dim(layer), group = kHeads / kv_heads(layer);
    Rows input;
    for (const Row& x : stream) input.push_back(normed(x, here + "input_layernorm.weight"));
    if (layer < 2) {
      for (size_t t = 0; t < input.size(); ++t) {
        Rows keys, values;
        for (int h = 0; h < kv_heads(layer); ++h) {
          const Row key = times(here + "self_attn.k_proj.weight", h * dim, input[t], dim);
          values.push_back(
              plain_normed(is_full(layer) ? key : times(here + "self_attn.v_proj.weight", h * dim, input[t], dim)));
          keys.push_back(turned(normed(key, here + "self_attn.k_norm.weight"), layer, static_cast<int64_t>(t)));
        }
        kv.first.push_back(keys);
        kv.second.push_back(values);
      }
    }
    for (size_t t = 0; t < input.size(); ++t) {
      Row heads;
      for (int h = 0; h < kHeads; ++h) {
        const Row query = turned(
            normed(times(here + "self_attn.q_proj.weight", h * dim, input[t], dim), here + "self_attn.q_norm.weight"),
            layer, static_cast<int64_t>(t));
        const size_t first = is_full(layer) || t + 1 < kWindow ? 0 : t + 1 - kWindow,
                     kv_head = static_cast<size_t>(h / group);
        Row z(static_cast<size_t>(dim), 0);
        double sum = 0;
        for (size_t s = first; s <= t; ++s) {
          double score = 0;
          for (size_t i = 0; i < query.size(); ++i) score += query[i] * kv.first[s][kv_head][i];
          sum += std::exp(score);
          for (size_t i = 0; i < z.size(); ++i) z[i] += std::exp(score) * kv.second[s][kv_head][i];
        }
        for (const double value : z) heads.push_back(value / sum);
      }
      Row& x = stream[t];
      add_to(x, normed(times(here + "self_attn.o_proj.weight", 0, heads, kHidden),
                       here + "post_attention_layernorm.weight"));
      Row both = normed(dense(here, x, inner(layer)), here + "post_feedforward_layernorm_1.weight");
      add_to(both, normed(sparse(here, x), here + "post_feedforward_layernorm_2.weight"));
      add_to(x, normed(both, here + "post_feedforward_layernorm.weight"));
      Row gate = times(here + "per_layer_input_gate.weight", 0, x, kOwn);
      for (int j = 0; j < kOwn; ++j) {
        gate[static_cast<size_t>(j)] = gelu(gate[static_cast<size_t>(j)]) * own[t][own_place(layer, j)];
      }
      add_to(x, normed(times(here + "per_layer_projection.weight", 0, gate, kHidden),
                       here + "post_per_layer_input_norm.weight"));
      for (double& value : x) value *= at(here + "layer_scalar")[0];
    }
  }

  Row dense(const std::string& here, const Row& x, int size) const {
    const Row read = normed(x, here + "pre_feedforward_layernorm.weight");
    Row gate = times(here + "mlp.gate_proj.weight", 0, read, size);
    const Row up = times(here + "mlp.up_proj.weight", 0, read, size);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = gelu(gate[i]) * up[i];
    return times(here + "mlp.down_proj.weight", 0, gate, kHidden);
  }

  Row sparse(const std::string& here, const Row& x) const {
    Row to_router = plain_normed(x);
    for (size_t i = 0; i < to_router.size(); ++i)
      to_router[i] *= at(here + "router.scale")[i] / std::sqrt(double{kHidden});
    const Row scores = times(here + "router.proj.weight", 0, to_router, kExperts);
    std::vector<int> order = {0, 1, 2, 3};
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)]; });
    double sum = 0;
    for (int i = 0; i < kChosen; ++i) sum += std::exp(scores[static_cast<size_t>(order[static_cast<size_t>(i)])]);
    const Row read = normed(x, here + "pre_feedforward_layernorm_2.weight");
    Row out(kHidden, 0);
    for (int i = 0; i < kChosen; ++i) {
      const int expert = order[static_cast<size_t>(i)];
      Row gate = times(here + "experts.gate_up_proj", expert * 2 * kExpertInner, read, kExpertInner);
      const Row up = times(here + "experts.gate_up_proj", (expert * 2 + 1) * kExpertInner, read, kExpertInner);
      for (size_t j = 0; j < gate.size(); ++j) gate[j] = gelu(gate[j]) * up[j];
      Row down = times(here + "experts.down_proj", expert * kHidden, gate, kHidden);
      const double share =
          std::exp(scores[static_cast<size_t>(expert)]) / sum * at(here + "router.per_expert_scale")[expert];
      for (size_t j = 0; j < out.size(); ++j) out[j] += share * down[j];
    }
    return out;
  }

  std::map<std::string, Tensor> weights_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

class Gemma4Test : public testing::Test {
 protected:
  void SetUp() override { write_checkpoint(folder_.path() / "model", kConfig, plain_.tensors()); }
  std::string refusal(const std::string& from, const std::string& to) const {
    const TempFolder temp;
    copy_model(folder_.path() / "model", temp.path(), from, to);
    try {
      const TestModel model(temp.path());
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  }

  const PlainGemma4 plain_;
  const TempFolder folder_;
  const std::vector<int32_t> text_ = some_tokens(19, 5, kVocabulary);
};

TEST_F(Gemma4Test, AgreesWithPlainArithmetic) {
  const TestModel model(folder_.path() / "model");
  std::vector<float> expected;
  for (const Row& row : plain_.run(text_)) expected.insert(expected.end(), row.begin(), row.end());
  const Tensor logits = TestSequence(model).run(model, text_);
  EXPECT_LE(relative_error(logits, from_vector(expected, logits.shape())), 5e-6);
  EXPECT_FALSE(model.model->facts().takes_embeddings);
  ASSERT_EQ(model.model->facts().kv_layers.size(), 2u);  // of the others, nothing is kept
  EXPECT_EQ(model.model->facts().kv_layers[1].head_dim, kFullDim);
  EXPECT_EQ(model.model->facts().kv_layers[1].kv_heads, 2);
}

TEST_F(Gemma4Test, IsFoundInsideALargerModel) {
  std::vector<std::pair<std::string, Tensor>> inside = {{"model.vision_tower.std_bias", ones({4})}};
  for (const auto& [name, tensor] : plain_.tensors()) inside.emplace_back("model.language_" + name, tensor);
  write_checkpoint(folder_.path() / "larger", cat("{\"model_type\": \"gemma4\", \"text_config\": ", kConfig, "}"),
                   inside);
  const TestModel model(folder_.path() / "model"), larger(folder_.path() / "larger");
  expect_identical(TestSequence(larger).run(larger, text_), TestSequence(model).run(model, text_), "logits");
}

TEST_F(Gemma4Test, ReadsItsGgufFile) {
  const auto file = folder_.path() / "model.gguf";
  write_gguf(folder_.path() / "model", file);
  EXPECT_EQ(Checkpoint::open(file).find("per_layer_token_embd.weight")->shape[0], kVocabulary);  // as llama.cpp has it
  const TestModel from_folder(folder_.path() / "model"), from_file(file);
  const Tensor expected = TestSequence(from_folder).run(from_folder, text_);
  EXPECT_LE(relative_error(TestSequence(from_file).run(from_file, text_), expected), 2e-5);
}

TEST_F(Gemma4Test, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(refusal("\"vision\"", "\"all\"").find("use_bidirectional_attention"), std::string::npos);
  EXPECT_NE(refusal("{\"head_dim\": 24,", "{\"num_attention_heads\": 4, \"head_dim\": 24,").find("num_attention_heads"),
            std::string::npos);
  EXPECT_NE(refusal("\"1\": {\"head_dim\": 24", "\"1\": {\"head_dim\": 16").find("of one kind"), std::string::npos);
  EXPECT_NE(refusal("\"1\": {", "\"7\": {").find("a layer that is not there"), std::string::npos);
  EXPECT_NE(refusal("\"num_kv_shared_layers\": 2", "\"num_kv_shared_layers\": 3").find("no layer of its kind"),
            std::string::npos);
  EXPECT_NE(refusal("\"top_k_experts\": 2", "\"top_k_experts\": 5").find("experts per token"), std::string::npos);
  EXPECT_NE(refusal("[\"sliding_attention\"", "[\"striding_attention\"").find("striding_attention"), std::string::npos);
}

}  // namespace
}  // namespace wick
