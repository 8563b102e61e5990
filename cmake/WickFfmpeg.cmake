# FFmpeg's libraries read audio other than WAV, and with swscale video. Without them src/media/ffmpeg_absent.cpp and
# src/media/video/ffmpeg_frames_absent.cpp say how to get them.
set(WICK_FFMPEG_FOUND OFF)
set(wick_video_other "")
set(wick_ffmpeg_other "")  # ends the name of the file that is left out
if(WICK_FFMPEG AND NOT CMAKE_CROSSCOMPILING)
  if(NOT WICK_FFMPEG STREQUAL "AUTO")
    set(ffmpeg_required REQUIRED)
  endif()
  # 5.1, which brought AVChannelLayout
  pkg_check_modules(wick_ffmpeg ${ffmpeg_required} QUIET IMPORTED_TARGET libavformat>=59.27 libavcodec>=59.37 libavutil>=57.28)
  if(wick_ffmpeg_FOUND)
    set(WICK_FFMPEG_FOUND ON)
    set(wick_ffmpeg_other "_absent")
    pkg_check_modules(wick_swscale ${ffmpeg_required} QUIET libswscale>=6.7)
    if(wick_swscale_FOUND)
      set(wick_video_other "_absent")
    endif()
  endif()
endif()
