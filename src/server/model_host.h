#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/text/text_engine.h"

namespace wick {

struct RequestDefaults;

// A model that the server offers, loaded or not.
struct ModelEntry {
  std::string name;            // what requests call it
  std::filesystem::path path;  // empty: Ember, the model inside the program
  LoadOptions load;
  EngineOptions engine;
  std::shared_ptr<const RequestDefaults> defaults;  // what requests get that say nothing else; null: nothing
  struct Preset {
    std::string name;
    std::shared_ptr<const RequestDefaults> defaults;
  };
  std::vector<Preset> presets;  // the same model by other names, with defaults of their own
};

// How long a model stays loaded when nobody uses it: seconds, below 0 for as long as there is memory.
inline constexpr double kKeepForever = -1;

// Who uses a model, and how long it is to stay for them; empty: as long as the server keeps models.
struct KeepWish {
  std::string client;
  std::optional<double> seconds;
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
  int64_t file_bytes = 0;
  std::string format;                                            // "gguf" or "safetensors"
  std::optional<std::chrono::system_clock::time_point> expires;  // when it is unloaded if nobody uses it
};

// The models of a server: loaded in the background when first asked for, each with an engine and a thread that runs it;
// the least recently used one that nobody uses goes when the memory budget needs room. Thread-safe.
class ModelHost {
 public:
  // `bytes`: what models may take together, weights and caches; 0: three quarters of the memory that is free.
  // `keep_seconds`: how long a model stays that nobody uses. Throws Error(kInvalidArgument) for no models or a name
  // given twice.
  explicit ModelHost(std::vector<ModelEntry> models, int64_t bytes = 0, double keep_seconds = kKeepForever);
  ~ModelHost();  // whoever still waits for an answer hears that it is cancelled

  std::vector<ModelStatus> list() const;
  const std::string& default_model() const;  // the first one
  bool has(std::string_view name) const;
  // Of "model:adapter", where the model has an adapter of that name: the adapter. Empty for a model alone.
  std::string adapter_of(std::string_view name) const;
  // Of a preset; null: none.
  std::shared_ptr<const RequestDefaults> defaults_of(std::string_view name) const;
  // Loads an adapter for requests to "model:NAME", which stays when the model is loaded again. `engine` is the model's.
  // Throws Error(kInvalidArgument) for a name that is taken, and what loading throws.
  void load_adapter(std::string_view model, const TextEngine& engine, const LoraChoice& lora);
  // Who has it keeps it until the answer is over. False when there is none of that name.
  bool unload_adapter(std::string_view model, const TextEngine& engine, std::string_view name);

  // Keeps the model in memory as long as somebody has one.
  using EngineRef = std::shared_ptr<TextEngine>;
  // Calls ready(engine, null) at once when the model is there, else on the loading thread once it is; or
  // ready(null, error). An unknown name is an error that lists the known ones. A model that could not be loaded is
  // tried again; one whose files were changed is loaded again.
  // It is unloaded when no client's wish keeps it: one's does not undo another's.
  using Ready = std::function<void(EngineRef, const Error*)>;
  void use(std::string_view name, Ready ready, const KeepWish& wish = {});
  // The client wishes no longer that it stays. Does not load it.
  void let_go(std::string_view name, const std::string& client);
  // The engine if it is loaded now, for looking at; does not count as use.
  EngineRef loaded(std::string_view name) const;

  // Waits until nothing runs or waits in any engine, or the time is over. True when nothing does. Whoever shuts down
  // has to see to it that no new requests come.
  bool drain(double seconds);

 private:
  struct Slot {
    ModelEntry entry;
    ModelState state = ModelState::kUnloaded;
    double progress = 0;
    std::string error;
    int64_t bytes = 0, created = 0, file_bytes = 0;
    uint64_t last_use = 0;
    struct Kept {
      double seconds = 0;
      std::chrono::steady_clock::time_point since;
    };
    std::map<std::string, Kept> kept;  // by client; empty: as nobody has used it, it stays
    std::chrono::steady_clock::time_point last_busy;
    std::optional<std::chrono::steady_clock::time_point> expiry() const;  // empty: never
    EngineRef engine;
    std::unique_ptr<EngineThread> thread;
    std::vector<Ready> waiting;
  };
  Slot* find(std::string_view name) const;  // while nobody changes them, or mutex_ is held
  std::string unknown(std::string_view name) const;
  std::vector<LoraChoice>& loras_of(std::string_view model);
  void load_loop();
  void load(Slot& slot);
  EngineRef make_engine(Slot& slot);
  int64_t cache_bytes(const Slot& slot) const;
  void make_room(std::unique_lock<std::mutex>& lock, const Slot& slot, int64_t bytes);
  static void keep(Slot& slot, const std::string& client, double seconds);
  std::optional<std::chrono::steady_clock::time_point> unload_unwanted(std::unique_lock<std::mutex>& lock);
  static void take_apart(std::unique_lock<std::mutex>& lock, Slot& slot);
  static void unload(Slot& slot);

  const int64_t bytes_;
  const double keep_seconds_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> to_load_;
  uint64_t uses_ = 0;
  bool is_stopping_ = false;
  std::thread loader_;
};

}  // namespace wick
