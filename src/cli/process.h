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

// Has the desktop open a page, by its address or as a file, and does not wait. False: there is no program for it.
bool open_page(const std::string& target);
inline constexpr char kNothingOpensPages[] = "nothing here opens pages (xdg-open, open or wslview would)";

// The folder of the running executable.
std::filesystem::path executable_folder();

}  // namespace wick
