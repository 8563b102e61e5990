# The CUDA backend: kernels compiled by nvcc for each architecture, and host code on the CUDA runtime, linked
# statically, so that one binary also runs without a driver. 90a is Hopper with its own tensor-core instructions.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 13 speaks C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit 12.4 REQUIRED)
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/cuda/*.cpp)
file(GLOB_RECURSE cuda_kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/cuda/*.cu)

# What the host may rely on: kernels with the instructions of 90a, and a bit for each major number that has kernels.
set(hopper 0)
set(majors 0)
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  if(architecture MATCHES "^90a")
    set(hopper 1)
  endif()
  if(architecture MATCHES "^[0-9]+")
    math(EXPR majors "${majors} | (1 << (${CMAKE_MATCH_0} / 10))")
  endif()
endforeach()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/backends/cuda/runtime/runtime.cpp PROPERTIES
                            COMPILE_DEFINITIONS "WICK_CUDA_HOPPER=${hopper};WICK_CUDA_MAJORS=${majors}")

# Apart from the library because nvcc does not know the warnings that the rest is compiled with.
add_library(wick_cuda_kernels OBJECT ${cuda_kernels})
target_include_directories(wick_cuda_kernels PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(wick_cuda_kernels PRIVATE WICK_CUDA=1)
target_compile_options(wick_cuda_kernels PRIVATE --extended-lambda --expt-relaxed-constexpr
                       -Wno-deprecated-gpu-targets $<$<BOOL:${WICK_WERROR}>:-Werror=all-warnings>)
# Sums and products apart, as on the host, whose bits it is to have.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/backends/cuda/sampling/draw_tokens.cu PROPERTIES
                            COMPILE_OPTIONS -fmad=false)
target_sources(wick_core PRIVATE ${cuda_sources} $<TARGET_OBJECTS:wick_cuda_kernels>)
target_compile_definitions(wick_core PUBLIC WICK_CUDA=1)
target_compile_definitions(wick_small PUBLIC WICK_CUDA=1)
target_link_libraries(wick_core PRIVATE CUDA::cudart_static)
