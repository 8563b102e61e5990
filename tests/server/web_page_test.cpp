#include "server/web_page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

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

TEST(WebPage, HoldsEveryFileOfTheFolderByteForByte) {
  std::set<std::string> expected;
  for (const auto& entry : fs::recursive_directory_iterator(kWebFolder)) {
    if (entry.is_regular_file()) expected.insert(cat("/", fs::relative(entry.path(), kWebFolder).generic_string()));
  }
  std::set<std::string> embedded;
  for (const WebFile& file : web_files()) embedded.emplace(file.path);
  EXPECT_EQ(embedded, expected);
  for (const std::string& path : expected) {
    const WebFile* file = find_web_file(path);
    ASSERT_NE(file, nullptr) << path;
    EXPECT_TRUE(file->body == read(kWebFolder / path.substr(1))) << path;
    EXPECT_FALSE(file->body.empty()) << path;
  }
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
                                                                : "image/svg+xml";
    EXPECT_EQ(file.content_type, type) << file.path;
  }
}

TEST(WebPage, TagsAreQuotedAndTellFilesApart) {
  std::set<std::string_view> tags;
  for (const WebFile& file : web_files()) {
    EXPECT_TRUE(std::regex_match(std::string(file.etag), std::regex("\"[0-9a-f]{16}\""))) << file.etag;
    tags.insert(file.etag);
  }
  EXPECT_EQ(tags.size(), web_files().size());
}

TEST(WebPage, WhatThePageAsksForIsThere) {
  std::set<std::string> reached = {"/index.html"};
  for (const std::string& path : matches(find_web_file("/")->body, std::regex("(?:src|href)=\"(/[^\"#]+)\""))) {
    EXPECT_NE(find_web_file(path), nullptr) << "index.html names " << path;
    reached.insert(path);
  }
  const std::regex import(R"((?:^|\n)\s*(?:import|export|\})[^'\n;]*?(?:from )?'(\.[^']+)')");
  for (const WebFile& file : web_files()) {
    if (!file.path.ends_with(".js")) continue;
    for (const std::string& name : matches(file.body, import)) {
      const std::string path = (fs::path(file.path).parent_path() / name).lexically_normal().generic_string();
      EXPECT_NE(find_web_file(path), nullptr) << file.path << " imports " << name;
      reached.insert(path);
    }
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
