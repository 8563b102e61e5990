#pragma once

#include <span>
#include <string_view>

namespace wick {

// A file of the page as it lies in the program: cmake/bundle_web.cmake joins and compresses those of web/.
struct WebFile {
  std::string_view path;          // "/page.js"
  std::string_view content_type;  // "text/javascript; charset=utf-8"
  std::string_view body;
  std::string_view etag;  // with its quotes, as in the header
  std::string_view gzip;  // the body packed; empty where that saves nothing
  std::string_view gzip_etag;
};

// Ordered by path. Thread-safe.
std::span<const WebFile> web_files();
// "/" is the page itself, "/index.html". Null when there is no such file.
const WebFile* find_web_file(std::string_view path);

// To be sent with every file: nothing from elsewhere, no inline script or style, no HTML made from text.
inline constexpr std::string_view kContentSecurityPolicy =
    "default-src 'self'; media-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

}  // namespace wick
