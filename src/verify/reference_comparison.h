#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "formats/checkpoint.h"
#include "models/language_model.h"
#include "verify/reference_check.h"

namespace wick {

// A text that grows in a cache of its own.
class ReferenceReader {
 public:
  ReferenceReader(const LanguageModel& model, int64_t most_tokens);

  // Instead of the state that the model begins with.
  void set_state(RecurrentState state) { state_ = std::move(state); }
  void set_embeddings(InputEmbeddings embeddings) { embeddings_ = {std::move(embeddings)}; }
  // Logits of every token.
  Tensor read(std::span<const int32_t> tokens, const SequenceHooks* hooks = nullptr);

 private:
  const LanguageModel& model_;
  std::vector<int32_t> blocks_;
  KvCache cache_;
  RecurrentState state_;
  std::vector<InputEmbeddings> embeddings_;
  int64_t position_ = 0;
};

// The values of a reference and those of a model, compared one by one into a report. Every name that is asked for
// counts as checked; names that must be there throw Error(kBadFile) when they are not.
class ReferenceComparison {
 public:
  ReferenceComparison(const Checkpoint& reference, double tolerance);

  ReferenceReport& report() { return report_; }
  std::vector<std::string> names() const;
  bool has(std::string_view name) const { return reference_.find(name) != nullptr; }
  // Whether it is of a residual stream that is there several times over, [copies, 1, rows, hidden].
  bool copies(const std::string& name) const { return reference_.get(name).rank() == 4; }
  Tensor get(const std::string& name);
  Tensor input(const std::string& name);  // of a batch of one, without the batch
  std::vector<int32_t> tokens(const std::string& name);

  void compare(const std::string& name, const Tensor& actual);
  // Also how often the best five of a row are the same.
  void compare_logits(const std::string& name, const Tensor& logits);
  std::vector<int32_t> greedy();  // tokens of "greedy"; empty when it is not there
  // The best tokens behind what the reader has read, which gave these logits, are those of "greedy", if it is there.
  void compare_greedy(ReferenceReader& reader, const Tensor& logits);

  ReferenceReport finish();

 private:
  const Checkpoint& reference_;
  double tolerance_;
  ReferenceReport report_;
  std::set<std::string, std::less<>> known_;
};

// Text encoders: what they make of a batch of texts, without its padding.
void compare_text_encoder(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison);
// T5, BART and those like them: what the encoder makes of a text, and the decoder of that.
void compare_encoder_decoder(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison);
// Speech models: what they make of the sound of the reference.
void compare_qwen3_asr(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison);
void compare_whisper(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison);
void compare_wav2vec2(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison);

}  // namespace wick
