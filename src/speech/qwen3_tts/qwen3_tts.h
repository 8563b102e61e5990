#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "formats/weights.h"
#include "models/codecs/codec.h"
#include "models/decoder/decoder.h"
#include "models/load_model.h"
#include "speech/qwen3_tts/speaker_encoder.h"
#include "speech/qwen3_tts/tts_config.h"

namespace wick {

// Qwen3-TTS: text to frames of codes, which its codec makes sound of. The talker, a Qwen 3, reads the text and makes
// the first code of each frame; the predictor, a smaller one, makes the others of what the talker thought. Immutable:
// any number of threads may use it at once.
class Qwen3Tts {
 public:
  // A Hugging Face folder, with its codec in speech_tokenizer/. Throws Error naming the tensor or the setting at fault.
  static std::unique_ptr<Qwen3Tts> load(const std::filesystem::path& path, const ModelOptions& options = {});
  static std::unique_ptr<Qwen3Tts> load(const WeightSource& source, std::unique_ptr<const Codec> codec,
                                        const ModelOptions& options = {});

  const TtsConfig& config() const { return config_; }
  // Without embeddings and heads: their rows are made here.
  const LanguageModel& talker() const { return talker_; }
  const LanguageModel& predictor() const { return predictor_; }
  const Codec& codec() const { return *codec_; }
  const SpeakerEncoder* speaker_encoder() const { return speaker_ ? &*speaker_ : nullptr; }  // null: there is none

  // All f32, in the talker's width.
  Tensor text_rows(std::span<const int32_t> tokens) const;
  Tensor code_rows(std::span<const int32_t> codes) const;    // of the talker's vocabulary
  Tensor frame_rows(std::span<const int32_t> frames) const;  // of whole frames: the sums of their codes' rows
  // Rows for the predictor: what the talker thought, or of code `group` of frames.
  Tensor predictor_rows(const Tensor& thought) const;
  Tensor group_rows(int64_t group, std::span<const int32_t> codes) const;
  // Logits of the talker's rows, and of code `group` (from 1 on) of the predictor's.
  Tensor first_logits(const Tensor& rows) const { return head_(rows); }
  Tensor group_logits(int64_t group, const Tensor& rows) const { return heads_[static_cast<size_t>(group - 1)](rows); }

  int64_t parameters() const { return parameters_ + codec_->facts().parameters; }
  int64_t weight_bytes() const { return weight_bytes_ + codec_->facts().weight_bytes; }

 private:
  Qwen3Tts(const TtsConfig& config, WeightLoader& loader, const ModelOptions& options);
  Tensor rows_of(const Tensor& table, std::span<const int32_t> ids) const;

  TtsConfig config_;
  Device device_;
  Decoder talker_, predictor_;
  Tensor text_table_, code_table_;
  std::vector<Tensor> group_tables_;  // of codes 1 and up
  Linear text_in_, text_out_, head_, narrow_;
  std::vector<Linear> heads_;
  std::optional<SpeakerEncoder> speaker_;
  std::unique_ptr<const Codec> codec_;
  int64_t parameters_, weight_bytes_;
};

}  // namespace wick
