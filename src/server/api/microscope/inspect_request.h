#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/api/fields.h"

namespace wick {

// Looking into a model and changing what it computes, as requests spell it: docs/server.md. Positions count from the
// beginning of the text, below zero from the end of the prompt.

struct SteerRequest {
  std::optional<std::string> vector;  // the name of one of the server's
  std::optional<std::string> point;   // or one that comes with the request: where it is added, and its values
  std::vector<float> values;
  std::optional<int> layer;  // instead of the vector's own
  float strength = 1;
  std::vector<int64_t> positions;  // empty: all, those of the answer too
  static const Fields<SteerRequest>& fields();
};

struct EditRequest {
  std::string site;
  std::string kind;
  std::vector<int64_t> positions;      // empty: all, those of the answer too
  std::vector<int> heads;              // empty: all
  std::optional<float> factor;         // scale
  std::vector<float> values;           // add, replace: of one row's part, or of each position's
  std::vector<int64_t> queries, keys;  // knockout: as in Knockout
  static const Fields<EditRequest>& fields();
};

struct FeatureRequest {
  std::string autoencoder;  // the name of one of the server's
  std::vector<int64_t> features;
  std::string kind;
  float strength = 1;
  std::vector<int64_t> positions;  // empty: all, those of the answer too
  static const Fields<FeatureRequest>& fields();
};

struct ChangesRequest {
  std::vector<SteerRequest> steer;
  std::vector<FeatureRequest> features;
  std::vector<EditRequest> edits;
  static const Fields<ChangesRequest>& fields();
};

// "wick" of a chat or completion request.
struct InspectRequest : ChangesRequest {
  std::vector<std::string> capture;
  std::vector<int64_t> positions;  // rows to capture; empty: all, those of the answer too
  static const Fields<InspectRequest>& fields();
};

}  // namespace wick
