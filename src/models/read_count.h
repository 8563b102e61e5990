#pragma once

#include <string>

#include "base/error.h"
#include "base/text.h"
#include "models/config_reader.h"

namespace wick {

// A setting that is out of range or contradicts another.
inline Error bad_setting(const std::string& what) { return {ErrorCode::kBadFile, cat("config.json: ", what)}; }

// A size from config.json, from 1 to `most`. Throws Error(kBadFile) naming it when it is missing or another number.
// Products of three sizes stay far from overflow.
inline int64_t read_count(const ConfigReader& config, std::string_view name, int64_t most = int64_t{1} << 16) {
  const int64_t value = config.integer(name);
  if (value < 1 || value > most) throw bad_setting(cat(name, " = ", value, ", expected 1 to ", most));
  return value;
}

}  // namespace wick
