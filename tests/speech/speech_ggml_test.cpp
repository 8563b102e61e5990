// Whisper from whisper.cpp's files: the same numbers as from safetensors.
#include <gtest/gtest.h>

#include <fstream>

#include "speech/whisper/whisper.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/ggml_model.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

WeightSource fixture() { return WeightSource(Checkpoint::open(family_folder("whisper"))); }

Tensor some_mel(const Whisper& model) { return randn({model.config().bins, model.config().frames()}, 5); }

Tensor logits_of(const Whisper& model) {
  RecurrentState state = model.decoder().state_for(model.encoder().encode(some_mel(model)));
  const KvCache cache(model.decoder().facts().kv_layers, 1, DType::kF32, Device::cpu());
  const std::vector<int32_t> blocks = {0};
  ForwardBatch batch;
  batch.tokens = some_tokens(7, 3);
  batch.sequences.push_back({7, 0, blocks, &state});
  batch.logit_rows = {0, 3, 6};
  return model.decoder().forward(batch, cache);
}

std::unique_ptr<Whisper> from_ggml(const std::string& bytes) {
  return Whisper::load(WeightSource(Checkpoint::parse(file_in_memory(bytes, "ggml-tiny.bin"))));
}

class GgmlWhisperTest : public testing::TestWithParam<const char*> {};

// Odd lengths of tokens move the data to odd bytes.
TEST_P(GgmlWhisperTest, ComputesWhatSafetensorsCompute) {
  const WeightSource source = fixture();
  ModelOptions options;
  options.quantize = GetParam();
  const auto expected = Whisper::load(source, options);
  for (const char* token : {"", "x", "xy", "xyz"}) {
    SCOPED_TRACE(token);
    const auto model = from_ggml(ggml_model(source, {"a", token}, GetParam()));
    EXPECT_EQ(model->parameters(), expected->parameters());
    expect_identical(model->encoder().encode(some_mel(*model)), expected->encoder().encode(some_mel(*model)), "heard");
    expect_identical(logits_of(*model), logits_of(*expected), "logits");
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgmlWhisperTest,
                         testing::Values("f32", "f16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k_m"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GgmlWhisperFile, IsFoundInAFolder) {
  const TempFolder temp;
  const std::string bytes = ggml_model(fixture(), {"a"});
  std::ofstream(temp.path() / "ggml-tiny.bin", std::ios::binary) << bytes;
  const Checkpoint file = Checkpoint::open(temp.path());
  EXPECT_EQ(file.kind(), Checkpoint::Kind::kGgmlWhisper);
  EXPECT_EQ(file.config().at("encoder_ffn_dim").as_int(), 128);
  EXPECT_EQ(file.entries().size(), fixture().names().size());
  expect_identical(logits_of(*Whisper::load(temp.path())), logits_of(*Whisper::load(family_folder("whisper"))),
                   "logits");
}

TEST(GgmlWhisperFile, CutBetweenTensorsLacksOne) {
  const std::string bytes = ggml_model(fixture(), {"a"});
  const Checkpoint whole = Checkpoint::parse(file_in_memory(bytes, "good"));
  const TensorEntry& last = whole.entries().back();
  const size_t header = 3 * 4 + last.shape.rank() * 4 + openai_name(last.name).size();
  EXPECT_ERROR(from_ggml(bytes.substr(0, static_cast<size_t>(last.offset) - header)), kBadFile,
               cat("ggml-tiny.bin: tensor '", last.name, "' ", last.shape, " is missing"));
}

}  // namespace
}  // namespace wick
