#include "server/web_page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/places.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using std::literals::operator""sv;

const fs::path kWebFolder = fs::path(WICK_SOURCE_DIR) / "web";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The first group of every match.
std::vector<std::string> matches(std::string_view text, const std::regex& pattern) {
  std::vector<std::string> found;
  const std::string copy(text);
  for (std::sregex_iterator at(copy.begin(), copy.end(), pattern), end; at != end; ++at) found.push_back((*at)[1]);
  return found;
}

// The lines of a module but those that name other modules.
std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream text(read(path));
  std::vector<std::string> lines;
  bool is_import = false;
  for (std::string line; std::getline(text, line);) {
    is_import = is_import || line.starts_with("import ");
    if (!is_import) lines.push_back(line.starts_with("export ") ? line.substr(7) : line);
    if (line.ends_with(".js';")) is_import = false;
  }
  return lines;
}

TEST(WebPage, HoldsEveryLineOfEveryScriptAndStyle) {
  const std::string_view script = find_web_file("/page.js")->body;
  const std::string styles = cat(find_web_file("/page.css")->body, find_web_file("/dark.css")->body);
  size_t scripts = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kWebFolder / "script")) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), kWebFolder / "script").replace_extension().string();
    size_t at = script.find(cat("modules['", name, "'] = (() => {\n"));
    ASSERT_NE(at, script.npos) << entry.path();
    for (const std::string& line : lines_of(entry.path())) {
      at = script.find(line + "\n", at);
      ASSERT_NE(at, script.npos) << entry.path() << ": " << line;
    }
    ++scripts;
  }
  EXPECT_GT(scripts, 40u);
  for (const auto& entry : fs::recursive_directory_iterator(kWebFolder / "style")) {
    EXPECT_NE(styles.find(read(entry.path())), styles.npos) << entry.path();
  }
  for (const char* name : {"flame.svg", "microphone_worklet.js"}) {
    EXPECT_EQ(find_web_file(cat("/", name))->body, read(kWebFolder / name)) << name;
  }
}

TEST(WebPage, AFewFilesAreAll) {
  std::set<std::string_view> paths;
  for (const WebFile& file : web_files()) {
    paths.insert(file.path);
    EXPECT_FALSE(file.body.empty()) << file.path;
    EXPECT_TRUE(file.gzip.empty() || file.gzip.starts_with("\x1f\x8b")) << file.path;
    EXPECT_LT(file.gzip.size(), file.body.size()) << file.path;
  }
  EXPECT_EQ(paths, (std::set<std::string_view>{"/dark.css", "/example.wav", "/flame.svg", "/index.html",
                                               "/microphone_worklet.js", "/page.css", "/page.js"}));
}

TEST(WebPage, IsFoundByItsPathAlone) {
  const WebFile* page = find_web_file("/");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page, find_web_file("/index.html"));
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  for (const std::string_view path :
       {""sv, "index.html"sv, "/index.htm"sv, "/index.html/"sv, "//"sv, "/script"sv, "/script/"sv,
        "/../web/index.html"sv, "/~"sv, "/index.html\0"sv, "/INDEX.HTML"sv}) {
    EXPECT_EQ(find_web_file(path), nullptr) << path;
  }
}

TEST(WebPage, FilesHaveTheirTypes) {
  for (const WebFile& file : web_files()) {
    const std::string_view type = file.path.ends_with(".html")  ? "text/html; charset=utf-8"
                                  : file.path.ends_with(".css") ? "text/css; charset=utf-8"
                                  : file.path.ends_with(".js")  ? "text/javascript; charset=utf-8"
                                  : file.path.ends_with(".wav") ? "audio/wav"
                                                                : "image/svg+xml";
    EXPECT_EQ(file.content_type, type) << file.path;
  }
}

TEST(WebPage, TagsAreQuotedAndTellFilesApart) {
  std::set<std::string_view> tags;
  for (const WebFile& file : web_files()) {
    EXPECT_TRUE(std::regex_match(std::string(file.etag), std::regex("\"[0-9a-f]{16}\""))) << file.etag;
    tags.insert(file.etag);
    EXPECT_NE(file.gzip_etag, file.etag);
    EXPECT_EQ(file.gzip_etag.empty(), file.gzip.empty());
  }
  EXPECT_EQ(tags.size(), web_files().size());
}

TEST(WebPage, WhatThePageAsksForIsThere) {
  std::set<std::string> reached = {"/index.html"};
  for (const std::string& path : matches(find_web_file("/")->body, std::regex("(?:src|href)=\"(/[^\"#]+)\""))) {
    EXPECT_NE(find_web_file(path), nullptr) << "index.html names " << path;
    reached.insert(path);
  }
  const std::regex module(R"((?:^|\n)(import |export ))");
  for (const WebFile& file : web_files()) {
    if (!file.path.ends_with(".js")) continue;
    EXPECT_TRUE(matches(file.body, module).empty()) << file.path;
    for (const std::string& path : matches(file.body, std::regex("fetch\\('(/[a-z.]+)'"))) reached.insert(path);
    for (const std::string& path : matches(file.body, std::regex("addModule\\('(/[^']+)'"))) {
      EXPECT_NE(find_web_file(path), nullptr) << file.path << " loads " << path;
      reached.insert(path);
    }
  }
  for (const WebFile& file : web_files())
    EXPECT_TRUE(reached.contains(std::string(file.path))) << file.path << " is unused";
}

// The name of a namespace is no address; nothing is fetched from it.
TEST(WebPage, NamesNoOtherServer) {
  const std::regex address(R"(((?:https?:|wss?:)?//[a-zA-Z0-9-]+\.[^\s'"`)]+))");
  for (const WebFile& file : web_files()) {
    for (const std::string& found : matches(file.body, address)) {
      EXPECT_EQ(found, "http://www.w3.org/2000/svg") << file.path;
    }
  }
}

TEST(WebPage, MarkupObeysThePolicy) {
  const std::string_view page = find_web_file("/")->body;
  EXPECT_TRUE(matches(page, std::regex("(<script(?![^>]*src=)[^>]*>)")).empty());
  EXPECT_TRUE(matches(page, std::regex("(<style|\\sstyle=|\\son[a-z]+=)")).empty());
  for (const WebFile& file : web_files()) {
    EXPECT_TRUE(
        matches(file.body, std::regex(R"((innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\())")).empty())
        << file.path;
  }
  for (const char* rule : {"default-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"}) {
    EXPECT_NE(kContentSecurityPolicy.find(rule), std::string_view::npos) << rule;
  }
  EXPECT_EQ(kContentSecurityPolicy.find("unsafe"), std::string_view::npos);
}

}  // namespace
}  // namespace wick
