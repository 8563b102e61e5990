// wav2vec2 and its conformer against what PyTorch computes, and in the forms that no fixture has against plain loops.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "formats/safetensors/safetensors_writer.h"
#include "speech/ctc/wav2vec2.h"
#include "speech/wav2vec2_plain.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::vector<float> sound_of(const fs::path& fixture) {
  return Checkpoint::open(fixture / "reference.safetensors").get("input").to_vector<float>();
}

class Wav2Vec2Test : public testing::TestWithParam<const char*> {
 protected:
  fs::path folder() const { return family_folder(GetParam()); }
};

TEST_P(Wav2Vec2Test, AgreesWithPyTorch) {
  const Checkpoint reference = Checkpoint::open(folder() / "reference.safetensors");
  const Tensor expected = reference.get("logits");
  const Tensor logits = Wav2Vec2::load(folder())->logits(sound_of(folder()));
  EXPECT_EQ(logits.shape(), expected.layout().squeeze(0).shape);
  EXPECT_LT(relative_error(logits, expected), 5e-6);
}

TEST_P(Wav2Vec2Test, FramesAndSamplesBelongTogether) {
  const auto model = Wav2Vec2::load(folder());
  const Wav2Vec2Config& config = model->config();
  EXPECT_EQ(config.samples_per_frame(), 40);
  EXPECT_EQ(config.frames_of(6400), 158);
  for (const int64_t frames : {1, 2, 7, 100}) {
    EXPECT_EQ(config.frames_of(config.samples_of(frames)), frames);
    EXPECT_EQ(config.frames_of(config.samples_of(frames) - 1), frames - 1);
  }
  const std::vector<float> sound = sound_of(folder());
  const auto few = std::span(sound).first(static_cast<size_t>(config.samples_of(1)));
  EXPECT_EQ(model->logits(few).shape(), Shape({1, 32}));
  EXPECT_ERROR(model->logits(few.first(few.size() - 1)), kInvalidArgument, "samples are too few for a frame");
  EXPECT_ERROR(model->logits({}), kInvalidArgument, "0 samples are too few");
}

TEST_P(Wav2Vec2Test, ResultsDoNotDependOnThreads) {
  const auto model = Wav2Vec2::load(folder());
  const std::vector<float> once = model->logits(sound_of(folder())).to_vector<float>();
  const int before = ThreadPool::instance().size();
  ThreadPool::instance().resize(3);
  EXPECT_EQ(model->logits(sound_of(folder())).to_vector<float>(), once);
  ThreadPool::instance().resize(before);
}

INSTANTIATE_TEST_SUITE_P(Models, Wav2Vec2Test, testing::Values("wav2vec2", "wav2vec2-conformer"), [](const auto& test) {
  return std::string(test.param) == "wav2vec2" ? "plain" : "conformer";
});

// A model of random weights with settings changed from a fixture's.
class MadeUpModel {
 public:
  MadeUpModel(const std::string& fixture, const nlohmann::json& changes, bool old_names = false) {
    std::ifstream in(family_folder(fixture) / "config.json");
    nlohmann::json config = nlohmann::json::parse(in);
    if (!changes.empty()) config.update(changes);
    std::ofstream(folder_.path() / "config.json") << config;
    write({{"none", {1}}}, old_names);
    const auto missing = Wav2Vec2::plan(source()).preflight.missing;  // all that the model wants
    std::vector<WantedTensor> wanted;
    for (const auto& one : missing) wanted.push_back(one.wanted);
    write(wanted, old_names);
  }
  WeightSource source() const { return WeightSource(Checkpoint::open(folder_.path())); }
  const fs::path& path() const { return folder_.path(); }

 private:
  static Tensor values(const WantedTensor& tensor, uint64_t seed) {
    const bool is_factor = tensor.name.ends_with("norm.weight") || tensor.name.ends_with("running_var") ||
                           tensor.name.ends_with("original0");
    const double in =
        static_cast<double>(tensor.shape.numel()) / static_cast<double>(std::max<int64_t>(1, tensor.shape[0]));
    Tensor x = randn(tensor.shape, seed);
    auto* at = x.mutable_data<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      at[i] = is_factor ? 1 + 0.3f * std::tanh(at[i]) : at[i] / static_cast<float>(std::sqrt(std::max(in, 4.0)));
    }
    return x;
  }
  void write(const std::vector<WantedTensor>& tensors, bool old_names) const {
    const auto named = [&](std::string name) {
      const size_t at = name.find("parametrizations.weight.original");
      if (old_names && at != std::string::npos)
        name = name.substr(0, at) + (name.back() == '0' ? "weight_g" : "weight_v");
      return name;
    };
    std::vector<TensorSpec> specs;
    for (const WantedTensor& tensor : tensors) specs.push_back({named(tensor.name), DType::kF32, tensor.shape});
    SafetensorsWriter writer(folder_.path() / "model.safetensors", specs);
    uint64_t seed = 1;
    for (const WantedTensor& tensor : tensors) writer.write(named(tensor.name), values(tensor, seed++));
    writer.finish();
  }
  TempFolder folder_;
};

