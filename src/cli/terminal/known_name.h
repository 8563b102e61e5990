#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/quantize/quantize_plan.h"

namespace wick {

// Checks an option's value by looking it up: what `find` throws is the message. `what` stands in the help.
template <typename Result>
CLI::Validator known_name(Result (*find)(std::string_view), const std::string& what) {
  const auto check = [find](const std::string& name) {
    try {
      find(name);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  return {check, what, ""};
}

inline CLI::Validator named_plan() { return known_name(QuantizePlan::named, "TYPE"); }

}  // namespace wick
