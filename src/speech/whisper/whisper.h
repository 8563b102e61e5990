#pragma once

#include <filesystem>
#include <memory>

#include "formats/weights.h"
#include "models/load_model.h"
#include "speech/whisper/whisper_config.h"
#include "speech/whisper/whisper_encoder.h"

namespace wick {

// Whether a config.json is one of Whisper.
bool is_whisper(const Json& config);

// Whisper: speech to text. The encoder hears 30 seconds, the decoder writes down what a sequence's state holds of them:
//
//   RecurrentState state = model->decoder().state_for(model->encoder().encode(mel));   // for SequenceRows::state
//
// Immutable: any number of threads may use it at once.
class Whisper {
 public:
  // Names and settings are checked first; throws Error(kBadFile) naming the tensor or the setting at fault,
  // Error(kUnsupported) for other models.
  static std::unique_ptr<Whisper> load(const std::filesystem::path& path, const ModelOptions& options = {});
  static std::unique_ptr<Whisper> load(const WeightSource& source, const ModelOptions& options = {});
  // What would be loaded, found out from names and settings alone.
  static ModelPlan plan(const WeightSource& source, const ModelOptions& options = {});

  const WhisperConfig& config() const { return config_; }
  const WhisperEncoder& encoder() const { return encoder_; }
  const CrossDecoder& decoder() const { return decoder_; }
  int64_t parameters() const { return parameters_; }
  int64_t weight_bytes() const { return weight_bytes_; }

 private:
  Whisper(const WhisperConfig& config, WeightLoader& loader, const ModelOptions& options);

  WhisperConfig config_;
  CrossDecoder decoder_;
  WhisperEncoder encoder_;
  int64_t parameters_, weight_bytes_;
};

}  // namespace wick
