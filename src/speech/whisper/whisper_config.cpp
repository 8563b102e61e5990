#include "speech/whisper/whisper_config.h"

#include <cmath>

#include "models/read_count.h"

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

CrossDecoderConfig decoder_of(const WhisperConfig& config) {
  CrossDecoderConfig decoder;
  decoder.family = "whisper";
  decoder.layers = config.decoder_layers;
  decoder.width = config.width;
  decoder.heads = config.decoder_heads;
  decoder.head_dim = config.width / config.decoder_heads;
  decoder.intermediate = config.decoder_intermediate;
  decoder.vocabulary = config.vocabulary;
  decoder.positions = config.target_positions;
  decoder.source_positions = config.source_positions;
  decoder.key_bias = false;
  decoder.activation = config.activation;
  decoder.embedding_scale = config.embedding_scale;
  CrossDecoderNames& names = decoder.names;
  const std::string prefix = config.prefix + "decoder.";
  names.tokens = prefix + "embed_tokens";
  names.positions = prefix + "embed_positions";
  names.layers = prefix + "layers.";
  names.final_norm = prefix + "layer_norm";
  set_bart_names(names);
  return decoder;
}

}  // namespace wick
