// The times of words, with an aligner that has Ember-ASR's ears and a head of chance: its times mean nothing, but every
// word has some, and they rise.
#include "speech/qwen3_asr/forced_aligner.h"

#include <gtest/gtest.h>

#include <random>

#include "formats/safetensors/safetensors_writer.h"
#include "speech/recognizer.h"
#include "support/errors.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/speech_samples.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

const fs::path kEmber = fs::path(WICK_SOURCE_DIR) / "models/ember-asr";

void make_aligner(const fs::path& folder) {
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"}) {
    fs::copy_file(kEmber / name, folder / name);
  }
  const Checkpoint ember = Checkpoint::open(kEmber);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : ember.entries()) tensors.emplace_back(entry.name, ember.get(entry.name));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> score(100 * 256);
  for (float& value : score) value = normal(random);
  tensors.emplace_back("score.weight", from_vector(score, {100, 256}));
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype(), tensor.shape()});
  SafetensorsWriter writer(folder / "model.safetensors", specs);
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish();
}

TEST(ForcedAligner, GivesEveryWordATime) {
  WICK_NEEDS_EMBER();
  const TempFolder folder;
  make_aligner(folder.path());
  RecognizerOptions options;
  options.aligner = folder.path();
  const auto recognizer = load_recognizer({}, options);
  EXPECT_TRUE(recognizer->facts().tells_words);
  const SpeechSample sample = speech_samples()[10];
  const Recognition heard = recognizer->recognize(*open_audio(sample.file), {.times = TimeDetail::kWords});
  EXPECT_EQ(heard.text, sample.heard);
  ASSERT_EQ(heard.segments.size(), 1u);
  std::string joined;
  double last = 0;
  for (const RecognizedWord& word : heard.segments[0].words) {
    joined += (joined.empty() ? "" : " ") + word.text;
    EXPECT_GE(word.begin, last);
    EXPECT_GE(word.end, word.begin);
    last = word.end;
  }
  EXPECT_EQ(joined, sample.heard);
  EXPECT_GT(last, 0);
  EXPECT_LE(last, 99 * 0.08);
}

TEST(ForcedAligner, IsNotTakenForAModelThatWrites) {
  WICK_NEEDS_EMBER();
  const TempFolder folder;
  make_aligner(folder.path());
  EXPECT_ERROR(load_recognizer(folder.path()), kUnsupported, "this is a forced aligner");
  EXPECT_ERROR(ForcedAligner::load(kEmber), kUnsupported, "this model writes text, expected a forced aligner");
  EXPECT_ERROR(load_recognizer({})->recognize(*open_audio(speech_samples()[0].file), {.times = TimeDetail::kWords}),
               kInvalidArgument, "Ember-ASR needs a forced aligner for the times of words");
}

}  // namespace
}  // namespace wick
