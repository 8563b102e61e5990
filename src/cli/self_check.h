#pragma once

#include <string>
#include <vector>

namespace wick {

struct Check {
  std::string name;
  bool ok = false;
  std::string detail;  // the number measured and the number allowed, or what went wrong
};

// Computes for real, in well under a second: kernels of every device against the reference, one thread against several,
// a file written and mapped. Changes the thread pool's size while it runs and restores it.
std::vector<Check> run_self_checks();

}  // namespace wick
