// Adapters: what they compute is what merged weights compute, and a row has the same bits whatever its neighbours have.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "formats/adapters/merge_lora.h"
#include "formats/gguf/gguf_writer.h"
#include "models/adapter_slots.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/hybrid_models.h"
#include "support/lora_files.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using Tensors = std::vector<std::pair<std::string, Tensor>>;

struct Kind {
  double alpha = 6;
  bool rank_stable = false, dora = false;
};

// A model in f32 and adapters as PEFT writes them.
class Adapters : public testing::Test {
 protected:
  Adapters() : model_(tiny_model("llama")) {
    constexpr std::string_view kBias = "\"attention_bias\": true";
    model_.config.replace(model_.config.find(kBias), kBias.size(), "\"attention_bias\": false");
    for (const TinyTensor& tensor : model_.tensors) {
      if (tensor.name.find("_proj.bias") != std::string::npos) continue;
      weights_.emplace_back(tensor.name, mul_by(randn(tensor.shape, weights_.size()), 0.2));
    }
    write_checkpoint(base(), model_.config, weights_);
  }

  static Tensor mul_by(const Tensor& x, double factor) {
    std::vector<float> values = x.to_vector<float>();
    for (float& value : values) value = static_cast<float>(value * factor);
    return from_vector(values, x.shape());
  }
  fs::path base() const { return temp_.path() / "base"; }
  fs::path folder(const std::string& name) const { return temp_.path() / name; }

  static std::string settings(int64_t rank, const Kind& kind, const std::string& more = "") {
    return cat(R"({"peft_type": "LORA", "r": )", rank, R"(, "lora_alpha": )", kind.alpha, R"(, "use_rslora": )",
               kind.rank_stable ? "true" : "false", R"(, "use_dora": )", kind.dora ? "true" : "false",
               R"(, "target_modules": ["q_proj"], "bias": "none", "task_type": "CAUSAL_LM")", more, "}");
  }

  // Random matrices for each linear, and the model's weights with them in double.
  Tensors make_adapter(const std::string& name, int64_t rank, const Kind& kind, uint64_t seed) {
    Tensors merged, parts;
    const double scale =
        kind.alpha / (kind.rank_stable ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank));
    for (const auto& [full, weight] : weights_) {
      if (full.find("_proj.weight") == std::string::npos && full != "lm_head.weight") {
        merged.emplace_back(full, weight);
        continue;
      }
      const int64_t out = weight.dim(0), in = weight.dim(1);
      const Tensor a = mul_by(randn({rank, in}, seed++), 0.1), b = mul_by(randn({out, rank}, seed++), 0.1);
      const std::string stem = "base_model.model." + full.substr(0, full.size() - 7);
      parts.emplace_back(stem + ".lora_A.weight", a);
      parts.emplace_back(stem + ".lora_B.weight", b);
      std::vector<float> magnitudes, values;
      for (int64_t o = 0; o < out; ++o) {
        std::vector<double> row;
        double sum = 0;
        for (int64_t i = 0; i < in; ++i) {
          double value = weight.data<float>()[o * in + i];
          for (int64_t r = 0; r < rank; ++r) {
            value += scale * b.data<float>()[o * rank + r] * a.data<float>()[r * in + i];
          }
          row.push_back(value);
          sum += value * value;
        }
        magnitudes.push_back(1 + 0.01f * static_cast<float>(o % 50));
        for (const double value : row) {
          values.push_back(static_cast<float>(kind.dora ? value / std::sqrt(sum) * magnitudes.back() : value));
        }
      }
      if (kind.dora) parts.emplace_back(stem + ".lora_magnitude_vector", from_vector(magnitudes, {out}));
      merged.emplace_back(full, from_vector(values, weight.shape()));
    }
    write_peft(folder(name), settings(rank, kind), parts);
    return merged;
  }

  static Tensor logits(const TestModel& model, const std::vector<int64_t>* adapters = nullptr, uint32_t seed = 1) {
    TestSequence sequence(model);
    ForwardBatch batch;
    sequence.add_to(batch, some_tokens(9, seed, 40), true);
    batch.sequences.back().adapters = adapters;
    return model.model->forward(batch, model.cache);
  }

  static int64_t add(TestModel& model, const fs::path& path, float scale = 1) {
    return model.model->adapters().add(read_lora(path, model.source), scale, path.filename().string());
  }

  TinyModel model_;
  TempFolder temp_;
  Tensors weights_;
};

