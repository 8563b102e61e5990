# Another machine's code: there are no packages of that machine's libraries, so the host's are used as headers, without
# the host's system headers. simdjson needs its library; src/base/json_parse_nlohmann.cpp stands in for it.
set(cross_include ${CMAKE_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${cross_include})
foreach(library fmt hwy nlohmann)
  find_path(WICK_${library}_ROOT NAMES ${library} PATHS /usr/include /usr/local/include REQUIRED NO_DEFAULT_PATH
            NO_CMAKE_FIND_ROOT_PATH)
  file(CREATE_LINK ${WICK_${library}_ROOT}/${library} ${cross_include}/${library} SYMBOLIC)
endforeach()

add_library(wick_cross_headers INTERFACE)
target_include_directories(wick_cross_headers SYSTEM INTERFACE ${cross_include})
target_compile_definitions(wick_cross_headers INTERFACE FMT_HEADER_ONLY)
foreach(target fmt::fmt simdjson::simdjson)
  add_library(${target} ALIAS wick_cross_headers)
endforeach()
add_library(wick_cross_highway STATIC ${PROJECT_SOURCE_DIR}/cmake/cross/highway.cpp)
target_link_libraries(wick_cross_highway PUBLIC wick_cross_headers PRIVATE wick_options)
add_library(hwy::hwy ALIAS wick_cross_highway)

if(EMSCRIPTEN)
  include(WickWasm)
else()
  find_package(Threads REQUIRED)
endif()
