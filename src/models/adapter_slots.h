#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formats/adapters/lora_file.h"
#include "nn/linear.h"

namespace wick {

// The linears of a model that adapters may change, by name, and the adapters that it has. Each adapter has a number,
// counted from 0, that no other ever has. Thread-safe but for add() and remove().
class AdapterSlots {
 public:
  // Gives the linear a place for adapters. One without a weight, as on a listing loader, is passed over.
  void offer(const std::string& name, Linear& linear);
  // One that has a place already.
  void take(const std::string& name, const Linear& linear);
  void set_heads(const HeadCounts& counts) { counts_ = counts; }

  // Loads an adapter that is multiplied by `scale`, and returns its number. Sequences whose rows name no adapters have
  // those without a name. Throws Error(kUnsupported) naming a module that is none of the linears, Error(kBadFile) when
  // shapes differ, Error(kInvalidArgument) for a name that another has. Not while passes are under way.
  int64_t add(const std::vector<LoraModule>& modules, float scale, const std::string& name);
  // Nobody finds it from now on, and its weights go once nobody holds it. False when there is none of that name. Not
  // while passes are under way.
  bool remove(std::string_view name);

  std::optional<int64_t> find(std::string_view name) const;
  // Keeps an adapter's weights in memory as long as somebody has it; null: there is no such adapter (any more).
  using Hold = std::shared_ptr<const int64_t>;
  Hold hold(int64_t number) const;
  // For passes: whether the weights are there, and the adapters without a name.
  bool has_weights(int64_t number) const;
  const std::vector<int64_t>& everywhere() const { return everywhere_; }

 private:
  struct Adapter {
    std::string name;
    std::shared_ptr<const int64_t> number;
  };
  void place(const LoraModule& module, float scale, int64_t number) const;
  static void add_to(const Linear& linear, const LoraModule& module, float scale, int64_t number);
  void drop_weights(int64_t number);
  void drop_unused();

  std::map<std::string, Linear, std::less<>> linears_;  // they share their places with those of the layers
  HeadCounts counts_;
  mutable std::mutex mutex_;  // of those there are and were
  std::vector<Adapter> adapters_;
  std::vector<std::shared_ptr<const int64_t>> removed_;  // whose weights are still there
  std::vector<int64_t> everywhere_;
  int64_t next_ = 0;
};

}  // namespace wick
