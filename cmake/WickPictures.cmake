# The system's libraries read pictures. Headers are enough to build: each library is loaded by the first picture of its
# kind (see src/media/image/system_library.h), and a build without one says its name when it meets such a picture.
set(wick_picture_definitions "")
set(wick_picture_include_dirs "")
if(WICK_PICTURES AND NOT CMAKE_CROSSCOMPILING)
  if(NOT WICK_PICTURES STREQUAL "AUTO")
    set(pictures_required REQUIRED)
  endif()
  foreach(library "TURBOJPEG libturbojpeg>=2.1" "PNG libpng>=1.6.32" "WEBP libwebp>=1.0;libwebpdemux" "TIFF libtiff-4>=4.3"
                  "HEIF libheif>=1.12" "LCMS2 lcms2>=2.9")
    string(REGEX MATCH "^[A-Z0-9]+" name "${library}")
    string(REGEX REPLACE "^[A-Z0-9]+ " "" modules "${library}")
    pkg_check_modules(wick_picture_${name} ${pictures_required} QUIET ${modules})
    if(wick_picture_${name}_FOUND)
      list(APPEND wick_picture_definitions WICK_HAS_${name}=1)
      list(APPEND wick_picture_include_dirs ${wick_picture_${name}_INCLUDE_DIRS})
    endif()
  endforeach()
endif()
