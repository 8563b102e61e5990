#pragma once

#include <optional>

#include "interp/metric.h"
#include "server/api/chat/conversation_request.h"
#include "server/api/microscope/inspect_request.h"

namespace wick {

// Bodies of POST /v1/wick/...: each is about a text of at most InspectLimits::kTokens tokens.

// A text in one of three forms.
struct TextRequest {
  std::optional<std::string> prompt;
  std::optional<std::vector<int32_t>> tokens;
  std::optional<std::vector<ChatMessage>> messages;
  static const Fields<TextRequest>& fields();
};

struct InsideRequest : TextRequest, ChangesRequest {
  std::string model;
  std::optional<TextRequest> source;
  static const Fields<InsideRequest>& fields();
};

struct LensRequest : InsideRequest {
  std::vector<int64_t> positions;
  std::vector<int32_t> follow;
  int64_t top = 5;
  bool stream = false;
  static const Fields<LensRequest>& fields();
};

struct AttentionRequest : InsideRequest {
  int layer = 0;
  std::vector<int> heads;
  static const Fields<AttentionRequest>& fields();
};

struct ProbeRequest : InsideRequest {
  std::string probe;
  static const Fields<ProbeRequest>& fields();
};

struct FeaturesRequest : InsideRequest {
  std::string autoencoder;
  int64_t top = 10;
  std::vector<int64_t> follow;
  static const Fields<FeaturesRequest>& fields();
};

struct MetricRequest {
  std::string kind = "logit_difference";
  std::optional<int32_t> token, other;
  int64_t position = -1;
  static const Fields<MetricRequest>& fields();
};

struct PatchRequest {
  std::string model;
  TextRequest clean, corrupted;
  std::string point = "hook_resid_pre";
  std::string by = "position";
  std::vector<int> layers;
  std::vector<int64_t> positions;
  std::optional<MetricRequest> metric;
  static const Fields<PatchRequest>& fields();
};

struct RunRequest : InsideRequest {
  int64_t max_tokens = 16, top = 10;
  static const Fields<RunRequest>& fields();
};

}  // namespace wick
