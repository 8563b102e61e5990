#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wick {

struct CacheSize {
  std::string name;  // "L1d", "L2", "L3"
  int64_t bytes = 0;
};

// Facts about the machine, for reports. What the system does not tell is empty.
struct MachineInfo {
  std::string os;   // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  std::string cpu;  // the model's name
  int cpus_total = 1;
  int cpus_allowed = 1;           // those this process may run on
  std::vector<CacheSize> caches;  // of the first CPU, smallest first; instruction caches left out
  std::optional<int64_t> memory_total, memory_available;  // bytes
};

MachineInfo machine_info();

// Bytes that this process could still take without pushing anything out: the system's, or those left to its control
// group where that is less. 0 when the system does not tell.
int64_t spare_memory();

// "64 KiB", "1.5 GiB": three digits at most.
std::string bytes_text(int64_t bytes);

}  // namespace wick
