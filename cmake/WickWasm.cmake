# WebAssembly: the host's header-only libraries, without the host's system headers. simdjson has no header-only package,
# so src/base/json_parse_wasm.cpp reads JSON with nlohmann-json.
set(wasm_include ${CMAKE_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${wasm_include})
foreach(library fmt hwy nlohmann)
  find_path(WICK_${library}_ROOT NAMES ${library} PATHS /usr/include /usr/local/include REQUIRED NO_DEFAULT_PATH
            NO_CMAKE_FIND_ROOT_PATH)
  file(CREATE_LINK ${WICK_${library}_ROOT}/${library} ${wasm_include}/${library} SYMBOLIC)
endforeach()

add_library(wick_wasm_headers INTERFACE)
target_include_directories(wick_wasm_headers SYSTEM INTERFACE ${wasm_include})
target_compile_definitions(wick_wasm_headers INTERFACE FMT_HEADER_ONLY)
foreach(target fmt::fmt simdjson::simdjson Threads::Threads)
  add_library(${target} ALIAS wick_wasm_headers)
endforeach()
add_library(wick_wasm_highway STATIC ${CMAKE_SOURCE_DIR}/cmake/wasm/highway.cpp)
target_link_libraries(wick_wasm_highway PUBLIC wick_wasm_headers PRIVATE wick_options)
add_library(hwy::hwy ALIAS wick_wasm_highway)

# One thread; memory grows as needed. Programs run under Node.js, see its files and are compiled while they load:
# Emscripten 3.1 would else hand a path to fetch(), which Node.js has since version 18. -O1 is for linking only: above
# it, optimising the linked program again takes longer than the tests and does not make them faster.
target_compile_options(wick_options INTERFACE -fexceptions -msimd128 "SHELL:-include ${CMAKE_SOURCE_DIR}/cmake/wasm/compat.h")
target_link_options(wick_options INTERFACE -fexceptions -sALLOW_MEMORY_GROWTH=1 -sNODERAWFS=1 -sEXIT_RUNTIME=1
                    -sENVIRONMENT=node -sWASM_ASYNC_COMPILATION=0 -O1)
add_compile_options(-fexceptions)
