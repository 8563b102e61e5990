#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/philox.h"
#include "base/text.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/mask.h"
#include "engine/sampling/mirostat.h"
#include "engine/sampling/truncation.h"
#include "engine/sampling/weights.h"

namespace wick {
namespace {

using sampling::kForbidden;

struct WorkingMemory {
  std::vector<float> adjusted, peaks;
  sampling::WeightMemory weights;
  sampling::Candidates candidates;
  sampling::Truncation truncation;
  sampling::Mirostat mirostat;
  sampling::DryMemory dry;
  LogitEdits edits;
};

WorkingMemory& memory() {
  thread_local WorkingMemory memory;
  return memory;
}

// Of [0, 1), from 53 bits.
double uniform(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

void check_logits(std::span<const float> logits, int64_t vocabulary) {
  if (static_cast<int64_t>(logits.size()) != vocabulary) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("sampler: ", logits.size(), " logits for a vocabulary of ", vocabulary));
  }
  const size_t bad = sampling::find_unusable(logits);
  if (bad < logits.size()) {
    throw Error(ErrorCode::kInvalidArgument, cat("sampler: the logit of token ", bad, " is ",
                                                 std::isnan(logits[bad]) ? "not a number (NaN)" : "+inf"));
  }
}

// Several for one token add up.
std::vector<LogitEdit> merged(const std::vector<std::pair<int32_t, float>>& bias) {
  std::map<int32_t, float> sums;
  for (const auto& [token, value] : bias) sums[token] += value;
  std::vector<LogitEdit> edits;
  for (const auto& [token, sum] : sums) edits.push_back({0, token, sum});
  return edits;
}

}  // namespace

Sampler::Sampler(SamplingParams params, int64_t vocabulary, TokenText text)
    : params_((check_sampling_params(params, vocabulary), std::move(params))),
      vocabulary_(vocabulary),
      bias_(merged(params_.logit_bias)),
      penalties_(params_, vocabulary),
      dry_(params_, vocabulary, text) {
  if (dry_.is_needed() && !params_.dry_breakers.empty() && !text) {
    throw Error(ErrorCode::kInvalidArgument, "sampler: dry_breakers need the text of tokens");
  }
  start({});
}

void Sampler::start(std::span<const int32_t> prompt) {
  history_.assign(prompt.begin(), prompt.end());
  prompt_size_ = prompt.size();
  penalties_.start(history_);
  dry_.start(history_);
  if (params_.mirostat) mu_.assign(1, sampling::first_mu(params_.mirostat_tau));
  last_sampled_ = -1;
}

void Sampler::accept(int32_t token) {
  if (token < 0 || token >= vocabulary_) {
    throw Error(ErrorCode::kInvalidArgument, cat("sampler: there is no token ", token));
  }
  history_.push_back(token);
  penalties_.push(history_);
  dry_.push(history_);
  if (params_.mirostat) {
    const float mu = mu_.back();
    mu_.push_back(token != last_sampled_
                      ? mu
                      : sampling::next_mu(mu, params_.mirostat_tau, params_.mirostat_eta, last_surprise_));
  }
  last_sampled_ = -1;
}

void Sampler::rollback(int64_t count) {
  if (count < 0 || count > accepted()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("sampler: ", count, " tokens cannot be taken back of ", accepted(), " accepted"));
  }
  for (; count > 0; --count) {
    penalties_.pop(history_);
    dry_.pop();
    if (params_.mirostat) mu_.pop_back();
    history_.pop_back();
  }
  last_sampled_ = -1;
}

std::optional<TokenDraw> Sampler::plain_draw(int64_t ahead) const {
  if (params_.logprobs || (has_edits() && ahead > 0)) return std::nullopt;
  if (params_.temperature <= 0) return TokenDraw{};
  if (params_.mirostat || params_.typical_p < 1 || params_.xtc_probability > 0) return std::nullopt;
  TokenDraw draw{draws(ahead).first, params_.temperature, params_.top_p};
  if (params_.min_p > 0) draw.log_min_p = std::log(params_.min_p);
  if (params_.top_k < vocabulary_) draw.top_k = static_cast<int32_t>(params_.top_k);
  return draw;
}

