#include "speech/whisper/whisper_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/philox.h"

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

double seconds_between(EngineClock::time_point from, EngineClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::unique_ptr<Sequence> prompt_sequence(std::span<const int32_t> tokens) {
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens.assign(tokens.begin(), tokens.end());
  sequence->prompt_tokens = std::ssize(tokens);
  return sequence;
}

Error has_ended() { return {ErrorCode::kInternal, "the engine ended before the text did"}; }

}  // namespace

WhisperTask::WhisperTask(const Whisper& model, const WhisperRules& rules, RecurrentState& encoded, WhisperPrompt prompt,
                         const WhisperSearchOptions& options, WhisperJudge judge)
    : rules_(rules),
      encoded_(encoded),
      prompt_(std::move(prompt)),
      options_(options),
      judge_(std::move(judge)),
      times_(prompt_.tokens.back() != rules.tokens().no_times) {
  const int64_t room = model.decoder().facts().max_context - std::ssize(prompt_.tokens);
  most_steps_ = std::min(model.config().target_positions / 2, room);
}

void WhisperTask::check() const {
  if (error_) throw *error_;
}

void WhisperTask::begin(TaskHost& host) {
  started_ = EngineClock::now();
  base_ = &host.add(prompt_sequence(prompt_.tokens));
}

void WhisperTask::end(StopReason) {
  error_ = has_ended();
  is_over_ = true;
}

void WhisperTask::fail(const Error& error) {
  error_ = error;
  is_over_ = true;
}

Beam& WhisperTask::hypothesis_of(const Sequence& sequence) {
  return *std::find_if(hypotheses_.begin(), hypotheses_.end(),
                       [&](const Beam& hypothesis) { return hypothesis.sequence == &sequence; });
}

// Of the prompt, the rows from the start of transcript on: its own and the last.
RowsWanted WhisperTask::prepare(const Planned& planned) {
  const int64_t begin = planned.sequence->computed, end = begin + planned.tokens;
  if (planned.sequence == base_) {
    if (!first_logits_.empty()) return {};  // computed again after a pause
    return {0, std::max<int64_t>(end - std::max<int64_t>(begin, static_cast<int64_t>(prompt_.start)), 0)};
  }
  return {0, planned.reaches_end() && hypothesis_of(*planned.sequence).next.empty() ? 1 : 0};
}

int64_t WhisperTask::take(const Planned& planned, const PartLogits& rows, TaskHost&) {
  if (rows.count.chosen == 0) return 0;
  const std::span<const float> last = rows.chosen(rows.count.chosen - 1).logits;
  if (planned.sequence != base_) {
    Beam& hypothesis = hypothesis_of(*planned.sequence);
    hypothesis.next = score(last, hypothesis.tokens);
    return 0;
  }
  if (planned.sequence->computed <= static_cast<int64_t>(prompt_.start)) {
    const std::span<const float> first = rows.chosen(0).logits;
    const std::vector<float> logprobs = log_probabilities({first.begin(), first.end()});
    no_speech_ = std::exp(logprobs[static_cast<size_t>(rules_.tokens().no_speech)]);
  }
  if (planned.reaches_end()) {
    first_logits_.assign(last.begin(), last.end());
    prompt_seconds_ = seconds_between(*started_, EngineClock::now());
  }
  return 0;
}

// Log-probabilities of what comes next under the rules.
std::vector<float> WhisperTask::score(std::span<const float> logits, std::span<const int32_t> generated) const {
  std::vector<float> row(logits.begin(), logits.end());
  rules_.apply(row, generated, times_);
  row = log_probabilities(std::move(row));
  if (times_) rules_.prefer_times(row);
  return row;
}

void WhisperTask::settle(TaskHost& host) {
  if (first_logits_.empty()) return;
  if (hypotheses_.empty()) begin_attempt();
  while (!is_over_ && are_all_computed(hypotheses_)) {
    steps_ < most_steps_ ? step(host) : end_attempt(host);
  }
}

void WhisperTask::begin_attempt() {
  const auto draws = options_.temperature > 0 ? static_cast<uint64_t>(options_.draws) : uint64_t{1};
  hypotheses_.assign(searches() ? 1 : draws, {});
  done_.clear();
  steps_ = 0;
  const std::vector<float> first = score(first_logits_, {});
  for (size_t i = 0; i < hypotheses_.size(); ++i) {
    hypotheses_[i].next = first;
    hypotheses_[i].stream = options_.stream * draws + i;
  }
}

