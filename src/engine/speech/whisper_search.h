#pragma once

#include <span>
#include <vector>

#include "engine/block_pool.h"
#include "engine/speech/whisper_rules.h"
#include "models/speech/whisper.h"
#include "tensor/arena.h"

namespace wick {

// How a text is looked for.
struct WhisperSearchOptions {
  float temperature = 0;          // 0: the likeliest; above: the best of several that are drawn
  int64_t beams = 1;              // texts that are followed at once at temperature 0
  int64_t draws = 5;              // texts that are drawn
  uint64_t seed = 0, stream = 0;  // of the draws
};

// What was written about one window.
struct WhisperText {
  std::vector<int32_t> tokens;  // without the end
  std::vector<float> logprobs;  // of each
  float sum_logprob = 0;        // with that of the end

  float mean_logprob() const { return sum_logprob / static_cast<float>(tokens.size() + 1); }
};

// Writes texts about one window after the other. Texts that begin alike share the memory of what they have in common
// and go through the model together. One thread at a time.
class WhisperSearch {
 public:
  // `texts`: the most that are followed at once.
  WhisperSearch(const Whisper& model, const WhisperRules& rules, int64_t texts);

  // Goes on to a window, by WhisperDecoder::state_for.
  void hear(RecurrentState heard);
  const RecurrentState& heard() const { return heard_; }
  // The language that is spoken: an index into WhisperTokens::languages, which must not be empty.
  size_t detect_language();
  // Reads the prompt, whose token at `start` is the start of transcript; one that ends in <|notimestamps|> is continued
  // without times. Returns the probability that nobody speaks.
  float read_prompt(std::span<const int32_t> prompt, size_t start);
  // Continues the prompt, any number of times.
  WhisperText write(const WhisperSearchOptions& options);

  int64_t tokens_computed() const { return computed_; }  // one by one, since the beginning

 private:
  // A text that is being written.
  struct Text {
    std::vector<int32_t> tokens;
    std::vector<float> logprobs;
    float sum = 0;
    std::vector<int32_t> blocks;
  };

  Tensor forward(std::span<const int64_t> logit_rows);
  void make_room(std::vector<int32_t>& blocks, int64_t position);
  Text fork(const Text& text);
  void release(std::vector<int32_t>& blocks);
  // Log-probabilities of what comes next under the rules, for each text a row of logprobs_.
  void score(std::span<Text> texts);
  std::span<float> row(size_t i);
  std::span<const float> row(size_t i) const;

  WhisperText follow_beams(int64_t count);
  WhisperText draw_texts(const WhisperSearchOptions& options);
  static void append(Text& text, int32_t token, float logprob);
  WhisperText take_best(std::vector<Text> texts) const;

  const Whisper& model_;
  const WhisperRules& rules_;
  size_t vocabulary_;
  KvCache cache_;
  BlockPool pool_;
  Arena arena_;
  ForwardBatch batch_;
  RecurrentState heard_;
  std::vector<int32_t> prompt_blocks_;
  int64_t prompt_tokens_ = 0;
  bool times_ = true;                // are written
  std::vector<float> first_logits_;  // behind the prompt
  Tensor logprobs_;                  // f32 [texts, vocabulary]
  int64_t computed_ = 0;
};

}  // namespace wick
