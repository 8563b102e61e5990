#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/weights.h"
#include "models/decoder/decoder.h"
#include "nn/attention.h"
#include "nn/mlp.h"
#include "speech/lfm2_audio/fast_conformer.h"

namespace wick {

struct Lfm2AudioConfig {
  DecoderConfig backbone;
  FastConformerConfig encoder;
  int64_t codebooks = 0;
  int64_t depth_layers = 0, depth_width = 0, depth_heads = 0, depth_kv_heads = 0, depth_inner = 0;
  int64_t interleaved_text = 0, interleaved_audio = 0;  // tokens and frames that take turns

  int64_t audio_entries = 2049;  // codes of each codebook, of which the last ends a stretch of sound

  int32_t audio_end() const { return static_cast<int32_t>(audio_entries - 1); }
  // What the makers' program fixes.
  static constexpr int32_t kTurnEnd = 7, kAudioStart = 128, kTextEnd = 130;
};
bool is_lfm2_audio(const Json& config);
Lfm2AudioConfig read_lfm2_audio_config(const Json& config);

// The codes of a frame, one after the other, of what the backbone thought: a small transformer over the codebooks.
class DepthDecoder {
 public:
  DepthDecoder(const Lfm2AudioConfig& config, WeightLoader& loader);

  // The logits of codebook i are given to `draw` with the index of the thought; it says the code. thought [frames,
  // hidden]; returns the codes of each.
  using Draw = FunctionRef<int32_t(size_t frame, int64_t codebook, std::span<const float> logits)>;
  std::vector<std::vector<int32_t>> operator()(const Tensor& thought, Draw draw) const;

 private:
  struct Layer {
    Norm attn_norm, mlp_norm;
    Attention attention;
    Mlp mlp;
  };
  struct Book {
    Tensor table;  // [entries, width]
    Norm norm;
    Linear logits;
  };
  Tensor run(const Tensor& x, int64_t position, const KvCache& cache, const RopeTable& rope) const;

  int64_t width_, codebooks_;
  Device device_;
  Linear in_;
  std::vector<Layer> layers_;
  std::vector<Book> books_;
  RopeTable rope_;
};

// LFM2-Audio: text and speech to text and speech. An encoder makes rows of what is heard, the backbone, an LFM2, reads
// them among those of text and of earlier speech, and what it thinks becomes a token of text or, through the depth
// decoder, a frame of codes. Immutable: any number of threads may use it at once.
class Lfm2Audio {
 public:
  static std::unique_ptr<Lfm2Audio> load(const std::filesystem::path& path, const ModelOptions& options = {});
  static std::unique_ptr<Lfm2Audio> load(const WeightSource& source, const ModelOptions& options = {});

  const Lfm2AudioConfig& config() const { return config_; }
  const LanguageModel& backbone() const { return backbone_; }  // without embeddings and head
  const DepthDecoder& depth() const { return depth_; }
  const FastConformer& encoder() const { return encoder_; }
  Tensor adapt(const Tensor& encoded) const;  // rows of the encoder as the backbone reads them

  // Rows for the backbone, f32 [count, hidden].
  Tensor text_rows(std::span<const int32_t> tokens) const;
  Tensor sound_rows(std::span<const float> samples) const {
    return adapt(encoder_(nemo_log_mel(samples, config_.encoder.bins)));
  }
  Tensor frame_rows(std::span<const int32_t> codes) const;  // of frames of `codebooks` codes
  Tensor text_logits(const Tensor& thought) const;

  int64_t parameters() const { return parameters_; }
  int64_t weight_bytes() const { return weight_bytes_; }

 private:
  Lfm2Audio(const Lfm2AudioConfig& config, WeightLoader& loader, const ModelOptions& options);

  Lfm2AudioConfig config_;
  Device device_;
  Decoder backbone_;
  FastConformer encoder_;
  DepthDecoder depth_;
  Tensor text_table_, audio_table_;
  Norm adapter_norm_;
  Linear adapter_up_, adapter_down_;
  int64_t parameters_, weight_bytes_;
};

}  // namespace wick
