#pragma once

#include <optional>

#include "server/api/microscope/inspect_request.h"
#include "server/api/request_kinds.h"

namespace wick {

// What all requests for an answer have in common. What is left out is as the model's makers recommend.
struct SamplingRequest {
  std::string model;  // empty: the first one
  bool stream = false;
  std::optional<float> temperature, top_p;
  std::optional<int64_t> seed;
  std::optional<std::string> user;

  // Wick's own.
  std::optional<int64_t> top_k;
  std::optional<float> min_p, typical_p, repetition_penalty;
  std::optional<int64_t> penalty_window;
  std::optional<float> dry_multiplier, dry_base;
  std::optional<int64_t> dry_allowed_length, dry_window;
  std::optional<std::vector<std::string>> dry_breakers;
  std::optional<float> xtc_probability, xtc_threshold;
  std::optional<MirostatSwitch> mirostat;
  std::optional<float> mirostat_tau, mirostat_eta;
  std::optional<std::string> grammar;  // GBNF
  bool ignore_eos = false;
  std::string priority = "normal";
  std::optional<double> timeout;  // seconds

  static const Fields<SamplingRequest>& fields();
};

struct StreamOptions {
  bool include_usage = false;
  static const Fields<StreamOptions>& fields();
};

// What the two older APIs share beyond that.
struct ChoicesRequest : SamplingRequest {
  int64_t n = 1;
  std::optional<float> frequency_penalty, presence_penalty;
  LogitBias logit_bias;
  TextOrList stop;
  std::optional<StreamOptions> stream_options;
  std::optional<InspectRequest> wick;  // Wick's own

  static const Fields<ChoicesRequest>& fields();
};

inline constexpr int64_t kMostChoices = 128, kMostTopLogprobs = 20;
inline constexpr int64_t kMostStops = 16;       // in other protocols
inline constexpr int64_t kMostOpenAiStops = 4;  // in OpenAI's

// Throws RequestError for more stops than allowed, stream_options without stream, and so on.
void check_choices(const ChoicesRequest& request, int64_t most_stops = kMostOpenAiStops);

}  // namespace wick
