#include "cli/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/thread_pool.h"
#include "media/ffmpeg_program.h"
#include "ops/kernel_table.h"
#include "tensor/device.h"

#if WICK_CUDA
#include "backends/cuda/runtime/devices.h"
#endif

namespace wick {
namespace {

constexpr int kKernels = 0
#define WICK_KERNEL(name) +1
#include "ops/kernel_names.inc"
#undef WICK_KERNEL
    ;

std::string compiler_name() {
#if defined(__clang__)
  return cat("Clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#elif defined(__GNUC__)
  return cat("GCC ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#else
  return "unknown compiler";
#endif
}

DeviceReport report_device(Device device, std::string detail) {
  DeviceReport report{to_string(device), std::move(detail), {}};
  const KernelTable& table = device.kernels();
#define WICK_KERNEL(name) \
  if (!table.name) report.missing_kernels.emplace_back(#name);
#include "ops/kernel_names.inc"
#undef WICK_KERNEL
  return report;
}

void add_cuda_devices(DoctorReport& report) {
#if WICK_CUDA
  const CudaDevices cuda = list_cuda_devices();
  for (size_t i = 0; i < cuda.devices.size(); ++i) {
    const CudaDeviceInfo& info = cuda.devices[i];
    report.devices.push_back(
        report_device(Device::cuda(static_cast<int>(i)),
                      cat(info.name, ", compute capability ", info.major, ".", info.minor, ", ",
                          bytes_text(info.memory_total), ", ", bytes_text(info.memory_free), " free")));
  }
  report.cuda_note = cuda.problem;
#else
  report.cuda_note = "this build is without CUDA";
#endif
}

std::string join(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string kernels_text(const DeviceReport& device) {
  if (device.missing_kernels.empty()) return cat("all ", kKernels, " kernels");
  if (static_cast<int>(device.missing_kernels.size()) == kKernels) return "no kernels yet";
  return cat("missing kernels: ", join(device.missing_kernels, ", "));
}

std::string memory_text(const MachineInfo& machine) {
  if (!machine.memory_total) return "unknown";
  std::string text = bytes_text(*machine.memory_total);
  if (machine.memory_available) text += cat(", ", bytes_text(*machine.memory_available), " available");
  return text;
}

std::string caches_text(const MachineInfo& machine) {
  std::vector<std::string> parts;
  for (const CacheSize& cache : machine.caches) parts.push_back(cat(cache.name, " ", bytes_text(cache.bytes)));
  return parts.empty() ? "unknown" : join(parts, ", ");
}

}  // namespace

bool DoctorReport::ok() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.ok; });
}

DoctorReport make_doctor_report() {
  DoctorReport report;
  report.version = WICK_VERSION;
  report.compiler = compiler_name();
  report.build_type = WICK_BUILD_TYPE;
  report.machine = machine_info();
  report.threads = ThreadPool::instance().size();
  report.instruction_sets = instruction_sets();
  report.devices.push_back(report_device(Device::cpu(), ""));
  report.devices.push_back(report_device(Device::reference(), ""));
  add_cuda_devices(report);
  report.sound = ffmpeg_way();
  report.checks = run_self_checks();
  return report;
}

nlohmann::ordered_json to_json(const DoctorReport& report) {
  using nlohmann::ordered_json;
  const auto bytes = [](const std::optional<int64_t>& value) { return value ? ordered_json(*value) : ordered_json(); };
  const MachineInfo& machine = report.machine;
  ordered_json caches = ordered_json::array(), devices = ordered_json::array(), checks = ordered_json::array();
  for (const auto& cache : machine.caches) caches.push_back({{"name", cache.name}, {"bytes", cache.bytes}});
  for (const auto& device : report.devices) {
    devices.push_back({{"name", device.name}, {"detail", device.detail}, {"missing_kernels", device.missing_kernels}});
  }
  for (const auto& check : report.checks) {
    checks.push_back({{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}});
  }
  return {{"version", report.version},
          {"compiler", report.compiler},
          {"build_type", report.build_type},
          {"machine",
           {{"os", machine.os},
            {"cpu", machine.cpu},
            {"cpus_allowed", machine.cpus_allowed},
            {"cpus_total", machine.cpus_total},
            {"caches", caches},
            {"memory_total", bytes(machine.memory_total)},
            {"memory_available", bytes(machine.memory_available)}}},
          {"threads", report.threads},
          {"instruction_sets",
           {{"compiled", report.instruction_sets.compiled},
            {"supported", report.instruction_sets.supported},
            {"chosen", report.instruction_sets.chosen}}},
          {"devices", devices},
          {"cuda_note", report.cuda_note},
          {"sound", report.sound.empty() ? ordered_json() : ordered_json(report.sound)},
          {"checks", checks},
          {"ok", report.ok()}};
}

std::string to_text(const DoctorReport& report, const Terminal& terminal) {
  using Align = Table::Align;
  const MachineInfo& machine = report.machine;
  std::string out = cat(terminal.paint(cat("wick ", report.version), Colour::kBold), " (", report.compiler, ", ",
                        report.build_type, ")\n");
  const auto section = [&](const char* title, const Table& table) {
    out += cat("\n", terminal.paint(title, Colour::kBold), "\n", table.text(terminal));
  };

  Table facts({Align::kLeft, Align::kLeft});
  facts.add({{"  system"}, {machine.os}});
  facts.add({{"  cpu"}, {cat(machine.cpu, ", ", machine.cpus_allowed, " of ", machine.cpus_total, " CPUs allowed")}});
  facts.add({{"  threads"}, {cat(report.threads, " (set with WICK_THREADS)")}});
  facts.add({{"  caches"}, {caches_text(machine)}});
  facts.add({{"  memory"}, {memory_text(machine)}});
  facts.add({{"  sound"},
             {report.sound.empty() ? "WAV only; other kinds are read with ffmpeg (apt install ffmpeg)"
                                   : cat("WAV, and other kinds with ", report.sound)}});
  section("machine", facts);

  Table sets({Align::kLeft, Align::kLeft});
  sets.add({{"  compiled in"}, {join(report.instruction_sets.compiled, " ")}});
  sets.add({{"  supported"}, {join(report.instruction_sets.supported, " ")}});
  sets.add({{"  chosen"}, {report.instruction_sets.chosen}});
  section("instruction sets", sets);

  Table devices({Align::kLeft, Align::kLeft});
  for (const DeviceReport& device : report.devices) {
    const std::string kernels = kernels_text(device);
    devices.add({{cat("  ", device.name)}, {device.detail.empty() ? kernels : cat(device.detail, "; ", kernels)}});
  }
  if (!report.cuda_note.empty()) devices.add({{"  cuda"}, {report.cuda_note, Colour::kDim}});
  section("devices", devices);

  Table checks({Align::kLeft, Align::kLeft, Align::kLeft});
  for (const Check& check : report.checks) {
    checks.add(
        {{check.ok ? "  ok" : "  failed", check.ok ? Colour::kGood : Colour::kBad}, {check.name}, {check.detail}});
  }
  section("self-check", checks);
  return out;
}

}  // namespace wick
