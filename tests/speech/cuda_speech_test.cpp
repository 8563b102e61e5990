// Speech models on CUDA against what PyTorch computes, where a device is there.
#if WICK_CUDA
#include <gtest/gtest.h>

#include "speech/ctc/wav2vec2.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/whisper/whisper.h"
#include "support/needs_cuda.h"
#include "support/speech_fixtures.h"

namespace wick {
namespace {

constexpr double kTolerance = 1e-3;  // of the spread, as for decoders

class CudaSpeech : public NeedsCuda<> {
 protected:
  static ModelOptions options() {
    ModelOptions options;
    options.device = Device::cuda();
    options.quantize = "f32";
    return options;
  }
};

// Goes on behind a text, the likeliest token each time.
std::vector<int32_t> write_on(const LanguageModel& model, SequenceRows rows, std::vector<int32_t> tokens,
                              const Tensor& expected_logits, size_t count) {
  const KvCache cache(model.facts().kv_layers, 128, DType::kF32, model.device());
  std::vector<int32_t> blocks(128), generated;
  std::iota(blocks.begin(), blocks.end(), 0);
  rows.blocks = blocks;
  while (generated.size() < count) {
    ForwardBatch batch;
    batch.tokens = tokens;
    rows.tokens = static_cast<int64_t>(tokens.size());
    batch.sequences.push_back(rows);
    for (int64_t i = 0; i < rows.tokens; ++i) batch.logit_rows.push_back(i);
    const Tensor logits = model.forward(batch, cache).to_device(Device::cpu());
    if (generated.empty()) {
      EXPECT_LE(relative_error(logits, expected_logits), kTolerance);
    }
    const std::vector<float> last = narrow(logits, 0, rows.tokens - 1, 1).to_vector<float>();
    generated.push_back(static_cast<int32_t>(std::max_element(last.begin(), last.end()) - last.begin()));
    rows.position += rows.tokens;
    tokens = {generated.back()};
  }
  return generated;
}

TEST_F(CudaSpeech, Whisper) {
  const auto folder = family_folder("whisper");
  const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
  const auto without_batch = [&](const char* name) {
    const Tensor x = reference.get(name);
    return x.with_layout(x.layout().squeeze(0));
  };
  const auto model = wick::Whisper::load(folder, options());
  const Tensor heard = model->encoder().encode(without_batch("input_features"));
  EXPECT_EQ(heard.device(), Device::cuda());
  EXPECT_LE(relative_error(heard, without_batch("encoder_last_hidden_state")), kTolerance);
  RecurrentState state = model->decoder().state_for(heard);
  SequenceRows rows{};
  rows.state = &state;
  const std::vector<int32_t> expected = reference.get("greedy").to_vector<int32_t>();
  EXPECT_EQ(write_on(model->decoder(), rows, reference.get("decoder_input_ids").to_vector<int32_t>(),
                     without_batch("logits"), expected.size()),
            expected);
}

TEST_F(CudaSpeech, Qwen3Asr) {
  for (const SpeechFixture& fixture : kSpeechFixtures) {
    if (std::string_view(fixture.name) == "models/ember-asr") continue;  // larger: the command tries it
    for (const auto& folder : fixture.folders()) {
      SCOPED_TRACE(folder.string());
      const SpeechReference reference(fixture, folder);
      const auto model = wick::Qwen3Asr::load(folder, options());
      const Tensor heard = model->encoder().encode(reference.mel);
      EXPECT_LE(relative_error(heard, reference.file.get("audio_embeddings")), kTolerance);
      const auto first = std::find(reference.prompt.begin(), reference.prompt.end(), model->audio_token());
      const std::vector<InputEmbeddings> sound{{first - reference.prompt.begin(), heard}};
      SequenceRows rows{};
      rows.embeddings = sound;
      const Tensor logits = reference.file.get("logits");
      EXPECT_EQ(write_on(model->decoder(), rows, reference.prompt, logits.with_layout(logits.layout().squeeze(0)),
                         reference.generated.size()),
                reference.generated);
    }
  }
}

TEST_F(CudaSpeech, Wav2Vec2) {
  for (const char* name : {"wav2vec2", "wav2vec2-conformer"}) {
    const auto folder = family_folder(name);
    const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
    const Tensor logits = wick::Wav2Vec2::load(folder, options())->logits(reference.get("input").to_vector<float>());
    EXPECT_LE(relative_error(logits, reference.get("logits")), kTolerance) << name;
  }
}

}  // namespace
}  // namespace wick
#endif  // WICK_CUDA
