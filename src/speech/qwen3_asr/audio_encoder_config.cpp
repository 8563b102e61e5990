#include "speech/qwen3_asr/audio_encoder_config.h"

#include "base/text.h"
#include "models/read_count.h"

namespace wick {

int64_t AudioEncoderConfig::thirdly_halved(int64_t size) {
  for (int i = 0; i < 3; ++i) size = (size + 1) / 2;
  return size;
}

int64_t AudioEncoderConfig::tokens_of(int64_t frames) const {
  return frames / chunk_frames * chunk_tokens() + thirdly_halved(frames % chunk_frames);
}

AudioEncoderConfig read_audio_encoder_config(const ConfigReader& config) {
  AudioEncoderConfig encoder;
  encoder.bins = read_count(config, "num_mel_bins", 4096);
  encoder.channels = read_count(config, "downsample_hidden_size");
  encoder.layers = read_count(config, "encoder_layers", 4096);
  encoder.width = read_count(config, "d_model");
  encoder.heads = read_count(config, "encoder_attention_heads");
  encoder.intermediate = read_count(config, "encoder_ffn_dim");
  encoder.output = read_count(config, "output_dim");
  encoder.activation = activation_named(config.text("activation_function", "gelu"));
  encoder.chunk_frames = 2 * read_count(config, "n_window", 4096);
  const int64_t window = read_count(config, "n_window_infer", int64_t{1} << 24);
  if (window % encoder.chunk_frames != 0) {
    throw bad_setting(
        cat("n_window_infer = ", window, ", expected a multiple of ", encoder.chunk_frames, ", twice n_window"));
  }
  encoder.window_chunks = window / encoder.chunk_frames;
  if (encoder.width % encoder.heads != 0) {
    throw bad_setting(
        cat("d_model = ", encoder.width, ", which does not divide by encoder_attention_heads = ", encoder.heads));
  }
  if (encoder.width % 2 != 0 || encoder.width < 4) {
    throw bad_setting(cat("d_model = ", encoder.width, ", expected an even number from 4 on"));
  }
  return encoder;
}

}  // namespace wick
