#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace wick {

// A model that the server offers, loaded or not.
struct ModelEntry {
  std::string name;            // what requests call it
  std::filesystem::path path;  // empty: Ember, the model inside the program
  LoadOptions load;
  EngineOptions engine;
};

enum class ModelState : uint8_t { kUnloaded, kLoading, kReady, kFailed };
std::string_view to_string(ModelState state);  // "unloaded", ...

struct ModelStatus {
  std::string name;
  ModelState state = ModelState::kUnloaded;
  double progress = 0;  // kLoading: 0 to 1
  std::string error;    // kFailed: the sentence
  int64_t context = 0;  // kReady
  int64_t bytes = 0;    // kReady: weights and cache
  int64_t created = 0;  // Unix seconds of the file
};

// The models of a server: loaded in the background when first asked for, each with an engine and a thread that runs it;
// the least recently used one that nobody uses goes when the memory budget needs room. Thread-safe.
class ModelHost {
 public:
  // bytes: what models may take together; 0: three quarters of the memory that is free. Throws Error(kInvalidArgument)
  // for no models or a name given twice.
  ModelHost(std::vector<ModelEntry> models, int64_t bytes = 0);
  ~ModelHost();  // lets running answers end as drain() does, without waiting

  std::vector<ModelStatus> list() const;
  const std::string& default_model() const;  // the first one
  bool has(std::string_view name) const;

  // Holds the model in memory while it lives.
  using EngineRef = std::shared_ptr<Engine>;
  // Calls ready(engine, null) at once when the model is there, else on the loading thread once it is; or
  // ready(null, error). An unknown name is an error that lists the known ones.
  using Ready = std::function<void(EngineRef, const Error*)>;
  void use(std::string_view name, Ready ready);
  // The engine if it is loaded now, for looking at; does not count as use.
  EngineRef loaded(std::string_view name) const;

  // No new requests; waits until running ones have ended or the time is over. True when all have.
  bool drain(double seconds);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick
