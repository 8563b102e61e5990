#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "base/philox.h"
#include "engine/sampling/sampler.h"

namespace wick {

// The sampler once more, as plainly as possible: f64, full sorts, nothing kept between calls.

constexpr float kInf = std::numeric_limits<float>::infinity();

inline double uniform_number(uint64_t seed, uint64_t index, int which = 0) {
  const auto block = philox_block(seed, index);
  const uint64_t bits =
      uint64_t{block[static_cast<size_t>(which) * 2]} << 32 | block[static_cast<size_t>(which) * 2 + 1];
  return static_cast<double>(bits >> 11) / 9007199254740992.0;
}

// Nearly normal, times `spread`.
inline std::vector<float> random_logits(int64_t count, uint64_t seed, double spread = 4) {
  std::vector<float> logits(static_cast<size_t>(count));
  for (size_t i = 0; i < logits.size(); ++i) {
    double sum = 0;
    for (const uint32_t word : philox_block(seed, i, 77)) sum += static_cast<double>(word) / 4294967296.0 - 0.5;
    logits[i] = static_cast<float>(sum * spread);
  }
  return logits;
}

struct Entry {
  int32_t token = 0;
  double logit = 0;
  double p = 0;
};
using Entries = std::vector<Entry>;

inline void normalise(Entries& entries, double temperature = 1) {
  double most = -std::numeric_limits<double>::infinity(), total = 0;
  for (const Entry& entry : entries) most = std::max(most, entry.logit);
  for (Entry& entry : entries) total += entry.p = std::exp((entry.logit - most) / temperature);
  for (Entry& entry : entries) entry.p /= total;
}

inline void sort_by_logit(Entries& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.logit > b.logit; });
}
inline void sort_by_token(Entries& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.token < b.token; });
}

// The first entries that add up to p; `is_close` when rounding may decide.
inline void cut_at(Entries& entries, double p, bool& is_close) {
  double sum = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    sum += entries[i].p;
    if (std::abs(sum - p) < 2e-7) is_close = true;
    if (sum < p) continue;
    entries.resize(i + 1);
    return;
  }
}

struct Distribution {
  Entries entries;  // in the order of tokens
  bool is_close = false;

  double probability(int32_t token) const {
    for (const Entry& entry : entries)
      if (entry.token == token) return entry.p;
    return 0;
  }
  // The token that `uniform` falls on; empty when it is too close to a border to tell.
  std::optional<int32_t> pick(double uniform) const {
    double sum = 0;
    for (const Entry& entry : entries) {
      if (std::abs(sum - uniform) < 2e-6 && sum > 0) return {};
      sum += entry.p;
      if (std::abs(sum - uniform) < 2e-6 && &entry != &entries.back()) return {};
      if (uniform < sum) return entry.token;
    }
    return entries.back().token;
  }
};

inline Entries allowed_entries(const std::vector<float>& logits) {
  Entries entries;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -kInf) entries.push_back({static_cast<int32_t>(i), static_cast<double>(logits[i]), 0});
  }
  return entries;
}

