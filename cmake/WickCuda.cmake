# The CUDA backend: host code on the CUDA runtime, linked statically, so that one binary also runs without a driver.
find_package(CUDAToolkit REQUIRED)
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backends/cuda/*.cpp)
target_sources(wick_core PRIVATE ${cuda_sources})
target_compile_definitions(wick_core PUBLIC WICK_CUDA=1)
target_link_libraries(wick_core PRIVATE CUDA::cudart_static)
