#include "speech/qwen3_asr/asr_utterance.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "engine/compute_mutex.h"
#include "ops/rearrange.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

// As the makers of Qwen3-ASR stream: the first partial texts are free, later ones keep all but the last tokens.
constexpr int64_t kFreePartials = 2, kLooseTokens = 5;
// Nobody says more: what is longer repeats itself.
constexpr double kTokensPerSecond = 16;
constexpr int64_t kTokensBesides = 48;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool is_same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data<float>(), b.data<float>(), static_cast<size_t>(a.numel()) * sizeof(float)) == 0;
}

}  // namespace

AsrUtterance::AsrUtterance(const AsrParts& parts, const RecognizeOptions& options)
    : parts_(parts), options_(options), language_(find_language(options.language)), mel_(LogMelOptions::qwen3_asr()) {}

void AsrUtterance::push(std::span<const float> samples) {
  const auto start = Clock::now();
  mel_.push(samples);
  took_.mel += seconds_since(start);
}

Tensor AsrUtterance::encode() {
  const AudioEncoder& encoder = parts_.model.encoder();
  const int64_t frames = mel_.frames(), each = encoder.config().window_frames();
  const auto count = static_cast<size_t>((frames + each - 1) / each);
  windows_.resize(std::max(count, windows_.size()));
  std::vector<Tensor> rows;
  for (size_t i = 0; i < count; ++i) {
    const auto start = Clock::now();
    const int64_t begin = static_cast<int64_t>(i) * each;
    Tensor mel = mel_.features(begin, std::min(begin + each, frames));
    took_.mel += seconds_since(start);
    Window& window = windows_[i];
    // Louder sound later on may change what was before: then it is encoded again.
    if (!window.rows.defined() || !is_same(window.mel, mel)) {
      const std::lock_guard lock(compute_mutex());
      const auto listening = Clock::now();
      window.rows = encoder.encode(mel);
      window.mel = std::move(mel);
      took_.encoder += seconds_since(listening);
    }
    rows.push_back(window.rows);
  }
  return rows.size() == 1 ? rows.front() : concat(rows, 0);
}

std::unique_ptr<PendingText> AsrUtterance::submit(std::span<const int32_t> begun) {
  const Tensor rows = encode();
  AsrPrompt prompt =
      asr_prompt(parts_.text.tokenizer(), parts_.model.audio_token(), rows.dim(0), {options_.context, language_});
  prompt.tokens.insert(prompt.tokens.end(), begun.begin(), begun.end());
  EngineRequest request;
  request.prompt = std::move(prompt.tokens);
  request.embeddings.push_back({prompt.audio_position, rows});
  request.params.sampling.temperature = options_.temperature;
  request.params.sampling.seed = options_.seed;
  request.params.sampling.logprobs = 0;
  request.params.max_new_tokens = kTokensBesides + static_cast<int64_t>(seconds() * kTokensPerSecond);
  request.params.show_special = true;  // the tag between language and text
  return std::make_unique<PendingText>(parts_.engine, std::move(request));
}

std::string AsrUtterance::partial() {
  if (mel_.samples() == 0) return {};
  std::vector<int32_t> begun;
  if (partials_++ >= kFreePartials && std::ssize(partial_) > kLooseTokens) {
    begun.assign(partial_.begin(), partial_.end() - kLooseTokens);
  }
  const GenerateResult result = submit(begun)->result();
  partial_ = std::move(begun);
  partial_.insert(partial_.end(), result.tokens.begin(), result.tokens.end());
  return read_transcript(parts_.text.tokenizer().decode(partial_), language_).text;
}

void AsrUtterance::restart() {
  mel_ = LogMel(mel_.options());
  partial_.clear();
  partials_ = 0;
}

void AsrUtterance::start() { request_ = submit({}); }

Transcript AsrUtterance::wait_for_more(size_t& seen) const {
  const std::string generated = request_->wait_for_more(seen);
  seen = generated.size();
  return read_begun_transcript(generated, language_);
}

RecognizedSegment AsrUtterance::end(std::string* language, Recognition& totals) {
  const GenerateResult result = request_->result();
  const Transcript transcript = read_transcript(result.text, language_);
  RecognizedSegment segment;
  segment.end = seconds();
  segment.text = transcript.text;
  segment.tokens = result.tokens;
  segment.temperature = options_.temperature;
  if (!result.tokens.empty()) {
    segment.mean_logprob = static_cast<float>(request_->logprob_sum() / static_cast<double>(result.tokens.size()));
  }
  if (options_.times == TimeDetail::kWords) segment.words = parts_.aligner->align(mel_.features(), segment.text);
  if (language) {
    const Language* known = find_language(transcript.language);
    *language = known ? std::string(known->code) : transcript.language;
  }
  totals.tokens += std::ssize(result.tokens);
  totals.took.mel += took_.mel;
  totals.took.encoder += took_.encoder;
  totals.took.prompt += result.prefill_seconds;
  totals.took.decoder += result.decode_seconds;
  return segment;
}

RecognizedSegment AsrUtterance::finish(std::string* language) {
  if (mel_.samples() == 0) return {};
  start();
  Recognition ignored;
  return end(language, ignored);
}

}  // namespace wick