TEST_F(Adapters, ComputeWhatMergedWeightsCompute) {
  for (const Kind& kind : {Kind{}, Kind{3, true, false}, Kind{4, false, true}}) {
    const Tensors merged = make_adapter("adapter", 3, kind, 100);
    write_checkpoint(folder("merged"), model_.config, merged);
    ModelOptions options;
    options.loras = {{folder("adapter"), 1}};
    const Tensor with = logits(TestModel(base(), options)), expected = logits(TestModel(folder("merged")));
    EXPECT_LE(relative_error(with, expected), 1e-5) << "alpha " << kind.alpha;
    EXPECT_GE(relative_error(logits(TestModel(base())), expected), 1e-3);
  }
}

TEST_F(Adapters, AlphaPatternsAndScales) {
  // Alpha 12 times one half is alpha 6.
  make_adapter("six", 2, {6}, 7);
  make_adapter("twelve", 2, {12}, 7);
  ModelOptions options;
  options.loras = {{folder("six"), 1}};
  const Tensor expected = logits(TestModel(base(), options));
  options.loras = {{folder("twelve"), 0.5f}};
  EXPECT_LE(relative_error(logits(TestModel(base(), options)), expected), 1e-6);
  std::ofstream(folder("twelve") / "adapter_config.json")
      << settings(2, {1}, R"(, "alpha_pattern": {"q_proj": 6, "k_proj": 6, "v_proj": 6, "o_proj": 6, "gate_proj": 6,
                            "up_proj": 6, "layers.0.mlp.down_proj": 6, "layers.1.mlp.down_proj": 6, "lm_head": 6})");
  options.loras = {{folder("twelve"), 1}};
  expect_identical(logits(TestModel(base(), options)), expected, "alpha_pattern");
}

TEST_F(Adapters, SeveralAtOnceAddUp) {
  make_adapter("first", 2, {}, 20);
  make_adapter("second", 3, {}, 40);
  TestModel model(base());
  const std::vector<int64_t> both = {add(model, folder("first")), add(model, folder("second"))};
  ModelOptions options;
  options.loras = {{folder("first"), 1}, {folder("second"), 1}};
  expect_identical(logits(model, &both), logits(TestModel(base(), options)), "both");
  EXPECT_GE(relative_error(logits(model, &both), logits(model)), 1e-3);
}

// Rows of a mixed batch have the bits that they have alone, and those without adapters the bits of the bare model.
TEST_F(Adapters, MixedBatchesKeepEveryRow) {
  make_adapter("first", 2, {}, 20);
  make_adapter("second", 5, {4, false, true}, 40);
  TestModel model(base());
  const int64_t first = add(model, folder("first")), second = add(model, folder("second"));
  const std::vector<int64_t> none, kinds[] = {{first}, {}, {second}, {first, second}, {first}};
  std::vector<Tensor> alone;
  for (uint32_t i = 0; i < 5; ++i) alone.push_back(logits(model, &kinds[i], i));
  expect_identical(alone[1], logits(TestModel(base()), nullptr, 1), "without adapters");
  ForwardBatch prompts, steps;
  std::vector<TestSequence> sequences;
  for (int32_t i = 0; i < 5; ++i) sequences.emplace_back(model, i, 5);
  for (uint32_t i = 0; i < 5; ++i) {
    const std::vector<int32_t> tokens = some_tokens(9, i, 40);
    sequences[i].add_to(prompts, std::span(tokens).first(4 + i), false);
    prompts.sequences.back().adapters = &kinds[i];
  }
  const Tensor prompt_logits = model.model->forward(prompts, model.cache);
  const auto expect_row = [&](const Tensor& logits, int64_t row, uint32_t i, int64_t position) {
    const int64_t columns = logits.dim(1);
    const std::vector<float> all = logits.to_vector<float>(), expected = alone[i].to_vector<float>();
    for (int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(all[static_cast<size_t>(row * columns + c)], expected[static_cast<size_t>(position * columns + c)])
          << "sequence " << i << ", position " << position << ", column " << c;
    }
  };
  for (uint32_t i = 0; i < 5; ++i) expect_row(prompt_logits, i, i, 3 + i);
  for (uint32_t i = 0; i < 5; ++i) {
    const std::vector<int32_t> tokens = some_tokens(9, i, 40);
    sequences[i].add_to(steps, std::span(tokens).subspan(4 + i, 1), true);
    steps.sequences.back().adapters = &kinds[i];
  }
  const Tensor step_logits = model.model->forward(steps, model.cache);
  for (uint32_t i = 0; i < 5; ++i) expect_row(step_logits, i, i, 4 + i);
}

