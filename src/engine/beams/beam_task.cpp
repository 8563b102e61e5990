#include "engine/beams/beam_task.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "engine/text/text_stream.h"

namespace wick {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

Error bad_beams(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

void check_search(const TextTools& tools, const EngineRequest& request) {
  TextSource::check(tools.model, request, tools.context);
  const GenerationParams& params = request.params;
  const BeamParams& beams = params.beams;
  if (beams.count < 2 || beams.count > kMostBeams) {
    throw bad_beams(cat(beams.count, " beams are asked for, expected 1 to ", kMostBeams));
  }
  if (request.choices < 1 || request.choices > beams.count) {
    throw bad_beams(cat(request.choices, " choices are asked for; ", beams.count, " beams give 1 to ", beams.count));
  }
  if (!std::isfinite(beams.length_penalty)) throw bad_beams("length_penalty is not a finite number");
  if (beams.no_repeat_ngram < 0) throw bad_beams(cat("no_repeat_ngram_size = ", beams.no_repeat_ngram));
  if (params.grammar) throw bad_beams("a grammar is asked for, which beam search does not follow");
  if (!request.embeddings.empty()) throw bad_beams("a beam search takes no embeddings");
  if (!request.hooks.empty()) throw bad_beams("hooks are asked for, which a beam search has none of");
  if (request.prompt_logprobs) throw bad_beams("a beam search gives no log-probabilities of its prompt");
  if (params.sampling.logprobs.value_or(0) > 0) throw bad_beams("a beam search gives no log-probabilities of others");
  SamplingParams drawn = params.sampling;  // what of it may be anything
  drawn.seed = 0;
  drawn.logprobs.reset();
  drawn.temperature = 1;
  if (params.sampling.temperature > 0) {
    throw bad_beams(
        cat("a beam search draws nothing: the temperature is ", params.sampling.temperature, ", expected 0"));
  }
  drawn.top_k = 0;
  drawn.top_p = drawn.typical_p = 1;  // without effect on the likeliest
  drawn.min_p = 0;
  drawn.xtc_probability = 0;
  drawn.dry_breakers = SamplingParams().dry_breakers;
  if (!(drawn == SamplingParams())) {
    throw bad_beams("a beam search takes no penalties but no_repeat_ngram_size and length_penalty, and no logit_bias");
  }
}

// What would complete a run of `size` tokens that was there before.
void forbid_repeats(std::span<float> next, std::span<const int32_t> prompt, std::span<const int32_t> generated,
                    int64_t size) {
  std::vector<int32_t> all(prompt.begin(), prompt.end());
  all.insert(all.end(), generated.begin(), generated.end());
  const int64_t last = size - 1;  // tokens that must be the same
  for (int64_t begin = 0; begin + last < std::ssize(all); ++begin) {
    if (std::equal(all.begin() + begin, all.begin() + begin + last, all.end() - last)) {
      next[static_cast<size_t>(all[static_cast<size_t>(begin + last)])] = kNever;
    }
  }
}

}  // namespace

BeamTask::BeamTask(const TextTools& tools, EngineRequest wanted, RequestListener listener)
    : tools_(tools),
      wanted_((check_search(tools, wanted), std::move(wanted))),
      source_(tools.model, wanted_, tools.state_dtype),
      first_listener_(std::move(listener)),
      listeners_(false),
      most_tokens_(tools.context - std::ssize(wanted_.prompt) + 1),
      forced_(source_.is_there() ? std::ssize(wanted_.prompt) - 1 : 0) {
  if (wanted_.params.max_new_tokens >= 0) most_tokens_ = std::min(most_tokens_, wanted_.params.max_new_tokens);
}

void BeamTask::begin(TaskHost& host) {
  listeners_.add(id, std::move(first_listener_));
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens = wanted_.prompt;
  sequence->prompt_tokens = std::ssize(source_.is_there() ? source_.tokens() : wanted_.prompt);
  base_ = &host.add(std::move(sequence));
}

RowsWanted BeamTask::prepare(const Planned& planned) {
  if (!started_) started_ = EngineClock::now();
  const auto beam =
      std::find_if(beams_.begin(), beams_.end(), [&](const Beam& each) { return each.sequence == planned.sequence; });
  const bool is_known = planned.sequence == base_ ? !beams_.empty() : beam == beams_.end() || !beam->next.empty();
  return {0, planned.reaches_end() && !is_known ? 1 : 0};  // others are computed again after a pause
}

int64_t BeamTask::take(const Planned& planned, const PartLogits& rows, TaskHost&) {
  if (planned.sequence == base_ && beams_.empty()) {
    const auto total = std::ssize(wanted_.prompt), done = base_->computed + planned.tokens;
    if (done > prompt_done_) listeners_.add_progress(prompt_done_ = done, total, nullptr);
  }
  if (rows.count.chosen == 0) return 0;
  const std::span<const float> logits = rows.chosen(0).logits;
  if (planned.sequence == base_) {
    beams_.resize(1);
    beams_.front().next = score(logits, {});
    first_token_ = EngineClock::now();
    return 0;
  }
  for (Beam& beam : beams_) {
    if (beam.sequence == planned.sequence) beam.next = score(logits, beam.tokens);
  }
  return 0;
}

std::vector<float> BeamTask::score(std::span<const float> logits, std::span<const int32_t> generated) const {
  for (const float logit : logits) {
    if (!std::isnan(logit)) continue;
    const std::string weight = tools_.model.describe_bad_weight();
    throw Error(ErrorCode::kBadFile, cat(tools_.model.name(), " computes NaN", weight.empty() ? "" : ": ", weight));
  }
  std::vector<float> next = log_probabilities({logits.begin(), logits.end()});
  if (params().no_repeat_ngram > 0) {
    // What an encoder has read is not repeated, and may be.
    const std::span<const int32_t> prompt = wanted_.prompt;
    forbid_repeats(next, prompt, generated, params().no_repeat_ngram);
  }
  if (wanted_.params.ignore_end) {
    for (const int32_t token : tools_.model.end_tokens()) next[static_cast<size_t>(token)] = kNever;
  }
  return next;
}

void BeamTask::settle(TaskHost& host) {
  if (beams_.empty()) return;
  while (!is_over_ && are_all_computed(beams_)) step(host);
  if (is_over_) {
    drop(beams_, host);
    host.drop(*base_);
  }
}

double BeamTask::final_score(float sum, int64_t tokens) const {
  return static_cast<double>(sum) /
         std::pow(static_cast<double>(std::max<int64_t>(tokens + forced_, 1)), params().length_penalty);
}

// The likeliest continuations of all beams together go on; those that end compete with what has ended before.
void BeamTask::step(TaskHost& host) {
  if (steps() == most_tokens_) return conclude(StopReason::kLength);
  const auto wanted = static_cast<size_t>(params().count);
  const size_t looked_at = (1 + std::max<size_t>(tools_.model.end_tokens().size(), 1)) * wanted;
  std::vector<BeamCandidate> chosen, candidates = beam_candidates(beams_, looked_at);
  candidates.resize(std::min(candidates.size(), looked_at));
  for (size_t rank = 0; rank < candidates.size() && chosen.size() < wanted; ++rank) {
    const BeamCandidate& candidate = candidates[rank];
    if (std::isinf(candidate.sum)) break;
    if (!tools_.model.is_end(candidate.token)) {
      chosen.push_back(candidate);
    } else if (rank < wanted) {
      finish(ended(beams_[candidate.beam], candidate), StopReason::kEndOfText);
    }
  }
  beams_ = follow(std::move(beams_), chosen, *base_, host);
  if (beams_.empty() || is_settled()) return conclude(StopReason::kEndOfText);
  if (steps() == most_tokens_) return conclude(StopReason::kLength);
  feed(beams_, host);
}

void BeamTask::finish(Beam beam, StopReason reason) {
  const double score = final_score(beam.sum, std::ssize(beam.tokens));
  const auto behind =
      std::find_if(finished_.begin(), finished_.end(), [&](const Finished& other) { return score > other.score; });
  finished_.insert(behind, {std::move(beam), score, reason});
  if (std::ssize(finished_) > params().count) finished_.pop_back();
}

// Whether nothing that goes on can become better than what there is.
bool BeamTask::is_settled() const {
  if (std::ssize(finished_) < params().count) return false;
  if (params().early_stopping == EarlyStopping::kYes) return true;
  const bool may_gain = params().early_stopping == EarlyStopping::kNever && params().length_penalty > 0;
  const double best = final_score(beams_.front().sum, may_gain ? most_tokens_ : steps());
  return finished_.back().score >= best;
}

// Those that go on count as they are.
void BeamTask::conclude(StopReason reason) {
  is_over_ = true;
  if (reason != StopReason::kEndOfText) {
    const bool is_full = reason == StopReason::kLength &&
                         (wanted_.params.max_new_tokens < 0 || wanted_.params.max_new_tokens > most_tokens_);
    for (const Beam& beam : beams_) finish(beam, is_full ? StopReason::kContextFull : reason);
  }
  for (int64_t choice = 0; choice < wanted_.choices; ++choice) {
    if (choice < std::ssize(finished_)) {
      emit(choice, finished_[static_cast<size_t>(choice)]);
    } else {
      emit(choice, {Beam(), 0, reason});
    }
  }
}

void BeamTask::emit(int64_t choice, const Finished& finished) {
  const Beam& beam = finished.beam;
  TextStream stream(tools_.model.tokenizer(), wanted_.params.stop, wanted_.params.show_special);
  GenerateResult result;
  result.reason = finished.reason;
  result.prompt_tokens = std::ssize(source_.is_there() ? source_.tokens() : wanted_.prompt);
  for (size_t i = 0; i < beam.tokens.size() && !stream.stopped(); ++i) {
    if (finished.reason == StopReason::kEndOfText && i + 1 == beam.tokens.size()) break;
    Generation::Step step;
    step.sampled.token = beam.tokens[i];
    step.sampled.logprob = beam.logprobs[i];
    step.text = stream.push(beam.tokens[i]);
    step.is_shown = true;
    result.tokens.push_back(beam.tokens[i]);
    result.text += step.text;
    listeners_.add_token(choice, std::move(step));
  }
  std::string rest = stream.finish();
  result.text += rest;
  result.stop = stream.found();
  if (stream.stopped()) result.reason = StopReason::kStopString;
  const auto now = EngineClock::now();
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  if (started_) result.prefill_seconds = seconds(*started_, first_token_.value_or(now));
  if (first_token_) result.decode_seconds = seconds(*first_token_, now);
  listeners_.add_end(choice, std::move(rest), std::move(result));
}

void BeamTask::end(StopReason reason) {
  if (!is_over_) conclude(reason);
}

void BeamTask::fail(const Error& error) {
  is_over_ = true;
  if (first_listener_) listeners_.add(id, std::move(first_listener_));  // it has not begun
  listeners_.add_error(error);
}

}  // namespace wick
