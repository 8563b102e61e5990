#pragma once

#include "interp/language_interp.h"
#include "interp/steering.h"
#include "support/api_server.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {

// A direction of Ember's residual stream, always the same.
inline SteeringVector push_vector() { return {"blocks.1.hook_resid_post", randn({256}, 11), "qwen3", "push"}; }

// A server that may be looked into, with one steering vector.
struct InspectServer {
  explicit InspectServer(const InspectOptions& options = {}, HttpServerOptions http = {})
      : server(EngineOptions(), std::move(http), nullptr, nullptr,
               std::make_unique<Inspector>(with_steering(options))) {}

  InspectOptions with_steering(InspectOptions options) const {
    push_vector().save(folder.path() / "push.safetensors");
    options.steering = folder.path();
    return options;
  }

  TempFolder folder;
  ApiServer server;
};

// Ember as the library's tools see it, with keys and values as the engine has them.
inline LanguageInterp ember_inside() {
  const std::shared_ptr<const TextModel> text = TextModel::ember();
  LanguageInterpOptions options;
  options.kv_dtype = DType::kF16;
  return LanguageInterp(std::shared_ptr<const LanguageModel>(text, &text->model()), options);
}

}  // namespace wick
