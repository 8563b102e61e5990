#include "server/web_routes.h"

#include <algorithm>

#include "base/ascii.h"
#include "server/web_page.h"

namespace wick {
namespace {

// Accept-Encoding as browsers send it, "gzip, deflate, br;q=0.5": gzip by its name, and not with a weight of 0.
bool accepts_gzip(std::string_view header) {
  while (!header.empty()) {
    const size_t end = std::min(header.find(','), header.size());
    const std::string_view each = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    const size_t semicolon = std::min(each.find(';'), each.size());
    if (trimmed(each.substr(0, semicolon)) != "gzip") continue;
    const std::string_view weight = trimmed(each.substr(std::min(semicolon + 1, each.size())));
    return !weight.starts_with("q=0") || weight.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

// A browser that has the file already is told so.
HttpResponse answer(const WebFile& file, const HttpRequest& request) {
  HttpResponse response;
  const bool is_packed = !file.gzip.empty() && accepts_gzip(request.header("accept-encoding").value_or(""));
  const std::string_view etag = is_packed ? file.gzip_etag : file.etag;
  response.headers = {{"ETag", std::string(etag)},
                      {"Vary", "Accept-Encoding"},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", std::string(kContentSecurityPolicy)},
                      {"Referrer-Policy", "no-referrer"}};
  response.content_type = file.content_type;
  if (request.header("if-none-match") == etag) {
    response.status = 304;
    return response;
  }
  if (is_packed) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = is_packed ? file.gzip : file.body;
  return response;
}

void add_file(Router& router, std::string path, const WebFile& file) {
  router.add("GET", std::move(path),
             [&file](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
               exchange->send(answer(file, request));
             },
             {.quick = true, .is_public = true});
}

}  // namespace

void add_web_routes(Router& router) {
  for (const WebFile& file : web_files()) add_file(router, std::string(file.path), file);
  add_file(router, "/", *find_web_file("/"));
}

}  // namespace wick
