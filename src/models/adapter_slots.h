#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/adapters/lora_file.h"
#include "nn/linear.h"

namespace wick {

// The linears of a model that adapters may change, by name, and the adapters that it has.
class AdapterSlots {
 public:
  // Gives the linear a place for adapters. One without a weight, as on a listing loader, is passed over.
  void offer(const std::string& name, Linear& linear);

  // Loads an adapter that is multiplied by `scale`, and returns its number, counted from 0. Throws Error(kUnsupported)
  // naming a module that is none of the linears, Error(kBadFile) when shapes differ. Not while passes are under way.
  int64_t add(const std::vector<LoraModule>& modules, float scale, const HeadCounts& counts);
  int64_t count() const { return count_; }

 private:
  void add_to(const Linear& linear, const LoraModule& module, float scale) const;

  std::map<std::string, Linear, std::less<>> linears_;  // they share their places with those of the layers
  int64_t count_ = 0;
};

}  // namespace wick