TEST_F(Adapters, WhatDoesNotFitIsNamed) {
  const auto load = [&](const std::string& config, const Tensors& tensors) {
    write_peft(folder("bad"), config, tensors);
    TestModel model(base());
    return add(model, folder("bad"));
  };
  const std::string q = "base_model.model.model.layers.0.self_attn.q_proj";
  const Tensors good = {{q + ".lora_A.weight", zeros({2, 64})}, {q + ".lora_B.weight", zeros({64, 2})}};
  EXPECT_EQ(load(settings(2, {}), good), 0);
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    Tensors tensors = good;
    tensors.emplace_back(name, tensor);
    return tensors;
  };
  EXPECT_ERROR(load(R"({"peft_type": "IA3"})", good), kUnsupported, "'IA3'");
  EXPECT_ERROR(load(settings(2, {}, R"(, "modules_to_save": ["lm_head"])"), good), kUnsupported, "modules_to_save");
  EXPECT_ERROR(load(settings(2, {}, R"(, "trainable_token_indices": [3])"), good), kUnsupported,
               "trainable_token_indices");
  EXPECT_ERROR(load(settings(2, {}, R"(, "init_lora_weights": "pissa")"), good), kUnsupported, "'pissa'");
  EXPECT_ERROR(load(settings(2, {}, R"(, "alpha_pattern": {".*q_proj": 3})"), good), kUnsupported, "patterns of alpha");
  EXPECT_ERROR(load(R"({"peft_type": "LORA", "bias": "all"})", good), kUnsupported, "bias 'all'");
  EXPECT_ERROR(load(settings(2, {}), with("base_model.model.lm_head.weight", zeros({40, 64}))), kUnsupported,
               "lm_head.weight' of the adapter");
  EXPECT_ERROR(load(settings(2, {}), with(q + ".lora_embedding_A", zeros({2, 64}))), kUnsupported, "lora_embedding_A");
  EXPECT_ERROR(load(settings(2, {}), {good[0]}), kBadFile, "has no lora_B");
  EXPECT_ERROR(load(settings(2, {}), {good[0], {q + ".lora_B.weight", zeros({64, 3})}}), kBadFile, "ranks differ");
  EXPECT_ERROR(load(settings(2, {}), {good[0], {q + ".lora_B.weight", zeros({65, 2})}}), kBadFile, "is for [65, 64]");
  EXPECT_ERROR(load(settings(2, {}), {good[0], {q + ".lora_B.weight", zeros({0, 2})}}), kBadFile, "lora_B [0, 2]");
  EXPECT_ERROR(load(settings(2, {}), {good[0], {q + ".lora_B.weight", full({64, 2}, NAN)}}), kBadFile, "nan");
  EXPECT_ERROR(load(settings(2, {}), {good[0], {q + ".lora_B.weight", zeros({64, 2}, DType::kI32)}}), kBadFile,
               "floats");
  EXPECT_ERROR(load(settings(2, {4, false, true}), good), kBadFile, "which DoRA needs");
  EXPECT_ERROR(load(settings(2, {}), with(q + ".lora_magnitude_vector", zeros({64}))), kBadFile, "without use_dora");
  const std::string other = "base_model.model.model.layers.7.self_attn.q_proj";
  EXPECT_ERROR(
      load(settings(2, {}), {{other + ".lora_A.weight", zeros({2, 64})}, {other + ".lora_B.weight", zeros({64, 2})}}),
      kUnsupported, "'model.layers.7.self_attn.q_proj'");
  EXPECT_ERROR(load(settings(2, {}), {}), kBadFile, "no tensors of an adapter");
  TestModel model(base());
  const std::vector<int64_t> unknown = {0};
  EXPECT_ERROR(logits(model, &unknown), kInvalidArgument, "there is no adapter 0");
}

