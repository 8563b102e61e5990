#include "server/model_host.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/machine.h"
#include "base/text.h"
#include "engine/ember.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// Of a file, or of all files in a folder; 0 when there is nothing to see.
int64_t bytes_on_disk(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const auto size = fs::file_size(path, error);
    return error ? 0 : static_cast<int64_t>(size);
  }
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const auto size = entry.is_regular_file(error) ? entry.file_size(error) : 0;
    if (!error) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

int64_t unix_seconds(const fs::path& path) {
  std::error_code error;
  const auto written = path.empty() ? fs::file_time_type() : fs::last_write_time(path, error);
  if (path.empty() || error) return 0;
  const auto system = std::chrono::file_clock::to_sys(written);
  return std::chrono::duration_cast<std::chrono::seconds>(system.time_since_epoch()).count();
}

// Who has just been answered, or looks at an engine, lets go of it within this time.
constexpr std::chrono::milliseconds kLettingGo{200}, kLookAgain{5};

int64_t built_in_bytes() { return has_ember() ? static_cast<int64_t>(ember_files().model.size()) : 0; }

int64_t default_budget() { return machine_info().memory_available.value_or(int64_t{8} << 30) / 4 * 3; }

}  // namespace

std::string_view to_string(ModelState state) {
  switch (state) {
    case ModelState::kUnloaded: return "unloaded";
    case ModelState::kLoading: return "loading";
    case ModelState::kReady: return "ready";
    case ModelState::kFailed: return "failed";
  }
  return "?";
}

ModelHost::ModelHost(std::vector<ModelEntry> models, int64_t bytes) : bytes_(bytes > 0 ? bytes : default_budget()) {
  if (models.empty()) throw Error(ErrorCode::kInvalidArgument, "a server needs a model");
  for (ModelEntry& model : models) {
    if (find(model.name)) {
      throw Error(ErrorCode::kInvalidArgument, cat("two models are called '", model.name, "'"));
    }
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->created = unix_seconds(model.path);
    slots_.back()->file_bytes = model.path.empty() ? built_in_bytes() : bytes_on_disk(model.path);
    slots_.back()->entry = std::move(model);
  }
  loader_ = std::thread([this] { load_loop(); });
}

ModelHost::~ModelHost() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  news_.notify_all();
  loader_.join();
  const Error error(ErrorCode::kUnsupported, "the server is shutting down");
  for (const auto& slot : slots_) {
    for (const Ready& ready : slot->waiting) ready(nullptr, &error);
    unload(*slot);
  }
}

ModelHost::Slot* ModelHost::find(std::string_view name) const {
  for (const auto& slot : slots_) {
    if (slot->entry.name == name) return slot.get();
    for (const LoraChoice& lora : slot->entry.load.loras) {
      if (!lora.name.empty() && cat(slot->entry.name, ":", lora.name) == name) return slot.get();
    }
  }
  return nullptr;
}

std::string ModelHost::adapter_of(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Slot* slot = find(name);
  if (!slot || slot->entry.name == name) return {};
  return std::string(name.substr(slot->entry.name.size() + 1));
}

std::string ModelHost::unknown(std::string_view name) const {
  std::string known;
  for (const auto& slot : slots_) known += cat(known.empty() ? "'" : ", '", slot->entry.name, "'");
  return cat("there is no model '", name, "' here; there is ", known);
}

bool ModelHost::has(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return find(name) != nullptr;
}

std::vector<LoraChoice>& ModelHost::loras_of(std::string_view model) {
  for (const auto& slot : slots_) {
    if (slot->entry.name == model) return slot->entry.load.loras;
  }
  throw Error(ErrorCode::kInvalidArgument, unknown(model));
}

void ModelHost::load_adapter(std::string_view model, const TextEngine& engine, const LoraChoice& lora) {
  {
    const std::lock_guard lock(mutex_);
    if (find(cat(model, ":", lora.name))) {
      throw Error(ErrorCode::kInvalidArgument, cat("there is an adapter '", lora.name, "' already"));
    }
    loras_of(model);
  }
  engine.model().load_adapter(lora);
  const std::lock_guard lock(mutex_);
  loras_of(model).push_back(lora);
}

bool ModelHost::unload_adapter(std::string_view model, const TextEngine& engine, std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    const auto gone = std::erase_if(loras_of(model), [&](const LoraChoice& lora) { return lora.name == name; });
    if (gone == 0 || name.empty()) return false;
  }
  engine.model().unload_adapter(name);
  return true;
}

const std::string& ModelHost::default_model() const { return slots_.front()->entry.name; }

std::vector<ModelStatus> ModelHost::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> list;
  for (const auto& slot : slots_) {
    ModelStatus status{slot->entry.name, slot->state, slot->progress, slot->error};
    status.context = slot->engine ? slot->engine->context() : 0;
    status.bytes = slot->bytes;
    status.created = slot->created;
    status.file_bytes = slot->file_bytes;
    status.format = slot->entry.path.extension() == ".gguf" ? "gguf" : "safetensors";
    list.push_back(status);
    for (const LoraChoice& lora : slot->entry.load.loras) {
      if (lora.name.empty()) continue;
      status.name = cat(slot->entry.name, ":", lora.name);
      status.bytes = 0;  // counted with the model
      list.push_back(status);
    }
  }
  return list;
}

ModelHost::EngineRef ModelHost::loaded(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Slot* slot = find(name);
  return slot ? slot->engine : nullptr;
}

