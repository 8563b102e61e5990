#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wick {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string output, errors;
};

// Runs a program with no standard input and waits for it. `environment` holds NAME=value settings that are added to
// this process's own. Throws Error(kIo) when it cannot be started.
ProcessResult run_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment = {});

// The folder of the running executable.
std::filesystem::path executable_folder();

}  // namespace wick
