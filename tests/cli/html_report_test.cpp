#include "cli/microscope/html_report.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/base64.h"
#include "hub/checksum.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/well_formed.h"

namespace wick {
namespace {

constexpr char kHostile[] = "</td><script>alert(1)</script>\"'&\033\xFF";

MicroscopeReport hostile_report() {
  MicroscopeReport report;
  report.title = kHostile;
  report.facts = {{kHostile, kHostile}};
  HeatTable table;
  table.title = table.note = table.rows.title = table.columns.title = kHostile;
  table.rows.numbers = table.rows.labels = table.columns.numbers = table.columns.labels = {kHostile};
  table.cells = {{kHostile, -0.7, kHostile}};
  report.sections.emplace_back(table);
  table.narrow = true;
  report.sections.emplace_back(table);
  report.sections.emplace_back(ListTable{kHostile, kHostile, {kHostile}, {{kHostile}}, true});
  report.sections.emplace_back(Passage{kHostile, kHostile});
  return report;
}

size_t count_of(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlReport, EscapesEverything) {
  EXPECT_EQ(html_escaped("<a href=\"x\">'&\x1b\xff"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\xEF\xBF\xBD");
  const std::string page = html_page(hostile_report());
  EXPECT_EQ(well_formed(page), "");
  EXPECT_EQ(count_of(page, "<script>"), 1);  // its own
  EXPECT_EQ(count_of(page, "alert(1)"), count_of(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
  EXPECT_EQ(page.find('\033'), std::string::npos);
}

TEST(HtmlReport, FetchesNothing) {
  const std::string page = html_page(hostile_report());
  for (const char* part : {"http:", "https:", "src=", "href=", "@import", "url("}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

HeatTable layers_by_heads() {
  HeatTable table;
  table.rows = layer_axis();
  table.rows.numbers = {"0", "1", "2"};
  table.columns.labels = {"head 0"};
  table.cells = {{"low", 0.1, ""}, {"middle", 0.2, ""}, {"high", 0.3, ""}};
  return table;
}

std::string page_of(HeatTable table) {
  MicroscopeReport report;
  report.sections.emplace_back(std::move(table));
  return html_page(report);
}

TEST(HtmlReport, LayersRiseAndOtherRowsFall) {
  HeatTable table = layers_by_heads();
  const std::string risen = page_of(table);
  EXPECT_LT(risen.find(">high<"), risen.find(">middle<"));
  EXPECT_LT(risen.find(">middle<"), risen.find(">low<"));
  EXPECT_LT(risen.find("<th>2</th>"), risen.find(">high<"));
  table.rows.rises = false;
  const std::string fallen = page_of(table);
  EXPECT_LT(fallen.find(">low<"), fallen.find(">high<"));
  // A terminal has them as they are.
  const std::string text = heat_text(layers_by_heads(), {});
  EXPECT_LT(text.find("low"), text.find("high"));
}

// A header of one row lies at the top; only one that has a row above it lies below that.
TEST(HtmlReport, HeaderTakesTheRoomOfItsRows) {
  const std::string page = page_of(layers_by_heads());
  EXPECT_EQ(page.find("tr class=\"numbers\""), std::string::npos);
  EXPECT_NE(page.find("tr.numbers+tr.labels th{top:"), std::string::npos);
  EXPECT_EQ(page.find("thead tr.labels th{top:"), std::string::npos);
}

// The page of the server and the exports have the same colours.
TEST(HtmlReport, LooksLikeTheServersPage) {
  std::ifstream file(std::string(WICK_SOURCE_DIR) + "/web/style/base.css");
  const std::string style{std::istreambuf_iterator<char>(file), {}};
  const std::string page = html_page({});
  for (const char* name : {"ink", "soft", "line"}) {
    const size_t at = style.find(fmt::format("--{}: #", name));
    ASSERT_NE(at, std::string::npos) << name;
    const std::string colour = style.substr(style.find('#', at), 7);
    EXPECT_NE(page.find(fmt::format("--{}:{}", name, colour)), std::string::npos) << name;
  }
}

// The page's policy names its script by hash.
TEST(HtmlReport, PolicyAllowsTheScript) {
  const std::string page = html_page({});
  const auto between = [&](std::string_view before, std::string_view behind) {
    const size_t begin = page.find(before) + before.size();
    return page.substr(begin, page.find(behind, begin) - begin);
  };
  const TempFolder folder;
  std::ofstream(folder.path() / "script", std::ios::binary) << between("<script>", "</script>");
  const std::string hash = decode_base64(between("'sha256-", "'")).value_or("");
  std::string named;
  for (const char byte : hash) {
    named += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  EXPECT_EQ(named, sha256_of(folder.path() / "script"));
}

TEST(HtmlReport, TheCheckFindsMistakes) {
  EXPECT_EQ(well_formed("<!DOCTYPE html>\n<p a=\"1\">x<br /></p>"), "");
  EXPECT_NE(well_formed("<p><b></p></b>"), "");
  EXPECT_NE(well_formed("<p>"), "");
  EXPECT_NE(well_formed("<p a=\"<\"></p>"), "");
  EXPECT_NE(well_formed("<p>a < b</p>"), "");
  EXPECT_NE(well_formed("<p>a & b</p>"), "");
}

}  // namespace
}  // namespace wick
