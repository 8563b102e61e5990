#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/cpu/instruction_sets.h"
#include "base/machine.h"
#include "cli/self_check.h"
#include "cli/terminal/terminal.h"

namespace wick {

struct DeviceReport {
  std::string name;                          // "cpu", "cuda:0"
  std::string detail;                        // model and memory; empty for the host
  std::vector<std::string> missing_kernels;  // entries of KernelTable that are null
};

// Everything `wick doctor` knows; text and JSON are two views of it.
struct DoctorReport {
  std::string version, compiler, build_type;
  MachineInfo machine;
  int threads = 1;
  InstructionSets instruction_sets;
  std::vector<DeviceReport> devices;
  std::string cuda_note;  // why there is no CUDA device; empty when there is one
  std::string sound;      // how sound other than WAV is read; empty: it is not
  std::vector<Check> checks;

  bool ok() const;
};

DoctorReport make_doctor_report();
nlohmann::ordered_json to_json(const DoctorReport& report);
std::string to_text(const DoctorReport& report, const Terminal& terminal);

}  // namespace wick
