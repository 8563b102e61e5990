#include "media/ffmpeg_input.h"

#include <utility>

#include "base/text.h"
#include "media/sample_source.h"

namespace wick {
namespace {

constexpr int kBufferBytes = 65536;

// Playlists and the like name other files and addresses; none is opened.
int refuse_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) { return AVERROR(EPERM); }

}  // namespace

std::string ffmpeg_reason(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  ffmpeg_library().av_strerror(code, text, sizeof(text));
  return text;
}

void FfmpegInput::FreeIo::operator()(AVIOContext* io) const {
  ffmpeg_library().av_freep(&io->buffer);
  ffmpeg_library().avio_context_free(&io);
}

FfmpegInput::FfmpegInput(ByteInput input, const std::string& kind, std::function<bool()> is_cancelled)
    : input_(std::move(input)), is_cancelled_(std::move(is_cancelled)) {
  auto* buffer = static_cast<unsigned char*>(ffmpeg_not_null(ffmpeg_library().av_malloc(kBufferBytes)));
  const auto seek = input_.can_seek() ? seek_bytes : nullptr;
  io_.reset(ffmpeg_library().avio_alloc_context(buffer, kBufferBytes, 0, this, read_bytes, nullptr, seek));
  if (!io_) ffmpeg_library().av_free(buffer);
  ffmpeg_not_null(io_.get());
  AVFormatContext* context = ffmpeg_not_null(ffmpeg_library().avformat_alloc_context());
  context->pb = io_.get();
  context->io_open = refuse_open;
  context->interrupt_callback = {is_interrupted, this};
  AVDictionary* settings = nullptr;
  ffmpeg_library().av_dict_set(&settings, "protocol_whitelist", "none", 0);
  const int code =
      ffmpeg_library().avformat_open_input(&context, nullptr, nullptr, &settings);  // frees the context when it fails
  ffmpeg_library().av_dict_free(&settings);
  container_.reset(code < 0 ? nullptr : context);
  check();
  if (code < 0) throw bad(cat("FFmpeg cannot open this file, which is ", kind, ": ", ffmpeg_reason(code)));
  const int found = ffmpeg_library().avformat_find_stream_info(context, nullptr);
  check();
  if (found < 0) throw bad(cat("FFmpeg finds nothing playable in it: ", ffmpeg_reason(found)));
}

int FfmpegInput::open_stream(AVMediaType type, const std::string& what, FfmpegCodec& codec,
                             const std::function<void(AVCodecContext&)>& set_up) {
  const AVCodec* decoder = nullptr;
  const int stream = ffmpeg_library().av_find_best_stream(container_.get(), type, -1, -1, &decoder, 0);
  const char* format = container_->iformat->name;
  if (stream == AVERROR_STREAM_NOT_FOUND) throw bad(cat("there is no ", what, " in this file (", format, ")"));
  if (stream < 0) throw bad(cat("FFmpeg has no decoder for the ", what, " in this file (", format, ")"));
  for (unsigned i = 0; i < container_->nb_streams; ++i) {
    if (static_cast<int>(i) != stream) container_->streams[i]->discard = AVDISCARD_ALL;
  }
  codec.reset(ffmpeg_not_null(ffmpeg_library().avcodec_alloc_context3(decoder)));
  int code = ffmpeg_library().avcodec_parameters_to_context(codec.get(), container_->streams[stream]->codecpar);
  codec->pkt_timebase = container_->streams[stream]->time_base;
  set_up(*codec);
  if (code >= 0) code = ffmpeg_library().avcodec_open2(codec.get(), decoder, nullptr);
  if (code < 0) throw bad(cat("FFmpeg cannot decode ", decoder->name, ": ", ffmpeg_reason(code)));
  return stream;
}

bool FfmpegInput::read(AVPacket& packet) {
  const int code = ffmpeg_library().av_read_frame(container_.get(), &packet);
  check();
  return code >= 0;
}

void FfmpegInput::check() {
  if (input_error_) std::rethrow_exception(std::exchange(input_error_, nullptr));
  check_cancelled(is_cancelled_, input_.name());
}

Error FfmpegInput::bad(const std::string& what) const { return {ErrorCode::kBadFile, cat(input_.name(), ": ", what)}; }

int FfmpegInput::read_bytes(void* self, uint8_t* out, int size) {
  auto* source = static_cast<FfmpegInput*>(self);
  try {
    check_cancelled(source->is_cancelled_, source->input_.name());
    const size_t got = source->input_.read_some(std::as_writable_bytes(std::span(out, static_cast<size_t>(size))));
    return got > 0 ? static_cast<int>(got) : AVERROR_EOF;
  } catch (...) {
    source->input_error_ = std::current_exception();
    return AVERROR(EIO);
  }
}

int64_t FfmpegInput::seek_bytes(void* self, int64_t offset, int whence) {
  auto* source = static_cast<FfmpegInput*>(self);
  ByteInput& input = source->input_;
  if (whence & AVSEEK_SIZE) return input.size() ? *input.size() : AVERROR(ENOSYS);
  whence &= ~AVSEEK_FORCE;
  const int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? input.position() : input.size().value_or(0);
  int64_t target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target < 0) return AVERROR(EINVAL);
  try {
    input.seek(target);
    return target;
  } catch (...) {
    source->input_error_ = std::current_exception();
    return AVERROR(EIO);
  }
}

// Asked by FFmpeg where it may take long without reading.
int FfmpegInput::is_interrupted(void* self) {
  const auto* source = static_cast<FfmpegInput*>(self);
  return source->is_cancelled_ && source->is_cancelled_();
}

}  // namespace wick
