#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wick {

// Well-known models that need not be written with their owner: "qwen3-0.6b" is Qwen/Qwen3-0.6B.
struct ShortName {
  std::string_view name, repo;
};
std::span<const ShortName> short_names();

// The repository; empty when it is no short name.
std::string_view repo_of_short_name(std::string_view name);

}  // namespace wick
