#include "engine/speech/whisper_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/philox.h"
#include "base/text.h"
#include "nn/kv_blocks_for.h"
#include "ops/log_softmax.h"
#include "tensor/create.h"

namespace wick {
namespace {

size_t index_of_largest(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// A token by its probability at a temperature.
size_t draw(std::span<const float> logprobs, float temperature, uint64_t seed, uint64_t index, uint64_t stream) {
  const float largest = *std::max_element(logprobs.begin(), logprobs.end());
  const auto weight = [&](float logprob) { return std::exp((logprob - largest) / temperature); };
  double total = 0;
  for (const float logprob : logprobs) total += weight(logprob);
  const std::array<uint32_t, 4> random = philox_block(seed, index, stream);
  double left = total * ((static_cast<double>(random[0]) * 0x1p-32) + static_cast<double>(random[1]) * 0x1p-64);
  for (size_t i = 0; i < logprobs.size(); ++i) {
    left -= weight(logprobs[i]);
    if (left < 0) return i;
  }
  return index_of_largest(logprobs);  // rounding ate the last of it
}

// Indices of the largest values, largest first; of equal ones the first.
std::vector<size_t> largest_of(std::span<const float> values, size_t count) {
  std::vector<size_t> best;
  for (size_t i = 0; i < values.size(); ++i) {
    if (best.size() == count && values[i] <= values[best.back()]) continue;
    const auto behind = std::upper_bound(best.begin(), best.end(), values[i],
                                         [&](float value, size_t other) { return value > values[other]; });
    best.insert(behind, i);
    if (best.size() > count) best.pop_back();
  }
  return best;
}

}  // namespace

WhisperSearch::WhisperSearch(const Whisper& model, const WhisperRules& rules, int64_t texts)
    : model_(model),
      rules_(rules),
      vocabulary_(static_cast<size_t>(model.config().vocabulary)),
      // One more for the prompt, which stays as it is.
      cache_(model.decoder().facts().kv_layers, (texts + 1) * kv_blocks_for(model.decoder().facts().max_context),
             DType::kF16, model.decoder().device()),
      pool_(cache_.blocks()),
      logprobs_(zeros({texts, model.config().vocabulary})) {}

std::span<float> WhisperSearch::row(size_t i) {
  return {logprobs_.mutable_data<float>() + i * vocabulary_, vocabulary_};
}
std::span<const float> WhisperSearch::row(size_t i) const {
  return {logprobs_.data<float>() + i * vocabulary_, vocabulary_};
}

void WhisperSearch::hear(RecurrentState heard) {
  release(prompt_blocks_);
  prompt_tokens_ = 0;
  heard_ = std::move(heard);
}

void WhisperSearch::release(std::vector<int32_t>& blocks) {
  for (const int32_t block : blocks) pool_.release(block);
  blocks.clear();
}

WhisperSearch::Text WhisperSearch::fork(const Text& text) {
  for (const int32_t block : text.blocks) pool_.share(block);
  return text;
}

// For a token at `position`, behind tokens that may be shared.
void WhisperSearch::make_room(std::vector<int32_t>& blocks, int64_t position) {
  const auto index = static_cast<size_t>(position / kKvBlockTokens);
  const bool fits = index < blocks.size() ? pool_.try_own(blocks, index, cache_) : pool_.try_grow(blocks, position + 1);
  if (!fits) throw Error(ErrorCode::kInternal, cat("the cache has no room for position ", position));
}

// What is in batch_.
Tensor WhisperSearch::forward(std::span<const int64_t> logit_rows) {
  batch_.logit_rows.assign(logit_rows.begin(), logit_rows.end());
  return model_.decoder().forward(batch_, cache_).to_device(Device::cpu());
}

size_t WhisperSearch::detect_language() {
  const ArenaScope scope(arena_);
  std::vector<int32_t> blocks;
  make_room(blocks, 0);
  batch_.clear();
  batch_.tokens = {rules_.tokens().start};
  batch_.sequences.push_back({1, 0, blocks, &heard_});
  const Tensor logits = forward(std::array<int64_t, 1>{0});
  release(blocks);
  const auto& languages = rules_.tokens().languages;
  const float* values = logits.data<float>();
  const auto best = std::max_element(languages.begin(), languages.end(),
                                     [&](const auto& a, const auto& b) { return values[a.token] < values[b.token]; });
  return static_cast<size_t>(best - languages.begin());
}

float WhisperSearch::read_prompt(std::span<const int32_t> prompt, size_t start) {
  const ArenaScope scope(arena_);
  release(prompt_blocks_);
  prompt_tokens_ = static_cast<int64_t>(prompt.size());
  times_ = prompt.back() != rules_.tokens().no_times;
  if (!pool_.try_grow(prompt_blocks_, prompt_tokens_)) {
    throw Error(ErrorCode::kInternal, cat("the cache has no room for a prompt of ", prompt_tokens_, " tokens"));
  }
  batch_.clear();
  batch_.tokens.assign(prompt.begin(), prompt.end());
  batch_.sequences.push_back({prompt_tokens_, 0, prompt_blocks_, &heard_});
  std::vector<int64_t> wanted = {static_cast<int64_t>(start)};
  if (prompt_tokens_ - 1 > wanted.front()) wanted.push_back(prompt_tokens_ - 1);
  const Tensor logits = forward(wanted);
  const float* last = logits.data<float>() + (wanted.size() - 1) * vocabulary_;
  first_logits_.assign(last, last + vocabulary_);
  const Tensor logprobs = log_softmax(logits, -1);
  return std::exp(logprobs.data<float>()[rules_.tokens().no_speech]);
}

void WhisperSearch::score(std::span<Text> texts) {
  const ArenaScope scope(arena_);
  Tensor logits;
  if (texts.front().tokens.empty()) {
    logits = from_vector(first_logits_, {1, static_cast<int64_t>(vocabulary_)});
  } else {
    batch_.clear();
    std::vector<int64_t> rows;
    for (Text& text : texts) {
      const int64_t position = prompt_tokens_ + static_cast<int64_t>(text.tokens.size()) - 1;
      make_room(text.blocks, position);
      batch_.tokens.push_back(text.tokens.back());
      rows.push_back(static_cast<int64_t>(rows.size()));
    }
    for (const Text& text : texts) {
      const int64_t position = prompt_tokens_ + static_cast<int64_t>(text.tokens.size()) - 1;
      batch_.sequences.push_back({1, position, text.blocks, &heard_});
    }
    logits = forward(rows);
    computed_ += static_cast<int64_t>(texts.size());
  }
  const auto count = static_cast<size_t>(logits.dim(0));
  for (size_t i = 0; i < count; ++i) {
    rules_.apply({logits.mutable_data<float>() + i * vocabulary_, vocabulary_}, texts[i].tokens, times_);
  }
  const Tensor logprobs = log_softmax(logits, -1);
  for (size_t i = 0; i < texts.size(); ++i) {  // the first logits are the same for all
    std::memcpy(row(i).data(), logprobs.data<float>() + std::min(i, count - 1) * vocabulary_,
                vocabulary_ * sizeof(float));
    if (times_) rules_.prefer_times(row(i));
  }
}

void WhisperSearch::append(Text& text, int32_t token, float logprob) {
  text.tokens.push_back(token);
  text.logprobs.push_back(logprob);
  text.sum += logprob;
}

WhisperText WhisperSearch::take_best(std::vector<Text> texts) const {
  const int32_t end = rules_.tokens().end;
  const auto length = [&](const Text& text) {  // without the end
    return text.tokens.size() - (!text.tokens.empty() && text.tokens.back() == end ? 1 : 0);
  };
  const auto score = [&](const Text& text) { return text.sum / static_cast<float>(std::max<size_t>(length(text), 1)); };
  size_t best = 0;
  for (size_t i = 1; i < texts.size(); ++i) {
    if (score(texts[i]) > score(texts[best])) best = i;
  }
  Text& text = texts[best];
  WhisperText written{std::move(text.tokens), std::move(text.logprobs), text.sum};
  if (!written.tokens.empty() && written.tokens.back() == end) {
    written.tokens.pop_back();
    written.logprobs.pop_back();
  }
  return written;
}

// Each text goes its own way: the likeliest token, or one that is drawn.
WhisperText WhisperSearch::draw_texts(const WhisperSearchOptions& options) {
  const int64_t most =
      std::min(model_.config().target_positions / 2, model_.decoder().facts().max_context - prompt_tokens_);
  Text start;
  start.blocks = prompt_blocks_;
  std::vector<Text> writing, done;
  const auto count = options.temperature > 0 ? static_cast<uint64_t>(options.draws) : uint64_t{1};
  std::vector<uint64_t> streams;
  for (uint64_t i = 0; i < count; ++i) {
    writing.push_back(fork(start));
    streams.push_back(options.stream * count + i);
  }
  for (int64_t step = 0; step < most && !writing.empty(); ++step) {
    score(writing);
    for (size_t i = 0; i < writing.size(); ++i) {
      const std::span<const float> logprobs = std::as_const(*this).row(i);
      const size_t token = options.temperature > 0 ? draw(logprobs, options.temperature, options.seed,
                                                          static_cast<uint64_t>(step), streams[i])
                                                   : index_of_largest(logprobs);
      append(writing[i], static_cast<int32_t>(token), logprobs[token]);
    }
    for (size_t i = writing.size(); i-- > 0;) {
      if (writing[i].tokens.back() != rules_.tokens().end) continue;
      release(writing[i].blocks);
      done.push_back(std::move(writing[i]));
      writing.erase(writing.begin() + static_cast<ptrdiff_t>(i));
      streams.erase(streams.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  for (Text& text : writing) {
    release(text.blocks);
    done.push_back(std::move(text));
  }
  return take_best(std::move(done));
}

WhisperText WhisperSearch::follow_beams(int64_t count) {
  struct Step {
    size_t beam;
    int32_t token;
    float logprob, sum;
  };
  const int64_t most =
      std::min(model_.config().target_positions / 2, model_.decoder().facts().max_context - prompt_tokens_);
  const auto wanted = static_cast<size_t>(count);
  Text start;
  start.blocks = prompt_blocks_;
  std::vector<Text> beams, done;
  beams.push_back(fork(start));
  for (int64_t step = 0; step < most && done.size() < wanted; ++step) {
    score(beams);
    std::vector<Step> steps;
    for (size_t i = 0; i < beams.size(); ++i) {
      for (const size_t token : largest_of(std::as_const(*this).row(i), wanted + 1)) {
        const float logprob = row(i)[token];
        steps.push_back({i, static_cast<int32_t>(token), logprob, beams[i].sum + logprob});
      }
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.sum > b.sum; });
    std::vector<Text> next;
    for (const Step& chosen : steps) {
      if (next.size() == wanted || std::isinf(chosen.sum)) break;
      const bool ends = chosen.token == rules_.tokens().end;
      if (ends && done.size() == wanted) continue;
      Text text = ends ? beams[chosen.beam] : fork(beams[chosen.beam]);
      append(text, chosen.token, chosen.logprob);
      (ends ? done : next).push_back(std::move(text));
    }
    for (Text& beam : beams) release(beam.blocks);
    beams = std::move(next);
    if (beams.empty()) break;
  }
  for (Text& beam : beams) {  // the likeliest first
    if (done.size() < wanted) done.push_back(beam);
    release(beam.blocks);
  }
  return take_best(std::move(done));
}

WhisperText WhisperSearch::write(const WhisperSearchOptions& options) {
  const bool searches = options.temperature <= 0 && options.beams > 1;
  return searches ? follow_beams(options.beams) : draw_texts(options);
}

}  // namespace wick
