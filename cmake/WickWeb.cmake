# Lists the files of web/ for src/server/web_page.cpp, which puts them into the program.
file(GLOB_RECURSE web_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/web web/*)
set(web_list "")
set(web_paths "")
set(web_index 0)
foreach(file ${web_files})
  string(APPEND web_list "WICK_WEB_FILE(${web_index}, \"${file}\")\n")
  list(APPEND web_paths ${CMAKE_SOURCE_DIR}/web/${file})
  math(EXPR web_index "${web_index} + 1")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/web_files.inc CONTENT "${web_list}" @ONLY)
set_source_files_properties(src/server/web_page.cpp PROPERTIES
  COMPILE_OPTIONS -I${CMAKE_BINARY_DIR}/generated OBJECT_DEPENDS "${web_paths}")