void Sampler::add_edits(int32_t row, LogitEdits& to) const {
  for (LogitEdit edit : bias_) {
    edit.row = row;
    to[0].push_back(edit);
  }
  penalties_.add_edits(row, to[1]);
  dry_.add_edits(history_, row, memory().dry, to[2]);
}

SampledToken Sampler::sample(std::span<const float> logits, std::span<const uint32_t> allowed) {
  check_logits(logits, vocabulary_);
  SampledToken sampled;
  sampled.token = draw(adjust(logits, allowed));
  if (params_.logprobs) report_logprobs(logits, *params_.logprobs, sampled);
  return sampled;
}

std::span<const float> Sampler::adjust(std::span<const float> logits, std::span<const uint32_t> allowed) const {
  if (!has_edits() && allowed.empty()) return logits;
  const std::span<float> adjusted = sampling::at_least(memory().adjusted, logits.size());
  std::copy(logits.begin(), logits.end(), adjusted.begin());
  LogitEdits& edits = memory().edits;
  for (auto& round : edits) round.clear();
  add_edits(0, edits);
  for (const auto& round : edits) {
    for (const LogitEdit& edit : round) {
      float& logit = adjusted[static_cast<size_t>(edit.token)];
      logit = edited(logit, edit);
    }
  }
  if (!allowed.empty()) sampling::forbid_others(allowed, adjusted);
  return adjusted;
}

// Of the token behind the next `ahead`: for its draw and for XTC.
std::pair<double, double> Sampler::draws(int64_t ahead) const {
  const auto random = philox_block(params_.seed, static_cast<uint64_t>(accepted() + ahead));
  return {uniform(random[0], random[1]), uniform(random[2], random[3])};
}

int32_t Sampler::draw(std::span<const float> adjusted) {
  WorkingMemory& work = memory();
  const sampling::PeakedLogits logits = sampling::find_peaks(adjusted, work.peaks);
  if (logits.most == kForbidden) throw Error(ErrorCode::kInvalidArgument, "sampler: no token is allowed");
  if (logits.most > std::numeric_limits<float>::max()) {
    throw Error(ErrorCode::kInvalidArgument, "sampler: bias and penalties make a logit too large");
  }
  if (params_.temperature <= 0) return logits.first_peak();

  const auto [draw_uniform, xtc_uniform] = draws();
  if (params_.mirostat) {
    const auto found = work.mirostat.draw(logits, params_.temperature, mu_.back(), draw_uniform, work.candidates);
    last_surprise_ = found.surprise;
    return last_sampled_ = found.token;
  }
  if (!sampling::Truncation::is_needed(params_)) {
    const auto weights = sampling::make_weights(adjusted, logits.most, params_.temperature, work.weights);
    return static_cast<int32_t>(weights.draw(draw_uniform));
  }
  work.truncation.apply(params_, logits, xtc_uniform, work.candidates);
  const auto weights =
      sampling::make_weights(work.candidates.logits(), work.candidates.most(), params_.temperature, work.weights);
  return work.candidates.tokens()[weights.draw(draw_uniform)];
}

void report_logprobs(std::span<const float> logits, int64_t top, SampledToken& sampled) {
  WorkingMemory& work = memory();
  const sampling::PeakedLogits peaked = sampling::find_peaks(logits, work.peaks);
  const double log_total = std::log(sampling::make_weights(logits, peaked.most, 1, work.weights).total);
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - static_cast<double>(peaked.most) - log_total);
  };
  sampled.logprob = logprob(logits[static_cast<size_t>(sampled.token)]);
  const auto count = std::min(static_cast<size_t>(top), logits.size());
  if (count == 0) return;
  work.candidates.collect_top(peaked, count);
  sampled.top.reserve(work.candidates.size());
  for (size_t i = 0; i < work.candidates.size(); ++i) {
    sampled.top.emplace_back(work.candidates.tokens()[i], work.candidates.logits()[i]);
  }
  std::sort(sampled.top.begin(), sampled.top.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (auto& [token, value] : sampled.top) value = logprob(value);
}

}  // namespace wick
