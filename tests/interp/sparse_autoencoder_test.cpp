// Sparse autoencoders against plain sums, and their files.
#include "interp/probes/sparse_autoencoder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/safetensors/safetensors_writer.h"
#include "interp/run_with_cache.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/interp_models.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Kind = SparseAutoencoder::Kind;
constexpr int64_t kIn = 64, kFeatures = 150;

SparseAutoencoder make(Kind kind, bool centred, const std::string& hook = "blocks.1.hook_resid_pre") {
  SparseAutoencoder::Weights weights{mul(randn({kIn, kFeatures}, 1), 0.2),
                                     mul(randn({kFeatures}, 2), 0.1),
                                     mul(randn({kFeatures, kIn}, 3), 0.2),
                                     mul(randn({kIn}, 4), 0.5),
                                     {}};
  if (kind == Kind::kJumpRelu) weights.threshold = rand({kFeatures}, 5);
  return {kind, std::move(weights), hook, centred, kind == Kind::kTopK ? 7 : 0};
}

// One row, written out.
std::vector<double> encode_plainly(const SparseAutoencoder& sae, const float* x) {
  const auto& w = sae.weights();
  std::vector<double> features;
  for (int64_t f = 0; f < kFeatures; ++f) {
    double sum = w.b_enc.data<float>()[f];
    for (int64_t i = 0; i < kIn; ++i) {
      const double in = x[i] - (sae.apply_b_dec_to_input() ? w.b_dec.data<float>()[i] : 0.f);
      sum += in * w.w_enc.data<float>()[i * kFeatures + f];
    }
    const double threshold = sae.kind() == Kind::kJumpRelu ? w.threshold.data<float>()[f] : 0;
    features.push_back(sum > threshold ? sum : 0);
  }
  if (sae.kind() == Kind::kTopK) {
    std::vector<double> sorted = features;
    std::sort(sorted.rbegin(), sorted.rend());
    for (double& value : features) value = value >= sorted[6] ? value : 0;
  }
  return features;
}

TEST(SparseAutoencoderTest, EncodesAndDecodesAsWrittenOut) {
  const Tensor rows = randn({5, kIn}, 8);
  for (const Kind kind : {Kind::kRelu, Kind::kJumpRelu, Kind::kTopK}) {
    for (const bool centred : {false, true}) {
      const SparseAutoencoder sae = make(kind, centred);
      const Tensor features = sae.encode(rows);
      std::vector<double> expected, decoded;
      for (int64_t i = 0; i < 5; ++i) {
        const std::vector<double> row = encode_plainly(sae, rows.data<float>() + i * kIn);
        expected.insert(expected.end(), row.begin(), row.end());
        for (int64_t j = 0; j < kIn; ++j) {
          double sum = sae.weights().b_dec.data<float>()[j];
          for (int64_t f = 0; f < kFeatures; ++f) {
            sum += row[static_cast<size_t>(f)] * sae.weights().w_dec.data<float>()[f * kIn + j];
          }
          decoded.push_back(sum);
        }
      }
      expect_close(features, from_vector(expected, {5, kFeatures}), 1e-4, "features");
      expect_close(sae.decode(features), from_vector(decoded, {5, kIn}), 1e-4, "decoded");
      const std::vector<SaeFeature> top = SparseAutoencoder::strongest(features, 2, 3);
      ASSERT_EQ(top.size(), 3u);
      EXPECT_GE(top[0].value, top[1].value);
      EXPECT_EQ(top[0].value, max(narrow(features, 0, 2, 1)).item());
    }
  }
}

