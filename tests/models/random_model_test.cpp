// Models of known shapes with random weights.
#include "models/random_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "formats/weights.h"
#include "models/load_model.h"

namespace wick {
namespace {

// As many parameters as its name says, without making it.
TEST(ModelShapes, HaveTheSizesOfTheirNames) {
  std::set<std::string_view> names;
  for (const ModelShape& shape : model_shapes()) {
    EXPECT_TRUE(names.insert(shape.name).second) << shape.name;
    EXPECT_EQ(shape.config().at("hidden_size").as_int(), shape.hidden);
    EXPECT_EQ(&model_shape(shape.name), &shape);
  }
  try {
    model_shape("qwen3-06b");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("did you mean qwen3-0.6b?"), std::string::npos) << error.what();
  }
}

constexpr ModelShape kDense = {"dense", "qwen3", 4, 256, 4, 2, 64, 512, 300, 128, 1e6, true, ""};
constexpr ModelShape kSparse = {"sparse",
                                "qwen3_moe",
                                2,
                                256,
                                4,
                                2,
                                64,
                                512,
                                300,
                                128,
                                1e6,
                                false,
                                R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256)"};
constexpr ModelShape kMixtral = {"mixtral",
                                 "mixtral",
                                 2,
                                 256,
                                 4,
                                 2,
                                 64,
                                 512,
                                 300,
                                 128,
                                 1e6,
                                 false,
                                 R"("num_local_experts": 4, "num_experts_per_tok": 2)"};

Checkpoint made(const ModelShape& shape, std::string_view type) {
  return Checkpoint::parse(random_gguf(shape, QuantizePlan::named(type)));
}

TEST(RandomModel, LoadsAndRuns) {
  for (const ModelShape& shape : {kDense, kSparse, kMixtral}) {
    for (const char* type : {"q4_k_m", "q8_0", "f16"}) {
      SCOPED_TRACE(std::string(shape.name) + " " + type);
      const WeightSource source(made(shape, type));
      EXPECT_TRUE(plan_model(source).preflight.ok()) << plan_model(source).preflight.sentence();
      const auto model = load_model(source);
      EXPECT_EQ(model->facts().layers, shape.layers);
      KvCache cache(model->facts().kv_layers, 1, DType::kF32, Device::cpu());
      const std::vector<int32_t> blocks = {0};
      ForwardBatch batch;
      batch.tokens = {1, 2, 3};
      batch.sequences.push_back({3, 0, blocks, nullptr, nullptr});
      batch.logit_rows = {2};
      for (const float logit : model->forward(batch, cache).to_vector<float>()) ASSERT_TRUE(std::isfinite(logit));
    }
  }
}

TEST(RandomModel, TypesAreThoseOfThePlan) {
  const Checkpoint file = made(kDense, "q4_k_m");
  EXPECT_EQ(file.find("token_embd.weight")->dtype, DType::kQ6_K);  // tied: it is the output, too
  EXPECT_EQ(file.find("blk.1.attn_q.weight")->dtype, DType::kQ4_K);
  EXPECT_EQ(file.find("blk.3.ffn_down.weight")->dtype, DType::kQ6_K);  // the last
  EXPECT_EQ(file.find("blk.0.attn_norm.weight")->dtype, DType::kF32);
  EXPECT_EQ(file.find("output.weight"), nullptr);
  EXPECT_EQ(file.metadata().integer("general.file_type"), 15);
  EXPECT_EQ(file.metadata().array("tokenizer.ggml.tokens").count, kDense.vocabulary);
  EXPECT_THROW(made(kDense, "auto"), Error);
  EXPECT_THROW(made(kDense, "int8"), Error);
}

TEST(RandomModel, IsTheSameEveryTime) {
  const auto a = random_gguf(kSparse, QuantizePlan::named("q4_k_m"));
  const auto b = random_gguf(kSparse, QuantizePlan::named("q4_k_m"));
  EXPECT_TRUE(std::equal(a->bytes().begin(), a->bytes().end(), b->bytes().begin(), b->bytes().end()));
}

TEST(RandomModel, KeepsATokenizerThatIsGiven) {
  Metadata tokenizer = byte_tokenizer(kDense.vocabulary);
  tokenizer.set_text("tokenizer.ggml.pre", "qwen2");
  tokenizer.set_text("general.name", "of another file");
  const Checkpoint file = Checkpoint::parse(random_gguf(kDense, QuantizePlan::named("q8_0"), tokenizer));
  EXPECT_EQ(file.metadata().text("tokenizer.ggml.pre"), "qwen2");
  EXPECT_EQ(file.metadata().text("general.name"), "dense with random weights");
}

}  // namespace
}  // namespace wick
