# Joins and compresses web/ (bundle_web.cmake) when it has changed, and lists the files for src/server/web_page.cpp, which
# puts them into the program.
set(web_folder ${PROJECT_BINARY_DIR}/generated/web)
set(web_example ${PROJECT_SOURCE_DIR}/models/ember-asr/samples/06.wav)
set(web_names index.html page.css dark.css page.js microphone_worklet.js flame.svg)
list(TRANSFORM web_names APPEND .gz OUTPUT_VARIABLE web_packed)
list(APPEND web_names ${web_packed} example.wav)

file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
list(TRANSFORM web_names PREPEND ${web_folder}/ OUTPUT_VARIABLE web_files)
add_custom_command(
  OUTPUT ${web_files}
  COMMAND ${CMAKE_COMMAND} -DFROM=${PROJECT_SOURCE_DIR}/web -DTO=${web_folder} -DEXAMPLE=${web_example}
          -P ${PROJECT_SOURCE_DIR}/cmake/bundle_web.cmake
  DEPENDS ${web_sources} ${web_example} ${PROJECT_SOURCE_DIR}/cmake/bundle_web.cmake
  COMMENT "Joining the web page" VERBATIM)

set(web_list "")
set(web_index 0)
foreach(name ${web_names})
  string(APPEND web_list "WICK_WEB_FILE(${web_index}, \"${name}\")\n")
  math(EXPR web_index "${web_index} + 1")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/web_files.inc CONTENT "${web_list}" @ONLY)
set_source_files_properties(src/server/web_page.cpp PROPERTIES
  COMPILE_OPTIONS -I${PROJECT_BINARY_DIR}/generated OBJECT_DEPENDS "${web_files}"
  COMPILE_DEFINITIONS WICK_WEB_DIR="${web_folder}")