TEST(SparseAutoencoderTest, EditsDoWhatTheySayInARun) {
  const LanguageInterp model = interp_of("qwen3");
  const SparseAutoencoder sae = make(Kind::kRelu, true);
  const std::vector<int32_t> tokens = some_tokens(9, 4);
  const auto rows_with = [&](const HookSpec& spec) {
    const InterpText text{tokens, &spec};
    CaptureOptions capture;
    capture.points = {sae.hook_name()};
    return run_with_cache(model, std::span(&text, 1), capture).cache.at(sae.hook_name());
  };
  const Tensor plain = rows_with({}), features = sae.encode(plain);
  const int64_t strong = SparseAutoencoder::strongest(features, 3, 1).front().feature;

  HookSpec ablated;
  sae.ablate(ablated, {strong, 0, strong});
  const Tensor chosen = from_vector(std::vector<int64_t>{0, strong}, {2});
  const Tensor taken = matmul(index_select(features, 1, chosen), index_select(sae.weights().w_dec, 0, chosen));
  expect_close(rows_with(ablated), sub(plain, taken), 1e-5, "ablated");

  HookSpec steered;
  sae.steer(steered, 12, 2.5, {3, 5});
  const Tensor moved = rows_with(steered);
  for (int64_t i = 0; i < 9; ++i) {
    const Tensor row = narrow(plain, 0, i, 1).contiguous();
    const bool named = i == 3 || i == 5;
    expect_close(narrow(moved, 0, i, 1).contiguous(),
                 named ? add(row, mul(reshape(sae.direction(12), {1, kIn}), 2.5)) : row, 1e-6, "steered");
  }
  HookSpec rebuilt;
  sae.reconstruct(rebuilt, {4});
  const Tensor one = rows_with(rebuilt);
  expect_close(narrow(one, 0, 4, 1).contiguous(), narrow(sae.decode(features), 0, 4, 1).contiguous(), 1e-5, "rebuilt");
  expect_identical(narrow(one, 0, 0, 4).contiguous(), narrow(plain, 0, 0, 4).contiguous(), "other rows");
  EXPECT_GT(relative_error(model.run(tokens, rebuilt), model.run(tokens)), 1e-4);

  // Heads side by side are one row.
  const SparseAutoencoder on_z = make(Kind::kRelu, false, "blocks.0.attn.hook_z");
  HookSpec z;
  on_z.reconstruct(z);
  const LanguageInterp gpt2 = interp_of("gpt2");
  EXPECT_GT(relative_error(gpt2.run(tokens, z), gpt2.run(tokens)), 1e-4);
}

TEST(SparseAutoencoderTest, FilesAreReadBack) {
  const Tensor rows = randn({3, kIn}, 8);
  const TempFolder temp;
  for (const Kind kind : {Kind::kRelu, Kind::kJumpRelu, Kind::kTopK}) {
    const SparseAutoencoder sae = make(kind, kind == Kind::kRelu);
    sae.save(temp.path());
    const SparseAutoencoder back = SparseAutoencoder::load(temp.path());
    EXPECT_EQ(back.hook_name(), sae.hook_name());
    EXPECT_EQ(back.kind(), kind);
    EXPECT_EQ(back.k(), sae.k());
    EXPECT_EQ(back.apply_b_dec_to_input(), sae.apply_b_dec_to_input());
    expect_identical(back.encode(rows), sae.encode(rows), "features");
  }
}

class SaeFilesTest : public testing::Test {
 protected:
  SaeFilesTest() { make(Kind::kJumpRelu, false).save(temp_.path()); }

  SparseAutoencoder load_with(const std::string& config) {
    std::ofstream(temp_.path() / "cfg.json", std::ios::trunc) << config;
    return SparseAutoencoder::load(temp_.path());
  }
  void write(const std::string& left_out, const Tensor& w_dec = zeros({4, 2})) {
    std::vector<std::pair<std::string, Tensor>> tensors = {
        {"W_enc", zeros({2, 4})}, {"b_enc", zeros({4})}, {"W_dec", w_dec}, {"b_dec", zeros({2})}};
    std::erase_if(tensors, [&](const auto& item) { return item.first == left_out; });
    std::vector<TensorSpec> specs;
    for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype(), tensor.shape()});
    SafetensorsWriter writer(temp_.path() / "sae_weights.safetensors", specs);
    for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
    writer.finish();
  }

  TempFolder temp_;
};

