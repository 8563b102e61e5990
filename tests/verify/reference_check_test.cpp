// The comparison behind `wick verify`, on the fixtures and on changed copies of them.
#include "verify/reference_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "formats/safetensors/safetensors_writer.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

using Tensors = std::vector<std::pair<std::string, Tensor>>;

Tensors tensors_of(const Checkpoint& reference) {
  Tensors tensors;
  for (const TensorEntry& entry : reference.entries()) tensors.emplace_back(entry.name, reference.get(entry));
  return tensors;
}

Tensor& named(Tensors& tensors, const std::string& name) {
  return std::find_if(tensors.begin(), tensors.end(), [&](const auto& item) { return item.first == name; })->second;
}

Checkpoint written(const TempFolder& folder, const Tensors& tensors) {
  const fs::path path = folder.path() / "reference.safetensors";
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype(), tensor.shape()});
  SafetensorsWriter writer(path, specs);
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish();
  return Checkpoint::open(path);
}

// The fixture, and its reference with changes.
class ReferenceCheck : public testing::Test {
 protected:
  ReferenceCheck() : folder_(fixture_folders("llama").front()), source_(Checkpoint::open(folder_)) {
    tensors_ = tensors_of(Checkpoint::open(folder_ / "reference.safetensors"));
  }

  ReferenceReport check(const ReferenceOptions& options = {}) {
    return check_reference(source_, written(temp_, tensors_), options);
  }
  void change(const std::string& name, int64_t index, float by) {
    Tensor changed = named(tensors_, name).clone();
    changed.mutable_data<float>()[index] += by;
    named(tensors_, name) = changed;
  }

  TempFolder temp_;
  fs::path folder_;
  WeightSource source_;
  Tensors tensors_;
};

TEST(ReferenceFixtures, AgreeInEveryValue) {
  for (const std::string name : {"llama", "gpt2", "lfm2", "qwen3", "mixtral", "mamba", "mamba2", "rwkv"}) {
    for (const fs::path& folder : fixture_folders(name)) {
      SCOPED_TRACE(folder.string());
      const WeightSource source(Checkpoint::open(folder));
      const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
      const ReferenceReport report = check_reference(source, reference);
      EXPECT_TRUE(report.ok());
      EXPECT_EQ(report.family, name);
      EXPECT_TRUE(report.not_checked.empty());
      // Everything but token ids is a tensor or a line of tokens.
      EXPECT_EQ(report.tensors.size() + 3, reference.entries().size());
      EXPECT_EQ(report.tensors.front().name, "hidden_0");
      for (const TensorCheck& tensor : report.tensors) EXPECT_LE(tensor.relative, 5e-6) << tensor.name;
      for (const TokenCheck& tokens : report.tokens) EXPECT_EQ(tokens.same, tokens.total) << tokens.name;
    }
  }
}

struct SpeechCase {
  const char *folder, *reference, *family;
  std::vector<std::string> tensors, not_checked;
};

TEST(ReferenceFixtures, SpeechAgreesInEveryValue) {
  const std::vector<std::string> heard = {"audio_embeddings", "logits"};
  const std::vector<std::string> beside = {"audio_tower_last_hidden_state", "waveform"};
  for (const SpeechCase& speech :
       {SpeechCase{"qwen3_asr", "qwen3_asr", "qwen3_asr", heard, beside},
        SpeechCase{"qwen3_asr-thinker", "qwen3_asr", "qwen3_asr", heard, beside},
        SpeechCase{"whisper", "whisper", "whisper", {"encoder_last_hidden_state", "logits"}, {}},
        SpeechCase{"wav2vec2", "wav2vec2", "wav2vec2", {"logits"}, {}},
        SpeechCase{"wav2vec2-conformer", "wav2vec2-conformer", "wav2vec2-conformer", {"logits"}, {}}}) {
    for (const fs::path& folder : fixture_folders(speech.folder)) {
      SCOPED_TRACE(folder.string());
      const fs::path reference = folder.parent_path() / speech.reference / "reference.safetensors";
      ReferenceReport report = check_reference(WeightSource(Checkpoint::open(folder)), Checkpoint::open(reference));
      EXPECT_TRUE(report.ok());
      EXPECT_EQ(report.family, speech.family);
      EXPECT_EQ(report.weights, DType::kBF16);
      std::vector<std::string> names;
      for (const TensorCheck& tensor : report.tensors) {
        names.push_back(tensor.name);
        EXPECT_LE(tensor.relative, 5e-6) << tensor.name;
      }
      EXPECT_EQ(names, speech.tensors);
      std::sort(report.not_checked.begin(), report.not_checked.end());
      EXPECT_EQ(report.not_checked, speech.not_checked);
      for (const TokenCheck& tokens : report.tokens) EXPECT_EQ(tokens.same, tokens.total) << tokens.name;
      EXPECT_EQ(report.tokens.size(),
                speech.tensors.size());  // the best of logits; and where there is a decoder, greedy
    }
  }
}

TEST(ReferenceFixtures, EncodersAgreeInEveryValueThatIsNotPadding) {
  for (const char* name : {"bert", "modernbert", "roberta", "xlm-roberta", "distilbert"}) {
    for (const fs::path& folder : fixture_folders(name)) {
      SCOPED_TRACE(folder.string());
      const WeightSource source(Checkpoint::open(folder));
      const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
      const ReferenceReport report = check_reference(source, reference);
      EXPECT_TRUE(report.ok());
      EXPECT_EQ(report.family, name);
      EXPECT_EQ(report.tensors.size(), reference.find("pooler_output") ? 5u : 4u);
      for (const TensorCheck& tensor : report.tensors) EXPECT_LE(tensor.relative, 5e-6) << tensor.name;
      Tensors changed = tensors_of(reference);
      named(changed, "hidden_1") = named(changed, "hidden_1").clone();
      named(changed, "hidden_1").mutable_data<float>()[3] += 0.5f;
      const TempFolder temp;
      EXPECT_FALSE(check_reference(source, written(temp, changed)).ok());
    }
  }
}

