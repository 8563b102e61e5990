#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace wick {

// The place of a value inside the place of its parent: "rope" and ".factor" make "rope.factor". Every value holds its
// place, so a long one is cut: a file whose names are long would else cost many times its size.
inline std::string extend_place(const std::string& parent, std::string_view separator, std::string_view name = {}) {
  constexpr size_t kMost = 200;
  if (parent.ends_with("...")) return parent;
  if (parent.size() + separator.size() + name.size() > kMost) return parent + "...";
  return cat(parent, separator, name);
}

}  // namespace wick