void ModelHost::use(std::string_view name, Ready ready) {
  EngineRef engine;
  {
    const std::lock_guard lock(mutex_);
    if (Slot* slot = find(name)) {
      slot->last_use = ++uses_;
      engine = slot->engine;
      if (engine && !engine->model().model().problem().empty()) engine.reset();  // to be loaded again
      if (!engine) {
        slot->waiting.push_back(std::move(ready));
        if (slot->state != ModelState::kLoading) {
          slot->state = ModelState::kLoading;
          slot->progress = 0;
          to_load_.push_back(slot);
          news_.notify_all();
        }
        return;
      }
    }
  }
  if (engine) return ready(std::move(engine), nullptr);
  const Error error(ErrorCode::kInvalidArgument, unknown(name));
  ready(nullptr, &error);
}

void ModelHost::load_loop() {
  while (true) {
    Slot* slot = nullptr;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return is_stopping_ || !to_load_.empty(); });
      if (is_stopping_) return;
      slot = to_load_.front();
      to_load_.pop_front();
    }
    load(*slot);
  }
}

void ModelHost::load(Slot& slot) {
  EngineRef engine;
  std::optional<Error> error;
  Slot before;  // of files that were changed
  {
    const std::lock_guard lock(mutex_);
    before.engine = std::move(slot.engine);
    before.thread = std::move(slot.thread);
    slot.bytes = 0;
  }
  unload(before);
  try {
    {
      std::unique_lock lock(mutex_);
      make_room(lock, slot, bytes_on_disk(slot.entry.path));
    }
    engine = make_engine(slot);
  } catch (const Error& caught) {
    error = caught;
  } catch (const std::bad_alloc&) {
    error.emplace(ErrorCode::kOutOfMemory, cat("there is no memory for '", slot.entry.name, "'"));
  }
  std::vector<Ready> waiting;
  {
    const std::lock_guard lock(mutex_);
    slot.state = engine ? ModelState::kReady : ModelState::kFailed;
    slot.error = error ? error->what() : "";
    slot.engine = engine;
    if (engine) {
      slot.bytes = engine->model().model().facts().weight_bytes + engine->kv_bytes();
      slot.thread = std::make_unique<EngineThread>(*engine);
    }
    waiting.swap(slot.waiting);
  }
  for (const Ready& ready : waiting) ready(engine, error ? &*error : nullptr);
}

ModelHost::EngineRef ModelHost::make_engine(Slot& slot) {
  LoadOptions load;
  {
    const std::lock_guard lock(mutex_);
    load = slot.entry.load;
  }
  load.progress = [&](int64_t done, int64_t total) {
    const std::lock_guard lock(mutex_);
    slot.progress = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  };
  const auto model = slot.entry.path.empty() ? TextModel::ember(load) : TextModel::load(slot.entry.path, load);
  model->use_large_pages();  // at once: a server is there for long
  EngineOptions options = slot.entry.engine;
  if (options.kv_bytes == 0 && slots_.size() > 1) options.kv_bytes = cache_bytes(slot);
  return std::make_shared<TextEngine>(model, options);
}

// Where several models share the memory, a cache's part is what all weights leave, or some of what its own do.
int64_t ModelHost::cache_bytes(const Slot& slot) const {
  int64_t weights = 0;
  for (const auto& other : slots_) weights += bytes_on_disk(other->entry.path);
  const auto count = static_cast<int64_t>(slots_.size());
  return std::max({(bytes_ - weights) / count, (bytes_ - bytes_on_disk(slot.entry.path)) / (4 * count), int64_t{1}});
}

// Unloads what was used longest ago until `bytes` more fit.
void ModelHost::make_room(std::unique_lock<std::mutex>& lock, const Slot& slot, int64_t bytes) {
  if (bytes > bytes_) {
    throw Error(ErrorCode::kOutOfMemory, cat("'", slot.entry.name, "' has ", bytes_text(bytes),
                                             " of weights, all models together may take ", bytes_text(bytes_)));
  }
  const auto last_look = std::chrono::steady_clock::now() + kLettingGo;
  while (true) {
    int64_t used = bytes;
    Slot* oldest = nullptr;
    for (const auto& other : slots_) {
      if (!other->engine) continue;
      used += other->bytes;
      const bool is_free = other->engine.use_count() == 1 && other->engine->is_idle();
      if (is_free && (!oldest || other->last_use < oldest->last_use)) oldest = other.get();
    }
    if (used <= bytes_) return;
    if (!oldest) {
      const bool is_late = std::chrono::steady_clock::now() >= last_look;
      if (!is_late && !news_.wait_for(lock, kLookAgain, [&] { return is_stopping_; })) continue;
      throw Error(ErrorCode::kOutOfMemory,
                  cat("'", slot.entry.name, "' needs ", bytes_text(bytes), " and the models in use leave ",
                      bytes_text(std::max<int64_t>(bytes_ - (used - bytes), 0)), " of ", bytes_text(bytes_)));
    }
    Slot gone;  // taken apart without the lock: its thread may have a pass to end
    gone.engine = std::move(oldest->engine);
    gone.thread = std::move(oldest->thread);
    oldest->state = ModelState::kUnloaded;
    oldest->bytes = 0;
    lock.unlock();
    unload(gone);
    lock.lock();
  }
}

void ModelHost::unload(Slot& slot) {
  slot.thread.reset();
  if (slot.engine) slot.engine->end_all();  // listeners may hold the engine that holds them
  slot.engine.reset();
}

bool ModelHost::drain(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    bool is_idle = true;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& slot : slots_) {
        is_idle = is_idle && slot->waiting.empty() && (!slot->engine || slot->engine->is_idle());
      }
    }
    if (is_idle || std::chrono::steady_clock::now() >= end) return is_idle;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace wick
