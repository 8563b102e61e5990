#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/doctor_report.h"

namespace wick {

void add_doctor(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("doctor", "Show the machine and check that Wick computes correctly on it");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object");
  command->footer(
      "Shows the version, the CPU, memory, instruction sets and devices, then computes a few ops and compares them\n"
      "with the reference kernels. Exits with 1 when a check fails.\n\n"
      "Examples:\n"
      "  wick doctor\n"
      "  WICK_THREADS=1 wick doctor\n"
      "  wick doctor --json");
  command->callback([&action, json] {
    action = [json] {
      const DoctorReport report = make_doctor_report();
      std::cout << (*json ? to_json(report).dump(2) + "\n" : to_text(report, Terminal::of_stdout()));
      return report.ok() ? 0 : 1;
    };
  });
}

}  // namespace wick
