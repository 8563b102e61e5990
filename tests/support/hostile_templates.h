#pragma once

#include <string>
#include <vector>

namespace wick {

// Templates that would run for ever, or eat the memory or the stack.
struct HostileTemplate {
  std::string what, source;
};
std::vector<HostileTemplate> hostile_templates();

}  // namespace wick
