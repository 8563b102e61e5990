#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "nn/rope.h"

namespace wick {

// config.json under any of its spellings: asking for "num_hidden_layers" also finds "n_layer". Null counts as missing.
// Wrong kinds throw Error(kBadFile) naming the field.
class ConfigReader {
 public:
  explicit ConfigReader(const Json& config) : config_(&config) {}

  const Json& json() const { return *config_; }
  const Json* find(std::string_view name) const;  // null: under none of its spellings
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // A member of a block such as rope_scaling; null: there is none.
  const Json* member(const Json& block, std::string_view name) const;
  // Whether somebody has asked for this setting, under any of its spellings.
  bool was_read(const Json& setting) const { return read_.count(&setting) > 0; }

  int64_t integer(std::string_view name) const;  // throws when missing
  int64_t integer(std::string_view name, int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  bool flag(std::string_view name, bool fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::vector<int64_t> integers(std::string_view name) const;   // empty when missing
  std::vector<std::string> texts(std::string_view name) const;  // empty when missing

 private:
  const Json* config_;
  mutable std::set<const Json*> read_;
};

// Rotary positions: the classic keys (rope_theta, rope_scaling, rotary_pct, ...) or a rope_parameters block, which may
// hold one block per layer type ("full_attention", ...). `theta` is the family's default.
RopeConfig read_rope(const ConfigReader& config, int64_t head_dim, int64_t max_positions, double theta = 10000,
                     std::string_view layer_type = {});

}  // namespace wick
