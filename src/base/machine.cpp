#include "base/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <thread>

#include "base/text.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace wick {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The text behind the first line that starts with `name`, past `separator` and blanks; empty when there is none.
std::string field(const std::string& path, std::string_view name, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const size_t start = line.find_first_not_of(" \t\"", at + 1);
    if (start == std::string::npos) continue;
    return line.substr(start, line.find_last_not_of(" \t\"") - start + 1);
  }
  return {};
}

std::optional<int64_t> leading_number(std::string_view text) {
  int64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> meminfo_bytes(std::string_view name) {
  const auto kib = leading_number(field("/proc/meminfo", name, ':'));
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

// What is left to the process's control group and those around it, under version 2 ("0::/path") or 1
// ("4:memory:/path"); empty without a limit. Cached files count as used, so this is rather too little.
std::optional<int64_t> group_bytes_left() {
  struct Version {
    std::string_view mark, root, limit, used;
  };
  constexpr Version kVersions[] = {
      {"::", "/sys/fs/cgroup", "/memory.max", "/memory.current"},
      {":memory:", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes"}};
  std::optional<int64_t> left;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    for (const Version& version : kVersions) {
      const size_t mark = line.find(version.mark);
      if (mark == std::string::npos) continue;
      for (std::string path = line.substr(mark + version.mark.size());; path.resize(path.rfind('/'))) {
        const auto limit = leading_number(first_line(cat(version.root, path, version.limit)));
        const auto used = leading_number(first_line(cat(version.root, path, version.used)));
        if (limit && used) left = std::min(left.value_or(*limit), std::max<int64_t>(0, *limit - *used));
        if (path.find('/') == std::string::npos) break;
      }
    }
  }
  return left;
}

std::string os_name() {
  std::string name = field("/etc/os-release", "PRETTY_NAME", '=');
  utsname system{};
  if (uname(&system) != 0) return name;
  const std::string kernel = cat(system.sysname, " ", system.release, " ", system.machine);
  return name.empty() ? kernel : cat(name, ", ", kernel);
}

std::vector<CacheSize> cache_sizes() {
  std::vector<CacheSize> caches;
  for (int i = 0;; ++i) {
    const std::string folder = cat("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    const std::string level = first_line(folder + "level"), type = first_line(folder + "type");
    if (level.empty()) break;
    const std::string size = first_line(folder + "size");  // "32K"
    const auto number = leading_number(size);
    if (type == "Instruction" || !number) continue;
    const int64_t unit = size.ends_with('M') ? 1 << 20 : size.ends_with('K') ? 1 << 10 : 1;
    caches.push_back({cat("L", level, type == "Data" ? "d" : ""), *number * unit});
  }
  std::stable_sort(caches.begin(), caches.end(),
                   [](const CacheSize& a, const CacheSize& b) { return a.bytes < b.bytes; });
  return caches;
}

}  // namespace

MachineInfo machine_info() {
  MachineInfo info;
  info.os = os_name();
  info.cpu = field("/proc/cpuinfo", "model name", ':');
  if (info.cpu.empty()) info.cpu = "unknown CPU";
  info.cpus_total = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  info.cpus_allowed = info.cpus_total;
#if defined(__linux__)
  if (const auto online = field("/proc/cpuinfo", "processor", ':'); !online.empty()) {
    std::ifstream file("/proc/cpuinfo");
    int count = 0;
    for (std::string line; std::getline(file, line);) count += line.starts_with("processor");
    info.cpus_total = count;
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) info.cpus_allowed = CPU_COUNT(&set);
#endif
  info.caches = cache_sizes();
  info.memory_total = meminfo_bytes("MemTotal");
  info.memory_available = meminfo_bytes("MemAvailable");
  return info;
}

int64_t spare_memory() {
  const int64_t available = meminfo_bytes("MemAvailable").value_or(0);
  return std::min(available, group_bytes_left().value_or(available));
}

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 999.5 && unit < 6; ++unit) value /= 1024;
  const bool whole = unit == 0 || value >= 99.5 || value == static_cast<int64_t>(value);
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, kUnits[unit]);
}

}  // namespace wick
