#include "cli/microscope/html_report.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"
#include "cli/microscope/html_report_parts.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr double kDark = 0.8;  // shades from here on have letters of the other lightness

std::string element(std::string_view tag, std::string_view text) {
  return cat("<", tag, ">", html_escaped(text), "</", tag, ">");
}

std::string head_of(const std::string& title, const std::string& note) {
  return cat(element("h2", title), note.empty() ? "" : element("p", note), "\n");
}

void append_cell(std::string& out, const HeatCell& cell) {
  const double size = std::min(1.0, std::abs(cell.shade));
  const char* kind = cell.shade < 0 ? (size > kDark ? " class=\"below dark\"" : " class=\"below\"")
                                    : (size > kDark ? " class=\"dark\"" : "");
  out += cat("<td", kind, fmt::format(" style=\"--s:{:.2g}\"", size));
  if (!cell.detail.empty()) out += cat(" title=\"", html_escaped(cell.detail), "\"");
  out += cat(">", html_escaped(cell.text), "</td>");
}

std::string html_of(const HeatTable& table) {
  std::string out = cat("<section>", head_of(table.title, table.note), "<div class=\"scroll\"><table class=\"heat",
                        table.narrow ? " narrow" : "", "\">\n<thead>");
  const HeatAxis &rows = table.rows, &columns = table.columns;
  const auto header = [&](const std::vector<std::string>& names, const char* kind, const std::string& corner) {
    if (names.empty()) return;
    out += cat("<tr class=\"", kind, "\"><th>", html_escaped(corner), "</th>");
    for (const std::string& name : names) out += cat("<th><span>", html_escaped(name), "</span></th>");
    out += "</tr>";
  };
  header(columns.numbers, "numbers", columns.labels.empty() ? rows.title : "");
  header(columns.labels, "labels", rows.title);
  out += "</thead>\n<tbody>\n";
  for (size_t at = 0; at < rows.size(); ++at) {
    const size_t row = rows.rises ? rows.size() - 1 - at : at;
    const std::string number = rows.numbers.empty() ? "" : rows.numbers[row];
    const std::string label = rows.labels.empty() ? "" : rows.labels[row];
    out +=
        cat("<tr><th>", html_escaped(number), number.empty() || label.empty() ? "" : " ", html_escaped(label), "</th>");
    for (size_t column = 0; column < columns.size(); ++column) append_cell(out, table.at(row, column));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></section>\n";
}

std::string html_of(const ListTable& list) {
  std::string out = cat("<section>", head_of(list.title, list.note), "<div class=\"scroll\"><table class=\"list",
                        list.left ? " left" : "", "\">\n<thead><tr>");
  for (const std::string& heading : list.headings) out += element("th", heading);
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : list.rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += element("td", cell);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></section>\n";
}

std::string html_of(const Passage& passage) {
  return cat("<section>", element("h2", passage.title), element("pre", passage.text), "</section>\n");
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : replace_invalid_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

std::string html_page(const MicroscopeReport& report) {
  std::string out = cat("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n", kPagePolicy,
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n",
                        element("title", report.title), "\n<style>", kPageStyle, "</style>\n</head>\n<body>\n",
                        element("h1", report.title), "\n<dl>");
  for (const auto& [name, value] : report.facts) out += element("dt", name) + element("dd", value);
  out += "</dl>\n";
  for (const auto& section : report.sections) {
    out += std::visit([](const auto& part) { return html_of(part); }, section);
  }
  return cat(out, "<div id=\"detail\" role=\"status\" hidden=\"hidden\"></div>\n<script>", kPageScript,
             "</script>\n</body>\n</html>\n");
}

}  // namespace wick
