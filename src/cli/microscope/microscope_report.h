#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/microscope/heat_table.h"

namespace wick {

// Rows of text under headings; the first column is on the left, the others on the right unless `left`.
struct ListTable {
  std::string title, note;
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
  bool left = false;
};

// Text to read, as an answer.
struct Passage {
  std::string title, text;
};

// What a command of the microscope found, told once: for a terminal, for a page and for programs. All texts are visible
// ones (token_label.h).
struct MicroscopeReport {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // "model", "Ember"
  std::vector<std::variant<HeatTable, ListTable, Passage>> sections;
  nlohmann::ordered_json json;
};

std::string report_text(const MicroscopeReport& report, const Terminal& terminal);

struct MicroscopeArguments;

// Prints the report, or its JSON; also writes it as a page, and opens that, where the arguments say so. Throws
// Error(kIo).
void show_report(const MicroscopeReport& report, const MicroscopeArguments& arguments);

}  // namespace wick