TEST_F(Adapters, MergedCheckpointsHoldTheSum) {
  for (const Kind& kind : {Kind{}, Kind{4, false, true}}) {
    const std::string to = kind.dora ? "merged-dora" : "merged";
    const Tensors expected = make_adapter("adapter", 3, kind, 100);
    const WeightSource source(Checkpoint::open(base()));
    std::vector<std::string> seen;
    merge_lora(source, {{read_lora(folder("adapter"), source), 1}}, folder(to),
               [&](const std::string& name, int64_t) { seen.push_back(name); });
    EXPECT_EQ(seen.size(), expected.size());
    const Checkpoint written = Checkpoint::open(folder(to));
    EXPECT_EQ(written.config().get("model_type", ""), "llama");
    for (const auto& [name, tensor] : expected) expect_close(written.get(name), tensor, 1e-6, name);
    const TestModel model(folder(to));
    EXPECT_EQ(logits(model).dim(1), 40);
    EXPECT_ERROR(merge_lora(source, {}, folder(to)), kInvalidArgument, "exists already");
  }
  const WeightSource source(Checkpoint::open(base()));
  LoraModule module{"model.layers.0.mlp", zeros({1, 64}), zeros({64, 1}), {}, 1};
  EXPECT_ERROR(merge_lora(source, {{{module}, 1}}, folder("none")), kUnsupported, "'model.layers.0.mlp'");
  module.name = "model.layers.0.mlp.up_proj";
  EXPECT_ERROR(merge_lora(source, {{{module}, 1}}, folder("none")), kUnsupported, "cannot be merged into");
  EXPECT_FALSE(fs::exists(folder("none")));
}

// Linears of recurrent mixers, in whole texts and token by token.
TEST_F(Adapters, OfRecurrentMixers) {
  const auto is_linear = [](const std::string& name) {
    for (const char* end : {".in_proj", ".out_proj", ".x_proj", ".dt_proj", ".in_proj_qkvz", ".in_proj_ba", ".linear_x",
                            ".linear_y", ".linear_out", ".ogate_preact", ".fgate_preact"}) {
      if (name.ends_with(cat(end, ".weight"))) return true;
    }
    return false;
  };
  for (const char* hybrid : {"mamba2-moe", "mamba-moe", "delta-rule", "griffin", "matrix-memory"}) {
    SCOPED_TRACE(hybrid);
    const TempFolder temp;
    const WeightSource source(Checkpoint::open(model_folder(hybrid)));
    Tensors parts;
    for (const TensorEntry& entry : source.checkpoint().entries()) {
      if (!is_linear(entry.name)) continue;
      const std::string stem = "base_model.model." + entry.name.substr(0, entry.name.size() - 7);
      parts.emplace_back(stem + ".lora_A.weight", mul_by(randn({2, entry.shape[1]}, parts.size()), 0.1));
      parts.emplace_back(stem + ".lora_B.weight", mul_by(randn({entry.shape[0], 2}, 90 + parts.size()), 0.1));
    }
    ASSERT_GE(parts.size(), 8u);
    write_peft(temp.path() / "adapter", settings(2, {}), parts);
    merge_lora(source, {{read_lora(temp.path() / "adapter", source), 1}}, temp.path() / "merged");
    TestModel model(model_folder(hybrid));
    const std::vector<int64_t> kind = {add(model, temp.path() / "adapter")};
    const Tensor with = logits(model, &kind);
    EXPECT_LE(relative_error(with, logits(TestModel(temp.path() / "merged"))), 2e-5);
    EXPECT_GE(relative_error(with, logits(model)), 1e-3);
    TestSequence sequence(model);
    const std::vector<int32_t> tokens = some_tokens(9, 1, 40);
    for (int64_t i = 0; i < 9; ++i) {
      ForwardBatch batch;
      sequence.add_to(batch, std::span(tokens).subspan(static_cast<size_t>(i), 1), true);
      batch.sequences.back().adapters = &kind;
      expect_identical(model.model->forward(batch, model.cache),
                       with.with_layout(with.layout().narrow(0, i, 1)).contiguous(), cat("token ", i));
    }
  }
}