// What top-k to temperature leave of the logits.
inline Distribution reference_distribution(const SamplingParams& params, const std::vector<float>& logits,
                                           bool is_xtc_on = false) {
  Distribution result;
  Entries& entries = result.entries;
  entries = allowed_entries(logits);
  sort_by_logit(entries);
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < entries.size()) {
    entries.resize(static_cast<size_t>(params.top_k));
  }
  normalise(entries);
  if (params.typical_p < 1) {
    double entropy = 0;
    for (const Entry& entry : entries) entropy -= entry.p > 0 ? entry.p * std::log(entry.p) : 0;
    sort_by_token(entries);
    std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      return std::abs(-std::log(a.p) - entropy) < std::abs(-std::log(b.p) - entropy);
    });
    cut_at(entries, static_cast<double>(params.typical_p), result.is_close);
    sort_by_token(entries);
    sort_by_logit(entries);
    normalise(entries);
  }
  if (params.top_p < 1) {
    cut_at(entries, static_cast<double>(params.top_p), result.is_close);
    normalise(entries);
  }
  if (params.min_p > 0) {
    const double least = entries[0].p * static_cast<double>(params.min_p);
    std::erase_if(entries, [&](const Entry& entry) {
      if (entry.p < entries[0].p && std::abs(entry.p / least - 1) < 1e-6) result.is_close = true;
      return entry.p < least;
    });
    normalise(entries);
  }
  if (is_xtc_on) {
    size_t above = 0;
    for (const Entry& entry : entries) {
      const auto threshold = static_cast<double>(params.xtc_threshold);
      if (std::abs(entry.p / threshold - 1) < 1e-6) result.is_close = true;
      if (entry.p >= threshold) ++above;
    }
    if (above >= 2) entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(above - 1));
  }
  normalise(entries, static_cast<double>(params.temperature));
  sort_by_token(entries);
  return result;
}

// Bias, then the penalties over a history whose first `prompt_size` tokens are the prompt.
inline std::vector<float> reference_penalties(const SamplingParams& params, std::vector<float> logits,
                                              const std::vector<int32_t>& history, size_t prompt_size) {
  for (const auto& [token, bias] : params.logit_bias) logits[static_cast<size_t>(token)] += bias;
  const size_t window = params.penalty_window < 0 ? history.size() : static_cast<size_t>(params.penalty_window);
  for (size_t token = 0; token < logits.size(); ++token) {
    int seen = 0, generated = 0;
    for (size_t i = history.size() - std::min(window, history.size()); i < history.size(); ++i) {
      if (history[i] != static_cast<int32_t>(token)) continue;
      if (i >= prompt_size) ++generated;
      if (i >= prompt_size || params.penalize_prompt) ++seen;
    }
    if (seen > 0) {
      logits[token] =
          logits[token] > 0 ? logits[token] / params.repetition_penalty : logits[token] * params.repetition_penalty;
    }
    logits[token] -= static_cast<float>(generated) * params.frequency_penalty;
    if (generated > 0) logits[token] -= params.presence_penalty;
  }
  return logits;
}

// What DRY takes off each token: every earlier place is compared with the end of the history, token by token.
template <typename Text>
std::vector<double> reference_dry(const SamplingParams& params, std::vector<int32_t> history, size_t vocabulary,
                                  const Text& token_text) {
  std::string text;
  std::vector<size_t> begins;
  for (const int32_t token : history) {
    begins.push_back(text.size());
    text += token_text(token);
  }
  size_t breaker_end = 0;
  for (const std::string& breaker : params.dry_breakers) {
    const size_t at = text.rfind(breaker);
    if (at != std::string::npos) breaker_end = std::max(breaker_end, at + breaker.size());
  }
  const auto limit = std::count_if(begins.begin(), begins.end(), [&](size_t begin) { return begin >= breaker_end; });
  if (params.dry_window >= 0 && history.size() > static_cast<size_t>(params.dry_window)) {
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(params.dry_window));
  }
  std::vector<double> penalties(vocabulary, 0);
  for (size_t next = 1; next < history.size(); ++next) {  // history[next] follows a run that ends before it
    int64_t length = 0;
    while (length < limit && length < static_cast<int64_t>(next) &&
           history[next - 1 - static_cast<size_t>(length)] ==
               history[history.size() - 1 - static_cast<size_t>(length)]) {
      ++length;
    }
    if (length < params.dry_allowed_length) continue;
    const double penalty =
        static_cast<double>(params.dry_multiplier) *
        std::pow(static_cast<double>(params.dry_base), static_cast<double>(length - params.dry_allowed_length));
    double& most = penalties[static_cast<size_t>(history[next])];
    most = std::max(most, penalty);
  }
  return penalties;
}

}  // namespace wick
