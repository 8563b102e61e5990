#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "media/byte_input.h"
#include "media/ffmpeg_library.h"

namespace wick {

std::string ffmpeg_reason(int code);

template <auto kFree>
struct FreedByFfmpeg {
  template <typename T>
  void operator()(T* pointer) const {
    (ffmpeg_library().*kFree)(&pointer);
  }
};
using FfmpegPacket = std::unique_ptr<AVPacket, FreedByFfmpeg<&FfmpegLibrary::av_packet_free>>;
using FfmpegFrame = std::unique_ptr<AVFrame, FreedByFfmpeg<&FfmpegLibrary::av_frame_free>>;
using FfmpegCodec = std::unique_ptr<AVCodecContext, FreedByFfmpeg<&FfmpegLibrary::avcodec_free_context>>;

template <typename T>
T* ffmpeg_not_null(T* pointer) {
  if (!pointer) throw Error(ErrorCode::kOutOfMemory, "FFmpeg could not allocate memory");
  return pointer;
}

// A container that FFmpeg reads through a ByteInput. It cannot open another file or address.
class FfmpegInput {
 public:
  // `kind` is what the bytes look like, for messages.
  FfmpegInput(ByteInput input, const std::string& kind, std::function<bool()> is_cancelled);

  const std::string& name() const { return input_.name(); }
  AVFormatContext& container() { return *container_; }
  // The index of the first or default stream of that type; `what` is its name in messages. Other streams are not read.
  int open_stream(AVMediaType type, const std::string& what, FfmpegCodec& codec,
                  const std::function<void(AVCodecContext&)>& set_up);
  // The next packet of any stream; false at the end, or where so much is damaged that FFmpeg cannot go on.
  bool read(AVPacket& packet);

  // Exceptions must not pass through C code: they are kept and thrown again behind the call.
  void check();
  Error bad(const std::string& what) const;

 private:
  struct FreeIo {
    void operator()(AVIOContext* io) const;
  };
  static int read_bytes(void* self, uint8_t* out, int size);
  static int64_t seek_bytes(void* self, int64_t offset, int whence);
  static int is_interrupted(void* self);

  ByteInput input_;
  std::function<bool()> is_cancelled_;
  std::exception_ptr input_error_;
  std::unique_ptr<AVIOContext, FreeIo> io_;  // outlives the container, which reads through it
  std::unique_ptr<AVFormatContext, FreedByFfmpeg<&FfmpegLibrary::avformat_close_input>> container_;
};

}  // namespace wick
