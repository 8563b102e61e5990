# What users of the library see, in this build and installed: the target wick::wick with the headers of include/wick.
# They name those of src/ that they are made of; a copy of these, under wick/detail/, goes with them.
include(GNUInstallDirs)
set(public_include ${PROJECT_BINARY_DIR}/include)
# What include/wick/ may be made of.
set(public_parts base/.* tensor/.* ops/.* hooks/hook_.* media/.* speech/.* models/model_options.h chat/response.h
    engine/sampling/sampling_params.h engine/text/generate_result.h)
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/wick/*.h)
list(JOIN public_parts "|" public_pattern)
file(GLOB_RECURSE part_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/*.h)
list(FILTER part_headers INCLUDE REGEX "^(${public_pattern})$")
list(TRANSFORM part_headers PREPEND ${PROJECT_SOURCE_DIR}/src/)
set(copy_headers ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${public_include} "-DPARTS=${public_pattern}"
    -P ${PROJECT_SOURCE_DIR}/cmake/install/public_headers.cmake)
if(NOT EXISTS ${public_include}/headers.stamp)  # for tools that read code before it is built
  execute_process(COMMAND ${copy_headers} COMMAND_ERROR_IS_FATAL ANY)
endif()
add_custom_command(
  OUTPUT ${public_include}/headers.stamp
  COMMAND ${copy_headers}
  DEPENDS ${public_headers} ${part_headers} ${PROJECT_SOURCE_DIR}/cmake/install/public_headers.cmake
  COMMENT "Copying the public headers" VERBATIM)
add_custom_target(wick_headers ALL DEPENDS ${public_include}/headers.stamp)

add_library(wick_public INTERFACE)
add_library(wick::wick ALIAS wick_public)
add_dependencies(wick_public wick_headers)
target_include_directories(wick_public INTERFACE ${public_include})
target_compile_features(wick_public INTERFACE cxx_std_20)
target_link_libraries(wick_public INTERFACE $<LINK_ONLY:wick_core>)

# The manual page and the completions of shells are written by the command itself.
if(WICK_COMMAND)
  set(page_folder ${PROJECT_BINARY_DIR}/share)
  add_custom_command(
    OUTPUT ${page_folder}/wick.1 ${page_folder}/wick.bash ${page_folder}/_wick ${page_folder}/wick.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${page_folder}
    COMMAND wick man > ${page_folder}/wick.1
    COMMAND wick completion bash > ${page_folder}/wick.bash
    COMMAND wick completion zsh > ${page_folder}/_wick
    COMMAND wick completion fish > ${page_folder}/wick.fish
    DEPENDS wick COMMENT "Writing the manual page and the completions" VERBATIM)
  add_custom_target(wick_pages ALL DEPENDS ${page_folder}/wick.1)
endif()

if(NOT WICK_INSTALL OR CMAKE_CROSSCOMPILING)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wick)
set_target_properties(wick_core PROPERTIES OUTPUT_NAME wick EXPORT_NAME wick)
target_compile_features(wick_core PUBLIC cxx_std_20)
install(TARGETS wick_core EXPORT wick ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT wick NAMESPACE wick:: FILE wickTargets.cmake DESTINATION ${package_folder} COMPONENT library)
install(DIRECTORY ${public_include}/wick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/install/wickConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/wickConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wickConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wickConfig.cmake ${PROJECT_BINARY_DIR}/wickConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/WickLibraries.cmake
        DESTINATION ${package_folder} COMPONENT library)
if(WICK_CUDA)
  set(pc_libraries "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt")
endif()
# Found from where the file lies, so that the whole can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/install/wick.pc.in ${PROJECT_BINARY_DIR}/wick.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wick.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

if(WICK_COMMAND)
  install(TARGETS wick RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  install(FILES ${page_folder}/wick.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
  install(FILES ${page_folder}/wick.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME wick
          COMPONENT command)
  install(FILES ${page_folder}/_wick DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT command)
  install(FILES ${page_folder}/wick.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT command)
  include(WickPackage)
endif()
