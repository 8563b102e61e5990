#include "hub/curl_library.h"

#include "base/shared_library.h"

namespace wick {
namespace {

CurlLibrary load() {
  const SharedLibrary library({"libcurl.so.4", "libcurl-gnutls.so.4"},
                              "downloads need libcurl (tools/install-deps hub)");
  CurlLibrary curl{};
  library.find("curl_global_init", curl.global_init);
  library.find("curl_easy_init", curl.easy_init);
  library.find("curl_easy_setopt", curl.easy_setopt);
  library.find("curl_easy_getinfo", curl.easy_getinfo);
  library.find("curl_easy_perform", curl.easy_perform);
  library.find("curl_easy_reset", curl.easy_reset);
  library.find("curl_easy_cleanup", curl.easy_cleanup);
  library.find("curl_easy_strerror", curl.easy_strerror);
  library.find("curl_slist_append", curl.slist_append);
  library.find("curl_slist_free_all", curl.slist_free_all);
  library.find("curl_url", curl.url);
  library.find("curl_url_set", curl.url_set);
  library.find("curl_url_get", curl.url_get);
  library.find("curl_url_cleanup", curl.url_cleanup);
  library.find("curl_free", curl.free);
  curl.global_init(CURL_GLOBAL_DEFAULT);
  return curl;
}

}  // namespace

const CurlLibrary& CurlLibrary::get() {
  static const CurlLibrary curl = load();
  return curl;
}

}  // namespace wick
