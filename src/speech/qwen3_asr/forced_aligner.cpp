#include "speech/qwen3_asr/forced_aligner.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "engine/compute_mutex.h"
#include "nn/kv_blocks_for.h"
#include "nn/kv_cache.h"
#include "speech/align_words.h"

namespace wick {
namespace {

int32_t token_of(const Tokenizer& tokenizer, std::string_view name) {
  const auto token = tokenizer.id_of(name);
  if (!token) throw Error(ErrorCode::kBadFile, cat("the tokenizer has no token '", name, "', which alignment needs"));
  return *token;
}

}  // namespace

std::shared_ptr<const ForcedAligner> ForcedAligner::load(const std::filesystem::path& path,
                                                         const ModelOptions& options) {
  auto model = Qwen3Asr::load(path, options);
  if (!model->times()) {
    throw Error(ErrorCode::kUnsupported, cat(path, ": this model writes text, expected a forced aligner"));
  }
  return std::make_shared<ForcedAligner>(std::move(model),
                                         Tokenizer::load(is_directory(path) ? path : path.parent_path()));
}

ForcedAligner::ForcedAligner(std::unique_ptr<Qwen3Asr> model, Tokenizer tokenizer)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      audio_begin_(token_of(tokenizer_, "<|audio_start|>")),
      audio_end_(token_of(tokenizer_, "<|audio_end|>")) {}

std::vector<RecognizedWord> ForcedAligner::align(const Tensor& mel, std::string_view text) const {
  const std::vector<AlignWord> words = split_for_alignment(text);
  if (words.empty()) return {};
  const std::lock_guard lock(compute_mutex());
  const InputEmbeddings heard{1, model_->encoder().encode(mel)};
  // Sound, then each word with a place for its beginning and one for its end.
  ForwardBatch batch;
  batch.tokens.push_back(audio_begin_);
  batch.tokens.insert(batch.tokens.end(), static_cast<size_t>(heard.rows.dim(0)), model_->audio_token());
  batch.tokens.push_back(audio_end_);
  for (const AlignWord& word : words) {
    EncodeOptions plain;
    plain.add_special = false;
    const std::vector<int> tokens = tokenizer_.encode(word.spoken, plain);
    batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end());
    for (int side = 0; side < 2; ++side) {
      batch.logit_rows.push_back(std::ssize(batch.tokens));
      batch.tokens.push_back(model_->times()->token);
    }
  }
  const LanguageModel& decoder = model_->decoder();
  const int64_t blocks = kv_blocks_for(std::ssize(batch.tokens));
  const KvCache cache(decoder.facts().kv_layers, blocks, DType::kF32, decoder.device());
  std::vector<int32_t> table;
  for (int32_t block = 0; block < blocks; ++block) table.push_back(block);
  batch.sequences.push_back({std::ssize(batch.tokens), 0, table, nullptr, nullptr, {&heard, 1}});
  const Tensor logits = decoder.forward(batch, cache).to_device(Device::cpu());

  std::vector<double> times;
  const int64_t classes = logits.dim(1);
  for (int64_t row = 0; row < logits.dim(0); ++row) {
    const float* values = logits.data<float>() + row * classes;
    times.push_back(static_cast<double>(std::max_element(values, values + classes) - values) *
                    model_->times()->seconds);
  }
  times = rising_times(std::move(times));
  std::vector<RecognizedWord> aligned;
  for (size_t i = 0; i < words.size(); ++i) aligned.push_back({times[2 * i], times[2 * i + 1], words[i].text});
  return aligned;
}

}  // namespace wick
