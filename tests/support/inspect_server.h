#pragma once

#include "interp/language_interp.h"
#include "interp/probes/linear_probe.h"
#include "interp/probes/sparse_autoencoder.h"
#include "interp/steering.h"
#include "support/api_server.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {

// A direction of Ember's residual stream, always the same.
inline SteeringVector push_vector() { return {"blocks.1.hook_resid_post", randn({256}, 11), "qwen3", "push"}; }

// A probe that reads Ember's residual stream, always the same.
inline LinearProbe kind_probe() {
  const std::vector<int64_t> labels = {0, 1, 0, 1, 1, 0};
  LinearProbe probe = LinearProbe::train(randn({6, 256}, 12), labels, 2, {.steps = 20, .test_share = 0});
  probe.point = "blocks.2.hook_resid_post";
  probe.labels = {"kind", "unkind"};
  return probe;
}

// 96 features of what enters Ember's layer 3, always the same.
inline SparseAutoencoder small_autoencoder() {
  SparseAutoencoder::Weights weights{randn({256, 96}, 13), randn({96}, 14), randn({96, 256}, 15), randn({256}, 16), {}};
  return {SparseAutoencoder::Kind::kRelu, std::move(weights), "blocks.3.hook_resid_pre", true};
}

// A server that may be looked into, with one of each thing that requests may name: push, kind and small.
struct InspectServer {
  explicit InspectServer(const InspectOptions& options = {}, HttpServerOptions http = {})
      : server(EngineOptions(), std::move(http), nullptr, nullptr, std::make_unique<Inspector>(with_folders(options))) {
  }

  InspectOptions with_folders(InspectOptions options) const {
    const auto made = [&](const char* name) {
      std::filesystem::create_directories(folder.path() / name);
      return folder.path() / name;
    };
    options.folders = {made("steering"), made("probes"), made("autoencoders")};
    push_vector().save(options.folders.steering / "push.safetensors");
    kind_probe().save(options.folders.probes / "kind.safetensors");
    small_autoencoder().save(made("autoencoders/small"));
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
