#pragma once

#include <memory>

#include "engine/engine.h"
#include "speech/qwen3_tts/tts_task.h"
#include "speech/voice.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// Qwen3-TTS: sentences of all texts are spoken together, in the batches of one engine.
class Qwen3Voice final : public SpeechSynthesizer {
 public:
  explicit Qwen3Voice(const std::filesystem::path& path, const ModelOptions& options = {});
  ~Qwen3Voice() override;

  const VoiceFacts& facts() const override { return facts_; }
  std::unique_ptr<Speech> speak(std::string_view text, const SpeakOptions& options) const override;
  std::shared_ptr<const ClonedVoice> clone(std::span<const float> samples, std::string_view transcript) const override;

  // For those who look inside.
  const Qwen3Tts& model() const { return *model_; }
  Engine& engine() const { return *engine_; }

 private:
  class SpokenText;
  struct Clone;
  std::vector<int32_t> encode(std::string_view text) const;
  void check_plain(std::string_view text, const char* what) const;
  TtsInput input_of(std::string_view piece, const TtsInput& shared) const;
  TtsInput shared_input(const SpeakOptions& options) const;

  std::unique_ptr<const Qwen3Tts> model_;
  Tokenizer tokenizer_;
  TtsSampling sampling_;  // as the makers ship it
  std::unique_ptr<TtsRunner> runner_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineThread> thread_;
  VoiceFacts facts_;
};

}  // namespace wick
