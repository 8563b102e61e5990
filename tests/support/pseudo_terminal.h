#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace wick {

// A program at a terminal of its own, with somebody who types.
class PseudoTerminal {
 public:
  // `environment` holds NAME=value settings that are added to this process's own.
  PseudoTerminal(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment = {}, int columns = 80);
  ~PseudoTerminal();  // ends the program
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  void type(std::string_view keys);
  // Waits until `part` has appeared behind what was waited for before; what came up to and with it. Fails the test
  // when it does not come.
  std::string wait_for(std::string_view part);
  // Waits for the end of the program; its exit code, or 128 + signal.
  int wait();

 private:
  bool read_more();

  pid_t child_ = -1;
  int terminal_ = -1;
  std::string seen_;
  size_t done_ = 0;
};

}  // namespace wick
