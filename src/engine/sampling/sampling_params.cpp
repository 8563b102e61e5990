#include "engine/sampling/sampling_params.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A NaN is within no range.
void check(bool is_good, const char* field, const char* range, const auto& value) {
  if (!is_good) throw Error(ErrorCode::kInvalidArgument, cat(field, " must be ", range, ", not ", value));
}

void check_share(const char* field, float value) { check(value >= 0 && value <= 1, field, "from 0 to 1", value); }
void check_window(const char* field, int64_t value) { check(value >= -1, field, "-1 (all) or more", value); }
void check_finite(const char* field, float value) { check(std::isfinite(value), field, "finite", value); }

void check_dry(const SamplingParams& params) {
  const float multiplier = params.dry_multiplier, base = params.dry_base;
  check(multiplier >= 0 && multiplier < kInfinity, "dry_multiplier", "finite and 0 or more", multiplier);
  check(base >= 1 && base < kInfinity, "dry_base", "finite and 1 or more", base);
  check(params.dry_allowed_length >= 1, "dry_allowed_length", "1 or more", params.dry_allowed_length);
  check_window("dry_window", params.dry_window);
  for (const std::string& breaker : params.dry_breakers) {
    if (breaker.empty()) throw Error(ErrorCode::kInvalidArgument, "dry_breakers must not hold an empty text");
  }
}

void check_bias(const SamplingParams& params, int64_t vocabulary) {
  for (const auto& [token, bias] : params.logit_bias) {
    if (token < 0 || token >= vocabulary) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("logit_bias: there is no token ", token, "; the vocabulary has ", vocabulary));
    }
    if (!(bias < kInfinity)) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("logit_bias of token ", token, " must be finite or -inf, not ", bias));
    }
  }
}

}  // namespace

void check_sampling_params(const SamplingParams& params, int64_t vocabulary) {
  check(vocabulary >= 1 && vocabulary <= std::numeric_limits<int32_t>::max(), "the vocabulary", "of 1 to 2^31-1 tokens",
        vocabulary);
  check_finite("temperature", params.temperature);
  check(params.top_k >= 0, "top_k", "0 (all) or more", params.top_k);
  check_share("top_p", params.top_p);
  check_share("min_p", params.min_p);
  check_share("typical_p", params.typical_p);
  const float repetition = params.repetition_penalty;
  check(repetition > 0 && repetition < kInfinity, "repetition_penalty", "finite and above 0", repetition);
  check_finite("frequency_penalty", params.frequency_penalty);
  check_finite("presence_penalty", params.presence_penalty);
  check_window("penalty_window", params.penalty_window);
  check_dry(params);
  check_share("xtc_probability", params.xtc_probability);
  check_share("xtc_threshold", params.xtc_threshold);
  const float tau = params.mirostat_tau, eta = params.mirostat_eta;
  check(tau >= 0 && tau < kInfinity, "mirostat_tau", "finite and 0 or more", tau);
  check(eta >= 0 && eta < kInfinity, "mirostat_eta", "finite and 0 or more", eta);
  check_bias(params, vocabulary);
  if (params.logprobs) check(*params.logprobs >= 0, "logprobs", "0 or more", *params.logprobs);
}

}  // namespace wick
