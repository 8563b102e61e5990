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

using Clock = std::chrono::steady_clock;
constexpr size_t kMostKeepers = 1024;              // clients beyond that are one
constexpr double kLongestKeep = 10 * 365 * 86400;  // seconds; longer is forever

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

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

ModelHost::ModelHost(std::vector<ModelEntry> models, int64_t bytes, double keep_seconds)
    : bytes_(bytes > 0 ? bytes : default_budget()), keep_seconds_(keep_seconds) {
  if (models.empty()) throw Error(ErrorCode::kInvalidArgument, "a server needs a model");
  for (ModelEntry& model : models) {
    std::vector<std::string> names = {model.name};
    for (const ModelEntry::Preset& preset : model.presets) names.push_back(preset.name);
    for (size_t i = 0; i < names.size(); ++i) {
      if (find(names[i]) || std::count(names.begin(), names.end(), names[i]) > 1) {
        throw Error(ErrorCode::kInvalidArgument, cat("two models are called '", names[i], "'"));
      }
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
    for (const ModelEntry::Preset& preset : slot->entry.presets) {
      if (preset.name == name) return slot.get();
    }
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
  for (const ModelEntry::Preset& preset : slot->entry.presets) {
    if (preset.name == name) return {};
  }
  return std::string(name.substr(slot->entry.name.size() + 1));
}

std::shared_ptr<const RequestDefaults> ModelHost::defaults_of(std::string_view name) const {
  const Slot* slot = find(name);
  if (!slot) return nullptr;
  for (const ModelEntry::Preset& preset : slot->entry.presets) {
    if (preset.name == name) return preset.defaults;
  }
  return slot->entry.defaults;
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
    if (const auto expiry = slot->engine ? slot->expiry() : std::nullopt) {
      const auto left = std::max(*expiry - Clock::now(), Clock::duration::zero());
      status.expires =
          std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
    }
    list.push_back(status);
    for (const ModelEntry::Preset& preset : slot->entry.presets) {
      list.push_back(status);
      list.back().name = preset.name;
      list.back().bytes = 0;  // counted with the model
    }
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

std::optional<Clock::time_point> ModelHost::Slot::expiry() const {
  std::optional<Clock::time_point> last;
  for (const auto& [client, kept] : kept) {
    if (kept.seconds < 0) return std::nullopt;
    const auto end = std::max(kept.since, last_busy) + seconds_of(kept.seconds);
    last = last ? std::max(*last, end) : end;
  }
  return last;
}

void ModelHost::keep(Slot& slot, const std::string& client, double seconds) {
  const bool is_known = slot.kept.contains(client) || slot.kept.size() < kMostKeepers;
  if (!(seconds <= kLongestKeep)) seconds = kKeepForever;
  slot.kept[is_known ? client : std::string()] = {seconds, Clock::now()};
}

void ModelHost::let_go(std::string_view name, const std::string& client) {
  const std::lock_guard lock(mutex_);
  Slot* slot = find(name);
  if (!slot) throw Error(ErrorCode::kInvalidArgument, unknown(name));
  if (slot->engine) keep(*slot, client, 0);
  news_.notify_all();
}

// Unloads those that nobody uses or wishes to stay; when to look again.
std::optional<Clock::time_point> ModelHost::unload_unwanted(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kSoon{20}, kLate{1000};
  const auto now = Clock::now();
  std::optional<Clock::time_point> next;
  for (const auto& slot : slots_) {
    if (!slot->engine || slot->state != ModelState::kReady) continue;
    const bool is_idle = slot->engine->is_idle();
    if (!is_idle) slot->last_busy = now;
    const auto expiry = slot->expiry();
    if (!expiry) continue;
    if (*expiry <= now && is_idle && slot->engine.use_count() == 1) {
      take_apart(lock, *slot);
      continue;
    }
    const auto look = is_idle && *expiry > now ? *expiry : now + (*expiry > now + kLate ? kLate : kSoon);
    next = next ? std::min(*next, look) : look;
  }
  return next;
}

void ModelHost::use(std::string_view name, Ready ready, const KeepWish& wish) {
  EngineRef engine;
  {
    const std::lock_guard lock(mutex_);
    if (Slot* slot = find(name)) {
      slot->last_use = ++uses_;
      const double seconds = wish.seconds.value_or(keep_seconds_);
      if (!wish.client.empty() || seconds >= 0) keep(*slot, wish.client, seconds);
      if (seconds >= 0) news_.notify_all();
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
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (!to_load_.empty()) {
      Slot* slot = to_load_.front();
      to_load_.pop_front();
      lock.unlock();
      load(*slot);
      lock.lock();
      continue;
    }
    const auto next = unload_unwanted(lock);
    if (is_stopping_ || !to_load_.empty()) continue;  // came meanwhile
    if (next) {
      news_.wait_until(lock, *next);
    } else {
      news_.wait(lock);
    }
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
    take_apart(lock, *oldest);
  }
}

// Without the lock: its thread may have a pass to end.
void ModelHost::take_apart(std::unique_lock<std::mutex>& lock, Slot& slot) {
  Slot gone;
  gone.engine = std::move(slot.engine);
  gone.thread = std::move(slot.thread);
  slot.state = ModelState::kUnloaded;
  slot.bytes = 0;
  slot.kept.clear();
  lock.unlock();
  unload(gone);
  lock.lock();
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
