#include "server/web_page.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

// web_files.inc, written by cmake/WickWeb.cmake, has one line per file: WICK_WEB_FILE(3, "page.js").
#define WICK_WEB_FILE(index, file)                             \
  asm(".section .rodata\n"                                     \
      ".globl wick_web_" #index                                \
      "\n"                                                     \
      "wick_web_" #index                                       \
      ":\n"                                                    \
      ".incbin \"" WICK_WEB_DIR "/" file                       \
      "\"\n"                                                   \
      ".globl wick_web_" #index                                \
      "_end\n"                                                 \
      "wick_web_" #index                                       \
      "_end:\n"                                                \
      ".byte 0\n"                                              \
      ".previous\n");                                          \
  extern "C" const char wick_web_##index[];       /* NOLINT */ \
  extern "C" const char wick_web_##index##_end[]; /* NOLINT */
#include "web_files.inc"
#undef WICK_WEB_FILE

namespace wick {
namespace {

struct EmbeddedFile {
  std::string_view path;
  const char* begin;
  const char* end;
};

constexpr std::array kEmbedded = {
#define WICK_WEB_FILE(index, file) EmbeddedFile{"/" file, wick_web_##index, wick_web_##index##_end},
#include "web_files.inc"
#undef WICK_WEB_FILE
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kContentTypes = {{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".wav", "audio/wav"},
}};

std::string_view content_type(std::string_view path) {
  for (const auto& [suffix, type] : kContentTypes) {
    if (path.ends_with(suffix)) return type;
  }
  return "application/octet-stream";
}

// FNV-1a, 64 bits: tells versions of the page apart, nothing more.
std::string content_tag(std::string_view body) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : body) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(hash >> shift) & 15];
  return cat('"', digits, '"');
}

bool is_packed(const WebFile& file) { return file.path.ends_with(".gz"); }

struct WebPage {
  std::vector<std::string> tags;
  std::vector<WebFile> files;

  WebPage() {
    tags.reserve(kEmbedded.size());  // files hold views of them
    for (const EmbeddedFile& file : kEmbedded) {
      const std::string_view body(file.begin, static_cast<size_t>(file.end - file.begin));
      tags.push_back(content_tag(body));
      files.push_back({file.path, content_type(file.path), body, tags.back(), {}, {}});
    }
    // "/page.js.gz" comes right behind "/page.js".
    std::sort(files.begin(), files.end(), [](const WebFile& a, const WebFile& b) { return a.path < b.path; });
    for (size_t i = 1; i < files.size(); ++i) {
      if (!is_packed(files[i]) || files[i].body.size() >= files[i - 1].body.size()) continue;
      files[i - 1].gzip = files[i].body;
      files[i - 1].gzip_etag = files[i].etag;
    }
    std::erase_if(files, is_packed);
  }
};

}  // namespace

std::span<const WebFile> web_files() {
  static const WebPage page;
  return page.files;
}

const WebFile* find_web_file(std::string_view path) {
  if (path == "/") path = "/index.html";
  const auto files = web_files();
  const auto found = std::lower_bound(files.begin(), files.end(), path,
                                      [](const WebFile& file, std::string_view wanted) { return file.path < wanted; });
  return found != files.end() && found->path == path ? &*found : nullptr;
}

}  // namespace wick