TEST(ReferenceFixtures, OfT5EncoderAndDecoderAgree) {
  for (const char* name : {"t5", "flan-t5"}) {
    for (const fs::path& folder : fixture_folders(name)) {
      const ReferenceReport report =
          check_reference(WeightSource(Checkpoint::open(folder)), Checkpoint::open(folder / "reference.safetensors"));
      EXPECT_TRUE(report.ok());
      ASSERT_EQ(report.tensors.size(), 2u);
      EXPECT_EQ(report.tensors[0].name, "encoder_last_hidden_state");
      EXPECT_EQ(report.tensors[1].name, "logits");
      for (const TensorCheck& tensor : report.tensors) EXPECT_LE(tensor.relative, 5e-6) << tensor.name;
      ASSERT_EQ(report.tokens.size(), 2u);
      EXPECT_EQ(report.tokens[1].same, 16);
      EXPECT_TRUE(report.not_checked.empty());
    }
  }
}

TEST_F(ReferenceCheck, OfOtherSoundDisagrees) {
  const fs::path folder = family_folder("whisper");
  tensors_ = tensors_of(Checkpoint::open(folder / "reference.safetensors"));
  source_ = WeightSource(Checkpoint::open(folder));
  EXPECT_TRUE(check().ok());
  Tensor& mel = named(tensors_, "input_features");
  mel = zeros(mel.shape());
  const ReferenceReport report = check();
  for (const TensorCheck& tensor : report.tensors) EXPECT_FALSE(tensor.ok) << tensor.name;
  named(tensors_, "input_features") = zeros({2, 80, 200});
  EXPECT_ERROR(check(), kBadFile, "'input_features' is f32 [2, 80, 200], expected a batch of one");
  std::erase_if(tensors_, [](const auto& item) { return item.first == "decoder_input_ids"; });
  named(tensors_, "input_features") = zeros({1, 80, 200});
  EXPECT_ERROR(check(), kBadFile, "holds no 'decoder_input_ids'");
}

TEST_F(ReferenceCheck, OfPicturesIsRefused) {
  tensors_.emplace_back("pixel_values", zeros({1, 3, 32, 32}));
  EXPECT_ERROR(check(), kUnsupported, "the values of the reference depend on 'pixel_values'");
}

TEST_F(ReferenceCheck, FindsADifference) {
  change("hidden_1", 5, 0.5f);
  const ReferenceReport report = check();
  EXPECT_FALSE(report.ok());
  for (const TensorCheck& tensor : report.tensors) {
    EXPECT_EQ(tensor.ok, tensor.name != "hidden_1") << tensor.name;
    EXPECT_NEAR(tensor.max_abs, tensor.name == "hidden_1" ? 0.5 : 0, 1e-4) << tensor.name;
  }
  ReferenceOptions lenient;
  lenient.tolerance = 1;
  EXPECT_TRUE(check(lenient).ok());
}

TEST_F(ReferenceCheck, NotANumberIsADifference) {
  change("logits", 7, NAN);
  EXPECT_FALSE(check().ok());
}

TEST_F(ReferenceCheck, OtherGreedyTokensFail) {
  std::vector<int32_t> greedy = named(tensors_, "greedy").to_vector<int32_t>();
  greedy[3] = (greedy[3] + 1) % 192;
  named(tensors_, "greedy") = from_vector(std::vector<int64_t>(greedy.begin(), greedy.end()), {1, 24});
  const ReferenceReport report = check();
  EXPECT_FALSE(report.ok());
  const auto tokens = std::find_if(report.tokens.begin(), report.tokens.end(), [](const auto& t) { return !t.ok; });
  ASSERT_NE(tokens, report.tokens.end());
  EXPECT_EQ(tokens->name, "greedy");
  EXPECT_EQ(tokens->note.find("token 3 is "), 0u) << tokens->note;
}

TEST_F(ReferenceCheck, ListsWhatItDoesNotKnow) {
  tensors_.emplace_back("hidden_x", zeros({3}));
  tensors_.emplace_back("hidden_9", zeros({3}));
  tensors_.emplace_back("router_0", zeros({3}));
  ReferenceReport report = check();
  std::sort(report.not_checked.begin(), report.not_checked.end());
  EXPECT_EQ(report.not_checked, (std::vector<std::string>{"hidden_9", "hidden_x", "router_0"}));
  EXPECT_TRUE(report.ok());
}

TEST_F(ReferenceCheck, WrongShapesAndMissingTensorsAreSaid) {
  named(tensors_, "hidden_2") = zeros({1, 24, 32});
  const ReferenceReport report = check();
  const auto hidden = std::find_if(report.tensors.begin(), report.tensors.end(), [](const auto& t) { return !t.ok; });
  ASSERT_NE(hidden, report.tensors.end());
  EXPECT_EQ(hidden->problem, "the model gives [24, 64]");

  const Tensors all = tensors_;
  std::erase_if(tensors_, [](const auto& item) { return item.first == "logits"; });
  EXPECT_THROW(check(), Error);
  tensors_ = all;
  named(tensors_, "input_ids") = zeros({2, 12}, DType::kI64);
  EXPECT_THROW(check(), Error);
  named(tensors_, "input_ids") = full({1, 24}, 100000, DType::kI64);
  EXPECT_THROW(check(), Error);
}

}  // namespace
}  // namespace wick
