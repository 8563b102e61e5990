# Compiler settings and packages shared by every target.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(PROJECT_IS_TOP_LEVEL)  # else these are for the project around this one to say
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  # Linking is short but hungry: two at a time.
  set_property(GLOBAL PROPERTY JOB_POOLS link=2)
  set(CMAKE_JOB_POOL_LINK link)

  find_program(CCACHE ccache)
  if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths are relative to the sources, so that what one checkout has compiled serves the next.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  endif()
endif()

add_library(wick_options INTERFACE)
# No contraction: a*b+c means the same in every kernel; fused multiply-adds are written out where wanted.
target_compile_options(wick_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # Kernels keep vectors in arrays, which SVE's cannot be: there is NEON.
  set(disabled_targets "(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
else()
  set(disabled_targets HWY_SSSE3)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT CMAKE_CROSSCOMPILING)
  # Processors have had SSE4.2 since 2008: kernels need no version below it. AES, which not all of them have, is not used.
  target_compile_options(wick_options INTERFACE -msse4.2)
  target_compile_definitions(wick_options INTERFACE HWY_DISABLE_PCLMUL_AES)
endif()
target_compile_definitions(wick_options INTERFACE HWY_DISABLED_TARGETS=${disabled_targets}
                                                  WICK_VERSION="${PROJECT_VERSION}")
if(WICK_WERROR)
  target_compile_options(wick_options INTERFACE -Werror)
endif()
if(WICK_ASSERTIONS)
  target_compile_definitions(wick_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(WICK_SANITIZE)
  target_compile_options(wick_options INTERFACE -fsanitize=${WICK_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(wick_options INTERFACE -fsanitize=${WICK_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(wick_options INTERFACE -Wno-maybe-uninitialized)  # GCC 12's <regex>, when instrumented
    if(WICK_SANITIZE MATCHES thread)
      target_compile_options(wick_options INTERFACE -Wno-tsan)  # Asio's fences, which ThreadSanitizer does not see
    endif()
  endif()
endif()

if(CMAKE_CROSSCOMPILING)
  include(WickCross)
  return()
endif()

# The command is linked without what nobody calls, and with one copy of functions that came out the same.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WICK_SANITIZE)
  include(CheckLinkerFlag)
  target_compile_options(wick_options INTERFACE -ffunction-sections -fdata-sections)
  check_linker_flag(CXX "-fuse-ld=gold;-Wl,--icf=safe" WICK_FOLDS_FUNCTIONS)
  if(WICK_FOLDS_FUNCTIONS)
    set(wick_small_link -fuse-ld=gold -Wl,--gc-sections -Wl,--icf=safe)
  endif()
endif()

set(wick_required REQUIRED)
include(WickLibraries)
if(WICK_COMMAND)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(Boost 1.74 REQUIRED)  # Asio and Beast, which are headers
  find_package(OpenSSL REQUIRED)
endif()
