#pragma once

#include <optional>

#include "server/api/fields.h"
#include "server/model_host.h"

namespace wick {

// A model as GET /v1/models tells of it.
struct ModelAnswer {
  std::string id, object = "model";
  int64_t created = 0;
  std::string owned_by = "wick", status;
  std::optional<double> progress;
  std::optional<std::string> error;
  std::optional<int64_t> context, bytes;
  std::optional<std::string>
      task;  // transcription, speech, embeddings, classification, or nothing for models that talk
  static const Fields<ModelAnswer>& fields();
};
struct ModelListAnswer {
  std::string object = "list";
  std::vector<ModelAnswer> data;
  static const Fields<ModelListAnswer>& fields();
};
ModelAnswer model_answer(const ModelStatus& status);

// What GET /health and /ready answer.
struct StatusAnswer {
  std::string status;
  std::optional<std::string> reason;
  static const Fields<StatusAnswer>& fields();
};

}  // namespace wick
