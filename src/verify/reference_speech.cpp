#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ops/view.h"
#include "speech/ctc/wav2vec2.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/whisper/whisper.h"
#include "verify/reference_comparison.h"

namespace wick {
namespace {

// "logits" and "greedy" of a decoder that reads `tokens`.
void compare_decoder(ReferenceReader& reader, std::span<const int32_t> tokens, ReferenceComparison& comparison) {
  const Tensor logits = reader.read(tokens);
  comparison.compare_logits("logits", logits);
  comparison.compare_greedy(reader, logits);
}

int64_t most_tokens(std::span<const int32_t> tokens, ReferenceComparison& comparison) {
  return std::ssize(tokens) + std::ssize(comparison.greedy());
}

}  // namespace

void compare_qwen3_asr(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison) {
  const auto model = Qwen3Asr::load(source, options);
  Tensor mel = comparison.input("input_features");  // [bins, frames], filled up with frames that are masked
  if (comparison.has("input_features_mask")) {
    const std::vector<int64_t> mask = comparison.input("input_features_mask").to_vector<int64_t>();
    mel = narrow(mel, 1, 0, std::min(mel.dim(1), static_cast<int64_t>(std::count(mask.begin(), mask.end(), 1))));
  }
  const Tensor heard = model->encoder().encode(mel);
  if (comparison.has("audio_embeddings")) comparison.compare("audio_embeddings", heard);

  const std::vector<int32_t> tokens = comparison.tokens("input_ids");
  const auto first = std::find(tokens.begin(), tokens.end(), model->audio_token());
  ReferenceReader reader(model->decoder(), most_tokens(tokens, comparison));
  reader.set_embeddings({first - tokens.begin(), heard});
  compare_decoder(reader, tokens, comparison);
}

void compare_whisper(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison) {
  const auto model = Whisper::load(source, options);
  const Tensor heard = model->encoder().encode(comparison.input("input_features"));
  if (comparison.has("encoder_last_hidden_state")) comparison.compare("encoder_last_hidden_state", heard);

  const std::vector<int32_t> tokens = comparison.tokens("decoder_input_ids");
  ReferenceReader reader(model->decoder(), most_tokens(tokens, comparison));
  reader.set_state(model->decoder().state_for(heard));
  compare_decoder(reader, tokens, comparison);
}

void compare_wav2vec2(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison) {
  const auto model = Wav2Vec2::load(source, options);
  comparison.compare_logits("logits", model->logits(comparison.input("input").to_vector<float>()));
}

}  // namespace wick
