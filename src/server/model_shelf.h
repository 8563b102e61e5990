#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "server/work_queue.h"

namespace wick {

// Models of one kind that a server offers by name, loaded when first asked for, and threads for those who use them.
// Thread-safe.
template <typename Model>
class ModelShelf {
 public:
  struct Entry {
    std::string name;  // what requests call it
    std::function<std::shared_ptr<const Model>()> load;
  };
  // `kind` stands in messages: "speech model". Throws Error(kInvalidArgument) for a name given twice.
  ModelShelf(std::string kind, std::vector<Entry> entries, int threads, int64_t max_waiting)
      : kind_(std::move(kind)), queue_(threads, max_waiting) {
    for (Entry& entry : entries) {
      if (find(entry.name)) {
        throw Error(ErrorCode::kInvalidArgument, cat("two ", kind_, "s are called ", in_quotes(entry.name)));
      }
      slots_.push_back(std::make_unique<Slot>());
      slots_.back()->entry = std::move(entry);
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& slot : slots_) names.push_back(slot->entry.name);
    return names;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool is_loaded(std::string_view name) const {
    const Slot* slot = find(name);
    return slot && slot->is_loaded;
  }
  // The sentence for a name that is not there, with those that are.
  std::string unknown(std::string_view name) const {
    std::string known;
    for (const auto& slot : slots_) known += cat(known.empty() ? "" : ", ", in_quotes(slot->entry.name));
    return cat("there is no ", kind_, " ", in_quotes(name), "; known are: ", known.empty() ? "none" : known);
  }
  // The first one. Throws Error(kUnsupported) when there is none.
  const std::string& default_model() const {
    if (slots_.empty()) throw Error(ErrorCode::kUnsupported, cat("this server has no ", kind_));
    return slots_.front()->entry.name;
  }

  // Loads the model if need be, which may take long. Throws Error that lists the known names, or says why it cannot be
  // loaded; the next one who asks tries again.
  std::shared_ptr<const Model> use(std::string_view name) {
    Slot* slot = find(name);
    if (!slot) throw Error(ErrorCode::kInvalidArgument, unknown(name));
    const std::lock_guard lock(slot->loading);
    if (!slot->model) slot->model = slot->entry.load();
    slot->is_loaded = true;
    return slot->model;
  }
  // As WorkQueue.
  bool run(const std::string& client, std::function<void()> job) { return queue_.run(client, std::move(job)); }

 private:
  struct Slot {
    Entry entry;
    std::mutex loading;
    std::shared_ptr<const Model> model;  // changes while `loading` is held
    std::atomic<bool> is_loaded = false;
  };
  Slot* find(std::string_view name) const {
    const auto found =
        std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) { return slot->entry.name == name; });
    return found == slots_.end() ? nullptr : found->get();
  }

  const std::string kind_;
  std::vector<std::unique_ptr<Slot>> slots_;
  WorkQueue queue_;  // last: its jobs use the others
};

}  // namespace wick