double error_against_loops(const MadeUpModel& made, int64_t samples) {
  const Tensor sound = randn({samples}, 77);
  const Tensor logits = Wav2Vec2::load(made.path())->logits(sound.to_vector<float>());
  const Checkpoint file = Checkpoint::open(made.path());
  const Json config = Json::load(made.path() / "config.json");
  std::vector<float> expected;
  for (const auto& row : PlainWav2Vec2(file, config).logits(sound.to_vector<float>())) {
    for (const double value : row) expected.push_back(static_cast<float>(value));
  }
  return relative_error(logits, from_vector(expected, logits.shape()));
}

TEST(Wav2Vec2Forms, NormsBehindEveryConvolutionAndInFrontOfEveryPart) {
  const MadeUpModel made("wav2vec2", {{"feat_extract_norm", "layer"},
                                      {"conv_bias", true},
                                      {"do_stable_layer_norm", true},
                                      {"adapter_attn_dim", 12},
                                      {"num_conv_pos_embeddings", 15}});
  EXPECT_LT(error_against_loops(made, 2000), 2e-5);
}

TEST(Wav2Vec2Forms, GroupNorm) { EXPECT_LT(error_against_loops(MadeUpModel("wav2vec2", {}), 1500), 2e-5); }

TEST(Wav2Vec2Forms, RotaryPlaces) {
  const MadeUpModel made("wav2vec2-conformer", {{"position_embeddings_type", "rotary"}, {"hidden_act", "swish"}});
  EXPECT_LT(error_against_loops(made, 2500), 2e-5);
}

TEST(Wav2Vec2Forms, RelativePlacesOfManyRows) {
  // More rows than are scored at once.
  EXPECT_LT(error_against_loops(MadeUpModel("wav2vec2-conformer", {{"num_hidden_layers", 1}}), 40 * 270), 2e-5);
}

TEST(Wav2Vec2Forms, OldNamesOfTheWeightNorm) {
  const MadeUpModel made("wav2vec2", {}), old("wav2vec2", {}, true);
  const std::vector<float> sound = randn({3000}, 5).to_vector<float>();
  EXPECT_TRUE(old.source().has("wav2vec2.encoder.pos_conv_embed.conv.weight_g"));
  EXPECT_EQ(Wav2Vec2::load(old.path())->logits(sound).to_vector<float>(),
            Wav2Vec2::load(made.path())->logits(sound).to_vector<float>());
}

TEST(Wav2Vec2Load, SaysWhatIsWrong) {
  struct Row {
    const char *fixture, *from, *to;
    ErrorCode code;
    const char* part;
  };
  for (const Row& row : {
           Row{"wav2vec2", "\"model_type\": \"wav2vec2\"", "\"model_type\": \"llama\"", ErrorCode::kUnsupported,
               "not that of a wav2vec2"},
           Row{"wav2vec2", "\"num_attention_heads\": 4", "\"num_attention_heads\": 7", ErrorCode::kBadFile,
               "hidden_size = 64, which does not divide by num_attention_heads = 7"},
           Row{"wav2vec2", "\"num_conv_pos_embedding_groups\": 4", "\"num_conv_pos_embedding_groups\": 0",
               ErrorCode::kBadFile, "num_conv_pos_embedding_groups = 0"},
           Row{"wav2vec2", "\"conv_kernel\": [", "\"conv_kernel\": [3,", ErrorCode::kBadFile,
               "conv_dim, conv_kernel and conv_stride have 3, 4 and 3 numbers"},
           Row{"wav2vec2", "\"conv_stride\": [\n  5", "\"conv_stride\": [\n  0", ErrorCode::kBadFile,
               "convolution 0 has 16 channels, a kernel of 10 and a stride of 0"},
           Row{"wav2vec2", "\"pad_token_id\": 0", "\"pad_token_id\": 32", ErrorCode::kBadFile,
               "pad_token_id = 32 of 32 tokens"},
           Row{"wav2vec2", "\"vocab_size\": 32", "\"vocab_size\": 33", ErrorCode::kBadFile,
               "'lm_head.weight' is [32, 64], but the settings make it [33, 64]"},
           Row{"wav2vec2", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", ErrorCode::kBadFile,
               "tensor 'wav2vec2.encoder.layers.2."},
           Row{"wav2vec2", "\"add_adapter\": false", "\"add_adapter\": true", ErrorCode::kUnsupported, "add_adapter"},
           Row{"wav2vec2", "\"feat_extract_norm\": \"group\"", "\"feat_extract_norm\": \"batch\"", ErrorCode::kBadFile,
               "feat_extract_norm = 'batch'"},
           Row{"wav2vec2-conformer", "\"conv_depthwise_kernel_size\": 7", "\"conv_depthwise_kernel_size\": 8",
               ErrorCode::kBadFile, "conv_depthwise_kernel_size = 8, expected an odd number"},
           Row{"wav2vec2-conformer", "\"relative\"", "\"absolute\"", ErrorCode::kUnsupported,
               "position_embeddings_type = 'absolute'"},
       }) {
    const TempFolder folder;
    copy_model(family_folder(row.fixture), folder.path(), row.from, row.to);
    fs::remove(folder.path() / "reference.safetensors");
    expect_error([&] { Wav2Vec2::load(folder.path()); }, row.code, row.part);
  }
}

}  // namespace
}  // namespace wick
