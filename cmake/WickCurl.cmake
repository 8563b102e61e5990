# libcurl downloads models. Its headers are enough to build: the library is loaded by the first download (see
# src/hub/curl_library.h). Without them src/hub/http_connection_absent.cpp says how to get them.
set(wick_curl_left_out "http_connection|curl_library")  # the files that are left out
set(wick_has_curl 0)
if(WICK_CURL AND NOT CMAKE_CROSSCOMPILING)
  if(NOT WICK_CURL STREQUAL "AUTO")
    set(curl_required REQUIRED)
  endif()
  pkg_check_modules(wick_curl ${curl_required} QUIET libcurl>=7.85)  # which brought CURLOPT_PROTOCOLS_STR
  if(wick_curl_FOUND)
    set(wick_curl_left_out "http_connection_absent")
    set(wick_has_curl 1)
  endif()
endif()
