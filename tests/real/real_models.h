#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/env.h"

namespace wick {

inline constexpr const char* kHowToGet = "the model is not there: run tools/get-test-models";

// A file of the cache that tools/get-test-models fills; empty when it is not there.
inline std::optional<std::filesystem::path> real_model(const std::string& name) {
  namespace fs = std::filesystem;
  const auto folder = [] {
    if (const auto given = env_text("WICK_TEST_MODELS")) return fs::path(*given);
    const auto cache = env_text("XDG_CACHE_HOME");
    return (cache ? fs::path(*cache) : fs::path(env_text("HOME").value_or("")) / ".cache") / "wick" / "test-models";
  };
  std::error_code ignored;
  const fs::path path = folder() / name;
  return fs::exists(path, ignored) ? std::optional(path) : std::nullopt;
}

}  // namespace wick
