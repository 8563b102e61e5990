#pragma once

#define CURL_DISABLE_TYPECHECK  // its macros check calls by name; here functions are called by pointer
#include <curl/curl.h>

namespace wick {

// libcurl, loaded when the first download begins: it and its thirty libraries would double the time that every other
// command takes to start.
struct CurlLibrary {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_url) url;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_free) free;

  // Throws Error(kUnsupported) when this machine does not have the library. Thread-safe.
  static const CurlLibrary& get();
};

}  // namespace wick
