#include "cli/microscope/heat_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "cli/microscope/token_label.h"

namespace wick {
namespace {

constexpr int kRowLabel = 18;  // terminal columns, at most

// From little to much, of the 256 colours: lightness rises, so that they differ without hue, too.
constexpr int kAbove[] = {17, 18, 24, 25, 31, 37, 43, 49};        // blue to green
constexpr int kBelow[] = {52, 88, 124, 130, 166, 202, 208, 214};  // red to yellow
constexpr int kSteps = static_cast<int>(std::size(kAbove));
constexpr int kBlackFrom = 4;  // steps with black letters
constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// 0: none, kSteps: all of it.
int step_of(double shade) { return std::clamp(static_cast<int>(std::lround(std::abs(shade) * kSteps)), 0, kSteps); }

std::string padded(const std::string& text, int columns, bool right = false) {
  const std::string shown = fit_columns(text, columns);
  const std::string blanks(static_cast<size_t>(std::max(0, columns - text_columns(shown))), ' ');
  return right ? blanks + shown : shown + blanks;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

class HeatPrinter {
 public:
  HeatPrinter(const HeatTable& table, const Terminal& terminal) : table_(table), terminal_(terminal) {
    bool any_text = false;
    for (const HeatCell& cell : table.cells) {
      any_text = any_text || !cell.text.empty();
      any_below_ = any_below_ || cell.shade < 0;
    }
    gap_ = any_text || !terminal.colour ? 1 : 0;
    for (size_t column = 0; column < table.columns.size(); ++column) widths_.push_back(width_of(column));
    label_ = text_columns(table.rows.title);
    for (size_t row = 0; row < table.rows.size(); ++row) label_ = std::max(label_, text_columns(row_label(row)));
    label_ = std::min(label_, kRowLabel);
  }

  std::string text() const {
    std::string out = terminal_.paint(table_.title, Colour::kBold) + "\n";
    if (!table_.note.empty()) out += terminal_.paint(table_.note, Colour::kDim) + "\n";
    for (size_t begin = 0; begin < widths_.size();) {
      const size_t end = page_end(begin);
      if (begin > 0) out += "\n";
      out += page(begin, end);
      begin = end;
    }
    return out;
  }

 private:
  std::string row_label(size_t row) const {
    const HeatAxis& rows = table_.rows;
    if (rows.numbers.empty()) return rows.labels[row];
    if (rows.labels.empty()) return rows.numbers[row];
    const int digits = text_columns(rows.numbers.back());
    return cat(padded(rows.numbers[row], std::max(digits, text_columns(rows.numbers[row])), true), " ",
               rows.labels[row]);
  }

  // With what stands for the shade where there is no colour.
  std::string cell_text(const HeatCell& cell) const {
    if (terminal_.colour) return cell.text;
    const int step = step_of(cell.shade);
    return cat(any_below_ ? cell.shade < 0 && step > 0 ? "-" : " " : "", kBars[step]);
  }

  int width_of(size_t column) const {
    int width = 2;
    const HeatAxis& columns = table_.columns;
    if (!columns.labels.empty() && !table_.narrow) width = std::max(width, text_columns(columns.labels[column]));
    if (!columns.numbers.empty()) width = std::max(width, text_columns(columns.numbers[column]));
    int bar = 0;
    for (size_t row = 0; row < table_.rows.size(); ++row) {
      const HeatCell& cell = table_.at(row, column);
      width = std::max(width, text_columns(cell.text));
      if (!terminal_.colour) bar = std::max(bar, text_columns(cell_text(cell)));
    }
    return std::min(width, table_.widest) + (bar > 0 && has_text(column) ? bar : 0);
  }

  bool has_text(size_t column) const {
    for (size_t row = 0; row < table_.rows.size(); ++row) {
      if (!table_.at(row, column).text.empty()) return true;
    }
    return false;
  }

  // At least one column, however narrow the terminal.
  size_t page_end(size_t begin) const {
    int used = label_;
    size_t end = begin;
    while (end < widths_.size()) {
      used += 1 + widths_[end] + (end > begin ? gap_ - 1 : 0);
      if (used > terminal_.width && end > begin) break;
      ++end;
    }
    return end;
  }

  std::string header(const std::vector<std::string>& names, size_t begin, size_t end, const std::string& title) const {
    std::string line = padded(title, label_);
    for (size_t column = begin; column < end; ++column) {
      line += std::string(static_cast<size_t>(column > begin ? gap_ : 1), ' ') + padded(names[column], widths_[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return terminal_.paint(line, Colour::kDim) + "\n";
  }

  std::string page(size_t begin, size_t end) const {
    const HeatAxis& columns = table_.columns;
    const bool labelled = !columns.labels.empty() && !table_.narrow;
    std::string out;
    if (!columns.numbers.empty()) out += header(columns.numbers, begin, end, labelled ? "" : table_.rows.title);
    if (labelled) out += header(columns.labels, begin, end, table_.rows.title);
    for (size_t row = 0; row < table_.rows.size(); ++row) {
      std::string line = padded(row_label(row), label_, table_.rows.labels.empty());
      for (size_t column = begin; column < end; ++column) {
        line += std::string(static_cast<size_t>(column > begin ? gap_ : 1), ' ');
        line += shaded(table_.at(row, column), widths_[column]);
      }
      out += terminal_.colour ? line + "\n" : without_trailing_blanks(std::move(line));
    }
    return out;
  }

  std::string shaded(const HeatCell& cell, int width) const {
    if (!terminal_.colour) {
      const std::string bar = cell_text(cell);
      return padded(cell.text, std::max(0, width - text_columns(bar))) + bar;
    }
    const int step = step_of(cell.shade);
    const std::string text = padded(cell.text, width);
    if (step == 0) return text;
    const int colour = (cell.shade < 0 ? kBelow : kAbove)[step - 1];
    return fmt::format("\033[38;5;{};48;5;{}m{}\033[0m", step > kBlackFrom ? 16 : 231, colour, text);
  }

  const HeatTable& table_;
  const Terminal& terminal_;
  int gap_ = 1, label_ = 0;
  bool any_below_ = false;
  std::vector<int> widths_;
};

}  // namespace

std::string heat_text(const HeatTable& table, const Terminal& terminal) { return HeatPrinter(table, terminal).text(); }

std::string short_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{:g}", value);
  const double size = std::abs(value);
  if (size < 0.005) return "0";
  if (size < 9.995) return fmt::format("{:.2f}", value);
  if (size < 99.95) return fmt::format("{:.1f}", value);
  return size < 99999.5 ? fmt::format("{:.0f}", value) : fmt::format("{:.1e}", value);
}

std::string percent_text(double share) {
  if (share <= 0) return "0%";
  if (share < 0.01) return "<1%";
  return fmt::format("{:.0f}%", share * 100);
}

}  // namespace wick
