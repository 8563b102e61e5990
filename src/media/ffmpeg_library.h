#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
}

namespace wick {

// The functions that are used of FFmpeg's libraries. They are loaded when first needed: with all that they depend on,
// they would cost every start of the program some 30 ms.
#define WICK_FFMPEG_FUNCTIONS(each)                                                                                    \
  each(avutil, av_channel_layout_default) each(avutil, av_dict_free) each(avutil, av_dict_set)                         \
      each(avutil, av_frame_alloc) each(avutil, av_frame_free) each(avutil, av_frame_get_buffer) each(                 \
          avutil, av_frame_unref) each(avutil, av_free) each(avutil, av_freep) each(avutil, av_get_packed_sample_fmt)  \
          each(avutil, av_log_set_level) each(avutil, av_malloc) each(avutil, av_sample_fmt_is_planar)                 \
              each(avutil, av_strerror) each(avcodec, av_packet_alloc) each(avcodec, av_packet_free) each(             \
                  avcodec, av_packet_rescale_ts) each(avcodec, av_packet_unref) each(avcodec, avcodec_alloc_context3)  \
                  each(avcodec, avcodec_find_encoder_by_name) each(avcodec, avcodec_free_context)                      \
                      each(avcodec, avcodec_open2) each(avcodec, avcodec_parameters_from_context)                      \
                          each(avcodec, avcodec_parameters_to_context) each(avcodec, avcodec_receive_frame) each(      \
                              avcodec, avcodec_receive_packet) each(avcodec, avcodec_send_frame)                       \
                              each(avcodec, avcodec_send_packet) each(avformat, av_find_best_stream) each(             \
                                  avformat, av_interleaved_write_frame) each(avformat, av_read_frame)                  \
                                  each(avformat, av_write_trailer) each(avformat, avformat_alloc_context) each(        \
                                      avformat, avformat_alloc_output_context2) each(avformat, avformat_close_input)   \
                                      each(avformat, avformat_find_stream_info) each(avformat, avformat_free_context)  \
                                          each(avformat, avformat_new_stream) each(avformat, avformat_open_input)      \
                                              each(avformat, avformat_write_header) each(avformat, avio_alloc_context) \
                                                  each(avformat, avio_context_free) each(avformat, avio_flush)

struct FfmpegLibrary {
#define WICK_MEMBER(library, name) decltype(&::name) name = nullptr;
  WICK_FFMPEG_FUNCTIONS(WICK_MEMBER)
#undef WICK_MEMBER
};

// Throws Error(kUnsupported) with the system's reason where they are not installed.
const FfmpegLibrary& ffmpeg_library();

}  // namespace wick
