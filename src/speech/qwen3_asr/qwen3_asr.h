#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "formats/weights.h"
#include "models/decoder/decoder.h"
#include "models/load_model.h"
#include "speech/qwen3_asr/audio_encoder.h"

namespace wick {

// Whether a config.json is one of Qwen3-ASR.
bool is_qwen3_asr(const Json& config);

// Qwen3-ASR: speech to text. The encoder turns a log-mel spectrogram into audio embeddings; the decoder, a Qwen 3,
// reads them where its prompt has audio tokens and writes the text (asr_prompt.h makes the prompt):
//
//   const Tensor audio = model->encoder().encode(mel);              // [tokens, hidden]
//   const AsrPrompt prompt = asr_prompt(tokenizer, model->audio_token(), audio.dim(0));
//   const InputEmbeddings heard{prompt.audio_position, audio};      // for SequenceRows::embeddings
//
// Immutable: any number of threads may use it at once.
class Qwen3Asr {
 public:
  // A Hugging Face folder or file in either layout, the first release's ("thinker.audio_tower.") or the one of
  // Transformers ("model.audio_tower."). Names and settings are checked first; throws Error(kBadFile) naming the tensor
  // or the setting at fault, Error(kUnsupported) for other models.
  static std::unique_ptr<Qwen3Asr> load(const std::filesystem::path& path, const ModelOptions& options = {});
  static std::unique_ptr<Qwen3Asr> load(const WeightSource& source, const ModelOptions& options = {});
  // What would be loaded, found out from names and settings alone.
  static ModelPlan plan(const WeightSource& source, const ModelOptions& options = {});

  const AudioEncoder& encoder() const { return encoder_; }
  const LanguageModel& decoder() const { return decoder_; }
  int32_t audio_token() const { return audio_token_; }  // stands where audio embeddings go
  // Forced aligners give times instead of tokens (see ForcedAligner): how many classes of how many seconds each. Null
  // for models that write.
  struct Times {
    int64_t classes = 0;
    double seconds = 0.08;
    int32_t token = 0;  // "<timestamp>": where a time is asked for
  };
  const Times* times() const { return times_ ? &*times_ : nullptr; }
  int64_t parameters() const { return parameters_; }
  int64_t weight_bytes() const { return weight_bytes_; }

 private:
  struct Settings;
  static Settings read(const WeightSource& source, const ModelOptions& options);
  Qwen3Asr(const Settings& settings, WeightLoader& loader, const ModelOptions& options);

  Decoder decoder_;
  AudioEncoder encoder_;
  int32_t audio_token_;
  std::optional<Times> times_;
  int64_t parameters_, weight_bytes_;
};

}  // namespace wick
