#include "server/web_routes.h"

#include "server/web_page.h"

namespace wick {
namespace {

// A browser that has the file already is told so.
HttpResponse answer(const WebFile& file, const HttpRequest& request) {
  HttpResponse response;
  response.headers = {{"ETag", std::string(file.etag)},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", std::string(kContentSecurityPolicy)},
                      {"Referrer-Policy", "no-referrer"}};
  response.content_type = file.content_type;
  if (request.header("if-none-match") == file.etag) {
    response.status = 304;
  } else {
    response.body = file.body;
  }
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
