#include "cli/microscope/microscope_report.h"

#include <iostream>
#include <span>

#include "base/output_file.h"
#include "base/text.h"
#include "cli/microscope/html_report.h"
#include "cli/microscope/microscope.h"
#include "cli/microscope/token_label.h"
#include "cli/process.h"
#include "cli/shared_options.h"

namespace wick {
namespace {

std::string text_of(const HeatTable& table, const Terminal& terminal) { return heat_text(table, terminal); }

std::string text_of(const ListTable& list, const Terminal& terminal) {
  std::vector<int> widths(list.headings.size());
  const auto widen = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_columns(row[i]));
  };
  widen(list.headings);
  for (const auto& row : list.rows) widen(row);
  const auto line_of = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(static_cast<size_t>(widths[i] - text_columns(row[i])), ' ');
      line += cat(i > 0 ? "  " : "", i == 0 || list.left ? row[i] + blanks : blanks + row[i]);
    }
    return line.erase(line.find_last_not_of(' ') + 1);
  };
  std::string out = terminal.paint(list.title, Colour::kBold) + "\n";
  if (!list.note.empty()) out += terminal.paint(list.note, Colour::kDim) + "\n";
  out += terminal.paint(line_of(list.headings), Colour::kDim) + "\n";
  for (const auto& row : list.rows) out += line_of(row) + "\n";
  return out;
}

std::string text_of(const Passage& passage, const Terminal& terminal) {
  return cat(terminal.paint(passage.title, Colour::kBold), "\n", passage.text,
             passage.text.ends_with('\n') ? "" : "\n");
}

}  // namespace

std::string report_text(const MicroscopeReport& report, const Terminal& terminal) {
  std::string out;
  for (const auto& section : report.sections) {
    if (!out.empty()) out += "\n";
    out += std::visit([&](const auto& part) { return text_of(part, terminal); }, section);
  }
  return out;
}

void show_report(const MicroscopeReport& report, const MicroscopeArguments& arguments) {
  const std::string& html = arguments.html;
  if (!html.empty()) {
    const std::string page = html_page(report);
    OutputFile file(html);
    file.write_at(0, std::as_bytes(std::span(page)));
    file.finish();
  }
  if (arguments.json) {
    std::cout << report.json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    std::cout << report_text(report, Terminal::of_stdout());
    if (!html.empty()) std::cerr << "wick: the page is in " << html << "\n";
  }
  if (arguments.open && !open_page(std::filesystem::absolute(html).string())) warn(kNothingOpensPages);
}

}  // namespace wick
