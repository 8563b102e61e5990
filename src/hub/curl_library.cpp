#include "hub/curl_library.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

template <typename Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (!symbol)
    throw Error(ErrorCode::kUnsupported, cat("the libcurl of this machine has no ", name, "; install 7.85 or newer"));
  function = reinterpret_cast<Function>(symbol);
}

CurlLibrary load() {
  void* library = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) {
    throw Error(ErrorCode::kUnsupported,
                "downloads need libcurl, which is not on this machine: tools/install-deps hub");
  }
  CurlLibrary curl{};
  find(library, "curl_global_init", curl.global_init);
  find(library, "curl_easy_init", curl.easy_init);
  find(library, "curl_easy_setopt", curl.easy_setopt);
  find(library, "curl_easy_getinfo", curl.easy_getinfo);
  find(library, "curl_easy_perform", curl.easy_perform);
  find(library, "curl_easy_reset", curl.easy_reset);
  find(library, "curl_easy_cleanup", curl.easy_cleanup);
  find(library, "curl_easy_strerror", curl.easy_strerror);
  find(library, "curl_slist_append", curl.slist_append);
  find(library, "curl_slist_free_all", curl.slist_free_all);
  find(library, "curl_url", curl.url);
  find(library, "curl_url_set", curl.url_set);
  find(library, "curl_url_get", curl.url_get);
  find(library, "curl_url_cleanup", curl.url_cleanup);
  find(library, "curl_free", curl.free);
  curl.global_init(CURL_GLOBAL_DEFAULT);
  return curl;
}

}  // namespace

const CurlLibrary& CurlLibrary::get() {
  static const CurlLibrary curl = load();
  return curl;
}

}  // namespace wick
