#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/terminal/terminal.h"
#include "verify/reference_check.h"

namespace wick {

// What `wick verify` says; text and JSON are two views of it.
struct VerifyReport {
  std::string model, reference;  // paths
  std::string type;              // that weights were quantised to while loading; "auto": as stored
  ReferenceReport check;
};

nlohmann::ordered_json to_json(const VerifyReport& report);
std::string to_text(const VerifyReport& report, const Terminal& terminal);

}  // namespace wick
