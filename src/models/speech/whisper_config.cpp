#include "models/speech/whisper_config.h"

#include <cmath>

#include "models/speech/read_count.h"

namespace wick {

WhisperConfig read_whisper_config(const ConfigReader& config) {
  WhisperConfig whisper;
  whisper.bins = read_count(config, "num_mel_bins", 4096);
  whisper.source_positions = read_count(config, "max_source_positions");
  whisper.target_positions = read_count(config, "max_target_positions");
  whisper.width = read_count(config, "d_model");
  whisper.vocabulary = read_count(config, "vocab_size", int64_t{1} << 24);
  whisper.encoder_layers = read_count(config, "encoder_layers", 4096);
  whisper.encoder_heads = read_count(config, "encoder_attention_heads");
  whisper.encoder_intermediate = read_count(config, "encoder_ffn_dim");
  whisper.decoder_layers = read_count(config, "decoder_layers", 4096);
  whisper.decoder_heads = read_count(config, "decoder_attention_heads");
  whisper.decoder_intermediate = read_count(config, "decoder_ffn_dim");
  whisper.activation = activation_named(config.text("activation_function", "gelu"));
  if (config.flag("scale_embedding", false)) whisper.embedding_scale = std::sqrt(static_cast<float>(whisper.width));
  const auto check_heads = [&](std::string_view name, int64_t heads) {
    if (whisper.width % heads == 0) return;
    throw bad_setting(cat("d_model = ", whisper.width, ", which does not divide by ", name, " = ", heads));
  };
  check_heads("encoder_attention_heads", whisper.encoder_heads);
  check_heads("decoder_attention_heads", whisper.decoder_heads);
  return whisper;
}

}  // namespace wick
