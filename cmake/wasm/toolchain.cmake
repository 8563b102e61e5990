# Emscripten's own toolchain file: from the SDK ($EMSDK) or from the distribution's package.
set(wick_emscripten_roots $ENV{EMSDK}/upstream/emscripten /usr/share/emscripten)
find_file(WICK_EMSCRIPTEN_TOOLCHAIN cmake/Modules/Platform/Emscripten.cmake PATHS ${wick_emscripten_roots}
          NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT WICK_EMSCRIPTEN_TOOLCHAIN)
  message(FATAL_ERROR "Emscripten was not found: run tools/install-deps wasm, or set EMSDK")
endif()
include(${WICK_EMSCRIPTEN_TOOLCHAIN})
