# The command as `make package` ships it: linked so that it needs nothing but glibc. PCRE2, utf8proc and OpenSSL come as
# archives of the distribution; simdjson, fmt and Highway, which it has only as shared libraries, are compiled from its
# source packages (tools/get-package-sources). libcurl, FFmpeg and ALSA are loaded at run time, where they are.
set(sources ${PROJECT_BINARY_DIR}/sources)
if(NOT EXISTS ${sources}/simdjson OR WICK_SANITIZE)
  return()
endif()
add_library(wick_shipped OBJECT EXCLUDE_FROM_ALL ${sources}/simdjson/src/simdjson.cpp ${sources}/fmtlib/src/format.cc
            ${sources}/highway/hwy/aligned_allocator.cc ${sources}/highway/hwy/per_target.cc
            ${sources}/highway/hwy/targets.cc)
target_include_directories(wick_shipped PRIVATE ${sources}/simdjson/include ${sources}/simdjson/src
                           ${sources}/fmtlib/include ${sources}/highway)
target_compile_definitions(wick_shipped PRIVATE SIMDJSON_THREADS_ENABLED=1)
target_compile_options(wick_shipped PRIVATE -w -ffunction-sections -fdata-sections)

function(find_archive variable)
  find_library(${variable} NAMES ${ARGN} REQUIRED)
  mark_as_advanced(${variable})
endfunction()
find_archive(WICK_PCRE2_ARCHIVE libpcre2-8.a)
find_archive(WICK_UTF8PROC_ARCHIVE libutf8proc.a)
find_archive(WICK_SSL_ARCHIVE libssl.a)
find_archive(WICK_CRYPTO_ARCHIVE libcrypto.a)

# Wick's archives are named as files: as targets they would bring the shared libraries with them.
set(parts wick_cli wick_server wick_hub wick_core)
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
add_executable(wick_portable EXCLUDE_FROM_ALL src/cli/main.cpp)
add_dependencies(wick_portable ${parts})
set_target_properties(wick_portable PROPERTIES OUTPUT_NAME wick LINK_DEPENDS "${archives}"
                                               RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable)
target_include_directories(wick_portable PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(wick_portable PRIVATE wick_options wick_shipped ${archives} ${WICK_PCRE2_ARCHIVE}
                      ${WICK_UTF8PROC_ARCHIVE} ${WICK_SSL_ARCHIVE} ${WICK_CRYPTO_ARCHIVE} Threads::Threads
                      ${CMAKE_DL_LIBS})
target_link_options(wick_portable PRIVATE ${wick_small_link} -static-libstdc++ -static-libgcc -s)
if(WICK_CUDA)
  target_link_libraries(wick_portable PRIVATE CUDA::cudart_static)
endif()

# What is linked in says how it may be passed on.
set(notices ${PROJECT_BINARY_DIR}/portable/copyright)
set(noticed libpcre2-dev libutf8proc-dev libsimdjson-dev libfmt-dev libhwy-dev libssl-dev nlohmann-json3-dev libcli11-dev
    libboost-dev libstdc++6)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE notice_text)
foreach(package IN LISTS noticed)
  if(NOT EXISTS /usr/share/doc/${package}/copyright)
    message(WARNING "make package: /usr/share/doc/${package}/copyright is not there, so its notice will be missing")
    continue()
  endif()
  file(READ /usr/share/doc/${package}/copyright one)
  string(APPEND notice_text "\n\n---- ${package}, which is part of the program ----\n\n${one}")
endforeach()
file(WRITE ${notices} "${notice_text}")

install(PROGRAMS $<TARGET_FILE:wick_portable> DESTINATION bin COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES ${page_folder}/wick.1 DESTINATION share/man/man1 COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES ${page_folder}/wick.bash DESTINATION share/bash-completion/completions RENAME wick COMPONENT portable
        EXCLUDE_FROM_ALL)
install(FILES ${page_folder}/_wick DESTINATION share/zsh/vendor-completions COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES ${page_folder}/wick.fish DESTINATION share/fish/vendor_completions.d COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES ${notices} ${PROJECT_SOURCE_DIR}/README.md DESTINATION share/doc/wick COMPONENT portable EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};wick;portable;/")
set(CPACK_PACKAGE_NAME wick)
set(CPACK_PACKAGE_VENDOR "The Wick authors")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME wick-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Wick authors")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libcurl4, ffmpeg, libturbojpeg0, libpng16-16, libwebp7, libwebpdemux2, libtiff6, libheif1, liblcms2-2")
include(CPack)
