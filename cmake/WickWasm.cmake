# One thread; memory grows as needed. Programs run under Node.js, see its files and are compiled while they load:
# Emscripten 3.1 would else hand a path to fetch(), which Node.js has since version 18. -O1 is for linking only: above
# it, optimising the linked program again takes longer than the tests and does not make them faster.
add_library(Threads::Threads INTERFACE IMPORTED)
target_compile_options(wick_options INTERFACE -fexceptions -msimd128
                       "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/wasm/compat.h")
target_link_options(wick_options INTERFACE -fexceptions -sALLOW_MEMORY_GROWTH=1 -sNODERAWFS=1 -sEXIT_RUNTIME=1
                    -sENVIRONMENT=node -sWASM_ASYNC_COMPILATION=0 -O1)
add_compile_options(-fexceptions)
