#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tensor/device.h"

namespace wick {

inline CLI::Option* add_device_option(CLI::App& command, std::string& device) {
  return command.add_option("--device", device, "Where to compute: cpu (default), cuda, or cuda:1 for the second one")
      ->type_name("DEVICE");
}

// Throws Error(kUnsupported) that says why when there is no such device.
Device device_named(const std::string& name);

}  // namespace wick
