#include "engine/speech/whisper_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/philox.h"
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

std::vector<float> log_probabilities(std::vector<float> logits) {
  const auto count = static_cast<int64_t>(logits.size());
  return log_softmax(from_vector(logits, {1, count}), -1).to_vector<float>();
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

WhisperTask::WhisperTask(const Whisper& model, const WhisperRules& rules, RecurrentState& heard, WhisperPrompt prompt,
                         const WhisperSearchOptions& options, WhisperJudge judge)
    : rules_(rules),
      heard_(heard),
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

WhisperTask::Line& WhisperTask::line_of(const Sequence& sequence) {
  return *std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) { return line.sequence == &sequence; });
}

// Of the prompt, the rows from the start of transcript on: its own and the last.
RowsWanted WhisperTask::prepare(const Planned& planned) {
  const int64_t begin = planned.sequence->computed, end = begin + planned.tokens;
  if (planned.sequence == base_) {
    if (!first_logits_.empty()) return {};  // computed again after a pause
    return {0, std::max<int64_t>(end - std::max<int64_t>(begin, static_cast<int64_t>(prompt_.start)), 0)};
  }
  return {0, planned.reaches_end() && line_of(*planned.sequence).next.empty() ? 1 : 0};
}

int64_t WhisperTask::take(const Planned& planned, const PartLogits& rows, TaskHost&) {
  if (rows.count.chosen == 0) return 0;
  const std::span<const float> last = rows.chosen(rows.count.chosen - 1).logits;
  if (planned.sequence != base_) {
    Line& line = line_of(*planned.sequence);
    line.next = score(last, line.tokens);
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
std::vector<float> WhisperTask::score(std::span<const float> logits, std::span<const int32_t> written) const {
  std::vector<float> row(logits.begin(), logits.end());
  rules_.apply(row, written, times_);
  row = log_probabilities(std::move(row));
  if (times_) rules_.prefer_times(row);
  return row;
}

void WhisperTask::settle(TaskHost& host) {
  if (first_logits_.empty()) return;
  if (lines_.empty()) begin_attempt();
  while (!is_over_ && std::none_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.next.empty(); })) {
    steps_ < most_steps_ ? step(host) : end_attempt(host);
  }
}

void WhisperTask::begin_attempt() {
  const auto draws = options_.temperature > 0 ? static_cast<uint64_t>(options_.draws) : uint64_t{1};
  lines_.assign(searches() ? 1 : draws, {});
  done_.clear();
  steps_ = 0;
  const std::vector<float> first = score(first_logits_, {});
  for (size_t i = 0; i < lines_.size(); ++i) {
    lines_[i].next = first;
    lines_[i].stream = options_.stream * draws + i;
  }
}

// One more token for every line.
void WhisperTask::step(TaskHost& host) {
  searches() ? step_beams(host) : step_draws(host);
  ++steps_;
  const bool has_enough = searches() && std::ssize(done_) >= options_.beams;
  if (lines_.empty() || has_enough || steps_ == most_steps_) return end_attempt(host);
  for (Line& line : lines_) {
    line.next.clear();
    line.sequence->tokens.push_back(line.tokens.back());
    host.yielded(*line.sequence);
  }
}

void WhisperTask::append(Line& line, int32_t token) {
  const float logprob = line.next[static_cast<size_t>(token)];
  line.tokens.push_back(token);
  line.logprobs.push_back(logprob);
  line.sum += logprob;
}

Sequence& WhisperTask::fork(const Sequence& from, TaskHost& host) {
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens = from.tokens;
  return host.fork(from, std::move(sequence));
}

// Each goes its own way: the likeliest token, or one that is drawn.
void WhisperTask::step_draws(TaskHost& host) {
  for (Line& line : lines_) {
    const size_t token = options_.temperature > 0 ? draw(line.next, options_.temperature, options_.seed,
                                                         static_cast<uint64_t>(steps_), line.stream)
                                                  : index_of_largest(line.next);
    append(line, static_cast<int32_t>(token));
  }
  for (size_t i = lines_.size(); i-- > 0;) {
    Line& line = lines_[i];
    if (line.tokens.back() != rules_.tokens().end) {
      if (!line.sequence) line.sequence = &fork(*base_, host);
      continue;
    }
    if (line.sequence) host.drop(*std::exchange(line.sequence, nullptr));
    done_.push_back(std::move(line));
    lines_.erase(lines_.begin() + static_cast<ptrdiff_t>(i));
  }
}

// The likeliest continuations of all lines together go on: one may part in several, another end.
void WhisperTask::step_beams(TaskHost& host) {
  struct Candidate {
    size_t line;
    int32_t token;
    float sum;
  };
  const auto wanted = static_cast<size_t>(options_.beams);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < lines_.size(); ++i) {
    for (const size_t token : largest_of(lines_[i].next, wanted + 1)) {
      candidates.push_back({i, static_cast<int32_t>(token), lines_[i].sum + lines_[i].next[token]});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.sum > b.sum; });
  std::vector<Line> before = std::move(lines_);
  lines_.clear();
  std::vector<bool> goes_on(before.size());
  for (const Candidate& candidate : candidates) {
    if (lines_.size() == wanted || std::isinf(candidate.sum)) break;
    const bool ends = candidate.token == rules_.tokens().end;
    if (ends && done_.size() == wanted) continue;
    Line line = before[candidate.line];
    append(line, candidate.token);
    if (ends) {
      line.sequence = nullptr;
      done_.push_back(std::move(line));
      continue;
    }
    if (!line.sequence || goes_on[candidate.line]) line.sequence = &fork(line.sequence ? *line.sequence : *base_, host);
    goes_on[candidate.line] = true;
    lines_.push_back(std::move(line));
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].sequence && !goes_on[i]) host.drop(*before[i].sequence);
  }
}

void WhisperTask::end_attempt(TaskHost& host) {
  for (Line& line : lines_) {
    if (line.sequence) host.drop(*std::exchange(line.sequence, nullptr));
    if (!searches() || std::ssize(done_) < options_.beams) done_.push_back(std::move(line));
  }
  lines_.clear();
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
  const auto length = [&](const Line& line) {  // without the end
    return line.tokens.size() - (!line.tokens.empty() && line.tokens.back() == end ? 1 : 0);
  };
  const auto score = [&](const Line& line) { return line.sum / static_cast<float>(std::max<size_t>(length(line), 1)); };
  size_t best = 0;
  for (size_t i = 1; i < done_.size(); ++i) {
    if (score(done_[i]) > score(done_[best])) best = i;
  }
  Line& line = done_[best];
  WhisperText written{std::move(line.tokens), std::move(line.logprobs), line.sum};
  if (!written.tokens.empty() && written.tokens.back() == end) {
    written.tokens.pop_back();
    written.logprobs.pop_back();
  }
  return written;
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
