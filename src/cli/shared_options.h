#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/plan_names.h"
#include "formats/quantize_plan.h"

namespace wick {

// Options that mean the same wherever a model is loaded.
inline CLI::Option* add_quantize_option(CLI::App& command, std::string& type) {
  return command.add_option("--quantize", type, "Pack the weights while loading, e.g. q8_0 or q4_k_m")
      ->transform(CLI::Validator([](std::string& name) { return check_plan_name(name, QuantizePlan::names()); }, ""))
      ->type_name("TYPE");
}
inline CLI::Option* add_threads_option(CLI::App& command, int& threads) {
  return command.add_option("--threads", threads, "Threads to compute with (default: one per CPU)")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("COUNT");
}

}  // namespace wick
