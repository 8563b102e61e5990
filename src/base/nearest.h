#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wick {

// The candidate with the fewest edits to `name`, for "did you mean"; empty when none is near (more than a third of the
// letters differ). Long names and long lists are compared only as far as a fixed amount of work goes.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace wick