TEST_F(Adapters, CanBeTakenAway) {
  make_adapter("first", 2, {}, 20);
  make_adapter("second", 3, {}, 40);
  TestModel model(base());
  AdapterSlots& slots = model.model->adapters();
  const std::vector<int64_t> first = {add(model, folder("first"))}, second = {add(model, folder("second"))};
  const Tensor plain = logits(model), with_first = logits(model, &first), with_second = logits(model, &second);
  EXPECT_ERROR(add(model, folder("first")), kInvalidArgument, "there is an adapter 'first' already");
  {
    const AdapterSlots::Hold hold = slots.hold(first[0]);
    EXPECT_TRUE(slots.remove("first"));
    EXPECT_FALSE(slots.remove("first"));
    EXPECT_FALSE(slots.remove(""));
    EXPECT_FALSE(slots.find("first"));
    EXPECT_EQ(slots.hold(first[0]), nullptr);
    expect_identical(logits(model, &first), with_first, "who has it keeps it");
  }
  EXPECT_EQ(slots.find("second"), second[0]);
  const std::vector<int64_t> again = {add(model, folder("first"))};  // what nobody holds goes now
  EXPECT_NE(again, first);
  EXPECT_ERROR(logits(model, &first), kInvalidArgument, cat("there is no adapter ", first[0]));
  expect_identical(logits(model, &again), with_first, "again");
  expect_identical(logits(model, &second), with_second, "the other");
  expect_identical(logits(model), plain, "without");
}

// The same adapter from GGUF, whose q and k rows lie in another order.
TEST_F(Adapters, FromGguf) {
  const Tensors merged = make_adapter("adapter", 3, {}, 100);
  const WeightSource source(Checkpoint::open(base()));
  Tensors parts;
  std::vector<TensorSpec> specs;
  for (const LoraModule& module : read_lora(folder("adapter"), source)) {
    const NameMatch match = gguf_matches("llama", module.name + ".weight").front();
    parts.emplace_back(match.name + ".lora_a", module.a);
    parts.emplace_back(match.name + ".lora_b",
                       to_gguf(module.b, match.change, source.counts(), module.name).contiguous());
  }
  Metadata metadata;
  metadata.set_text("general.architecture", "llama");
  metadata.set_text("general.type", "adapter");
  metadata.set_text("adapter.type", "lora");
  metadata.set_f32("adapter.lora.alpha", 6);
  for (const auto& [name, tensor] : parts) specs.push_back({name, tensor.dtype(), tensor.shape()});
  GgufWriter writer(folder("adapter.gguf"), metadata, specs);
  for (const auto& [name, tensor] : parts) writer.write(name, tensor);
  writer.finish();
  ModelOptions options;
  options.loras = {{folder("adapter"), 1}};
  const Tensor expected = logits(TestModel(base(), options));
  options.loras = {{folder("adapter.gguf"), 1}};
  expect_identical(logits(TestModel(base(), options)), expected, "from GGUF");
}

}  // namespace
}  // namespace wick