// One more token for every hypothesis.
void WhisperTask::step(TaskHost& host) {
  searches() ? step_beams(host) : step_draws(host);
  ++steps_;
  const bool has_enough = searches() && std::ssize(done_) >= options_.beams;
  if (hypotheses_.empty() || has_enough || steps_ == most_steps_) return end_attempt(host);
  feed(hypotheses_, host);
}

// Each goes its own way: the likeliest token, or one that is drawn.
void WhisperTask::step_draws(TaskHost& host) {
  for (Beam& hypothesis : hypotheses_) {
    const size_t token = options_.temperature > 0 ? draw(hypothesis.next, options_.temperature, options_.seed,
                                                         static_cast<uint64_t>(steps_), hypothesis.stream)
                                                  : index_of_largest(hypothesis.next);
    hypothesis.append(static_cast<int32_t>(token));
  }
  for (size_t i = hypotheses_.size(); i-- > 0;) {
    Beam& hypothesis = hypotheses_[i];
    if (hypothesis.tokens.back() != rules_.tokens().end) {
      if (!hypothesis.sequence) hypothesis.sequence = &fork_of(*base_, host);
      continue;
    }
    if (hypothesis.sequence) host.drop(*std::exchange(hypothesis.sequence, nullptr));
    done_.push_back(std::move(hypothesis));
    hypotheses_.erase(hypotheses_.begin() + static_cast<ptrdiff_t>(i));
  }
}

// The likeliest continuations of all lines together go on: one may part in several, another end.
void WhisperTask::step_beams(TaskHost& host) {
  const auto wanted = static_cast<size_t>(options_.beams);
  std::vector<BeamCandidate> chosen;
  for (const BeamCandidate& candidate : beam_candidates(hypotheses_, wanted + 1)) {
    if (chosen.size() == wanted || std::isinf(candidate.sum)) break;
    if (candidate.token != rules_.tokens().end) {
      chosen.push_back(candidate);
    } else if (done_.size() < wanted) {
      done_.push_back(ended(hypotheses_[candidate.beam], candidate));
    }
  }
  hypotheses_ = follow(std::move(hypotheses_), chosen, *base_, host);
}

void WhisperTask::end_attempt(TaskHost& host) {
  drop(hypotheses_, host);
  for (Beam& hypothesis : hypotheses_) {
    if (!searches() || std::ssize(done_) < options_.beams) done_.push_back(std::move(hypothesis));
  }
  hypotheses_.clear();
  const std::optional<WhisperSearchOptions> again = judge_(take_best(), no_speech_);
  if (again) {
    options_ = *again;
    return begin_attempt();
  }
  is_over_ = true;
  decode_seconds_ = seconds_between(*started_, EngineClock::now()) - prompt_seconds_;
}

WhisperText WhisperTask::take_best() {
  const int32_t end = rules_.tokens().end;
  const auto length = [&](const Beam& hypothesis) {  // without the end
    return hypothesis.tokens.size() - (!hypothesis.tokens.empty() && hypothesis.tokens.back() == end ? 1 : 0);
  };
  const auto score = [&](const Beam& hypothesis) {
    return hypothesis.sum / static_cast<float>(std::max<size_t>(length(hypothesis), 1));
  };
  size_t best = 0;
  for (size_t i = 1; i < done_.size(); ++i) {
    if (score(done_[i]) > score(done_[best])) best = i;
  }
  Beam& hypothesis = done_[best];
  WhisperText generated{std::move(hypothesis.tokens), std::move(hypothesis.logprobs), hypothesis.sum};
  if (!generated.tokens.empty() && generated.tokens.back() == end) {
    generated.tokens.pop_back();
    generated.logprobs.pop_back();
  }
  return generated;
}

size_t WhisperLanguageTask::found() const {
  if (error_) throw *error_;
  return found_;
}

void WhisperLanguageTask::begin(TaskHost& host) { host.add(prompt_sequence({&rules_.tokens().start, 1})); }

void WhisperLanguageTask::end(StopReason) { fail(has_ended()); }

void WhisperLanguageTask::fail(const Error& error) {
  error_ = error;
  is_over_ = true;
}

int64_t WhisperLanguageTask::take(const Planned&, const PartLogits& rows, TaskHost&) {
  const std::span<const float> logits = rows.chosen(0).logits;
  const auto& languages = rules_.tokens().languages;
  const auto value = [&](const auto& spoken) { return logits[static_cast<size_t>(spoken.token)]; };
  const auto best = std::max_element(languages.begin(), languages.end(),
                                     [&](const auto& a, const auto& b) { return value(a) < value(b); });
  found_ = static_cast<size_t>(best - languages.begin());
  is_over_ = true;
  return 0;
}

}  // namespace wick