TEST_F(SaeFilesTest, OlderAndNewerSettingsAreRead) {
  const SparseAutoencoder old = load_with(R"({"hook_point": "blocks.3.hook_mlp_out", "d_in": 64, "d_sae": 150})");
  EXPECT_EQ(old.hook_name(), "blocks.3.hook_mlp_out");
  EXPECT_EQ(old.kind(), Kind::kRelu);
  EXPECT_TRUE(old.apply_b_dec_to_input());
  const SparseAutoencoder newer = load_with(
      R"({"architecture": "jumprelu", "apply_b_dec_to_input": false, "normalize_activations": "none",
          "metadata": {"hook_name": "blocks.12.hook_resid_post", "model_name": "m"}})");
  EXPECT_EQ(newer.hook_name(), "blocks.12.hook_resid_post");
  EXPECT_EQ(newer.kind(), Kind::kJumpRelu);
  EXPECT_EQ(load_with(R"({"hook_name": "hook_embed", "activation_fn": "topk", "activation_fn_kwargs": {"k": 5}})").k(),
            5);
}

TEST_F(SaeFilesTest, HostileFilesGetASentence) {
  EXPECT_ERROR(load_with(R"({"architecture": "gated", "hook_name": "hook_embed"})"), kUnsupported,
               "the architecture is 'gated'; standard, jumprelu and topk are read");
  EXPECT_ERROR(load_with(R"({"activation_fn": "gelu", "hook_name": "hook_embed"})"), kUnsupported, "'gelu'");
  EXPECT_ERROR(load_with(R"({"normalize_activations": "layer_norm", "hook_name": "hook_embed"})"), kUnsupported,
               "normalised by 'layer_norm'");
  EXPECT_ERROR(load_with(R"({"d_in": 64})"), kBadFile, "there is no 'hook_name'");
  EXPECT_ERROR(load_with(R"({"hook_name": 7})"), kBadFile, "expected text");
  EXPECT_ERROR(load_with(R"({"hook_name": "blocks.x.hook_mlp_out"})"), kBadFile, "is no hook");
  EXPECT_ERROR(load_with(R"({"hook_name": "blocks.*.hook_mlp_out"})"), kBadFile, "is no one layer");
  EXPECT_ERROR(load_with(R"({"hook_name": "hook_embed", "d_sae": 151})"), kBadFile, "do not fit W_enc [64, 150]");
  EXPECT_ERROR(load_with(R"({"hook_name": "hook_embed", "architecture": "topk", "k": 151})"), kBadFile, "k is 151");
  EXPECT_ERROR(load_with(R"({"hook_name": "hook_embed", "architecture": "topk"})"), kBadFile, "k is 0");
  EXPECT_ERROR(load_with("[1, 2"), kBadFile, "cfg.json");
  const std::string good = R"({"hook_name": "hook_embed"})";
  write("b_dec");
  EXPECT_ERROR(load_with(good), kBadFile, "there is no 'b_dec'");
  write("", zeros({2, 4}));
  EXPECT_ERROR(load_with(good), kBadFile, "W_dec is f32 [2, 4], expected f32 [4, 2]");
  write("", zeros({4, 2}, DType::kI32));
  EXPECT_ERROR(load_with(good), kBadFile, "'W_dec' is I32, expected floats");
  write("");
  EXPECT_ERROR(load_with(R"({"hook_name": "hook_embed", "architecture": "jumprelu"})"), kBadFile, "no 'threshold'");
  const SparseAutoencoder fine = load_with(good);
  HookSpec spec;
  EXPECT_ERROR(fine.ablate(spec, {4}), kInvalidArgument, "feature 4 is asked for, there are 4");
  EXPECT_ERROR(fine.steer(spec, -1, 1), kInvalidArgument, "feature -1");
  EXPECT_ERROR(fine.encode(zeros({1, 3})), kInvalidArgument, "expected [n, 2]");
  std::filesystem::remove(temp_.path() / "sae_weights.safetensors");
  EXPECT_ERROR(load_with(good), kIo, "sae_weights.safetensors");
}

}  // namespace
}  // namespace wick
