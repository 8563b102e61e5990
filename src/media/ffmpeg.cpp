#include "media/ffmpeg.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "media/ffmpeg_library.h"

namespace wick {
namespace {

constexpr int kBufferBytes = 65536;
// A file whose packets all fail to decode is not read to its end.
constexpr int kMaxBadPacketsInARow = 1000;

std::string reason(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  ffmpeg_library().av_strerror(code, text, sizeof(text));
  return text;
}

template <auto kFree>
struct FreedBy {
  template <typename T>
  void operator()(T* pointer) const {
    (ffmpeg_library().*kFree)(&pointer);
  }
};
using Packet = std::unique_ptr<AVPacket, FreedBy<&FfmpegLibrary::av_packet_free>>;
using Frame = std::unique_ptr<AVFrame, FreedBy<&FfmpegLibrary::av_frame_free>>;
using Codec = std::unique_ptr<AVCodecContext, FreedBy<&FfmpegLibrary::avcodec_free_context>>;
using Container = std::unique_ptr<AVFormatContext, FreedBy<&FfmpegLibrary::avformat_close_input>>;

struct FreeIo {
  void operator()(AVIOContext* io) const {
    ffmpeg_library().av_freep(&io->buffer);
    ffmpeg_library().avio_context_free(&io);
  }
};
using Io = std::unique_ptr<AVIOContext, FreeIo>;

template <typename T>
T* not_null(T* pointer) {
  if (!pointer) throw Error(ErrorCode::kOutOfMemory, "FFmpeg could not allocate memory");
  return pointer;
}

// Sample i of channel c is at data[c][i] when planar, else at data[0][i * channels + c].
template <typename T, typename Convert>
void interleave(const AVFrame& frame, bool planar, std::span<float> out, const Convert& convert) {
  const auto channels = static_cast<size_t>(frame.ch_layout.nb_channels);
  for (size_t channel = 0; channel < channels; ++channel) {
    const auto* from = reinterpret_cast<const T*>(frame.extended_data[planar ? channel : 0]) + (planar ? 0 : channel);
    const size_t step = planar ? 1 : channels;
    for (size_t i = channel, at = 0; i < out.size(); i += channels, at += step) out[i] = convert(from[at]);
  }
}

class FfmpegSource : public SampleSource {
 public:
  FfmpegSource(ByteInput input, const std::string& kind, std::function<bool()> is_cancelled)
      : input_(std::move(input)), is_cancelled_(std::move(is_cancelled)) {
    open_container(kind);
    open_codec();
    packet_.reset(not_null(ffmpeg_library().av_packet_alloc()));
    frame_.reset(not_null(ffmpeg_library().av_frame_alloc()));
  }

  AudioBlock next() override {
    while (true) {
      check_cancelled(is_cancelled_, input_.name());
      const int code = ffmpeg_library().avcodec_receive_frame(codec_.get(), frame_.get());
      if (code == AVERROR(EAGAIN)) {
        feed();
      } else if (code == AVERROR_EOF) {
        return {};
      } else if (code < 0) {
        count_bad_packet(code);
      } else if (frame_->nb_samples > 0) {
        bad_packets_ = 0;
        return convert_frame();
      }
    }
  }

 private:
  Error bad(const std::string& what) const { return {ErrorCode::kBadFile, cat(input_.name(), ": ", what)}; }

  // Exceptions must not pass through C code: they are kept and thrown again behind the call.
  void check_input() {
    if (input_error_) std::rethrow_exception(std::exchange(input_error_, nullptr));
    check_cancelled(is_cancelled_, input_.name());
  }

  static int read_bytes(void* self, uint8_t* out, int size) {
    auto* source = static_cast<FfmpegSource*>(self);
    try {
      check_cancelled(source->is_cancelled_, source->input_.name());
      const size_t got = source->input_.read_some(std::as_writable_bytes(std::span(out, static_cast<size_t>(size))));
      return got > 0 ? static_cast<int>(got) : AVERROR_EOF;
    } catch (...) {
      source->input_error_ = std::current_exception();
      return AVERROR(EIO);
    }
  }

  static int64_t seek_bytes(void* self, int64_t offset, int whence) {
    auto* source = static_cast<FfmpegSource*>(self);
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
  static int is_interrupted(void* self) {
    const auto* source = static_cast<FfmpegSource*>(self);
    return source->is_cancelled_ && source->is_cancelled_();
  }

  // Playlists and the like name other files and addresses; none is opened.
  static int refuse_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) { return AVERROR(EPERM); }

  void open_container(const std::string& kind) {
    auto* buffer = static_cast<unsigned char*>(not_null(ffmpeg_library().av_malloc(kBufferBytes)));
    const auto seek = input_.can_seek() ? seek_bytes : nullptr;
    io_.reset(ffmpeg_library().avio_alloc_context(buffer, kBufferBytes, 0, this, read_bytes, nullptr, seek));
    if (!io_) ffmpeg_library().av_free(buffer);
    not_null(io_.get());
    AVFormatContext* context = not_null(ffmpeg_library().avformat_alloc_context());
    context->pb = io_.get();
    context->io_open = refuse_open;
    context->interrupt_callback = {is_interrupted, this};
    AVDictionary* settings = nullptr;
    ffmpeg_library().av_dict_set(&settings, "protocol_whitelist", "none", 0);
    const int code =
        ffmpeg_library().avformat_open_input(&context, nullptr, nullptr, &settings);  // frees the context when it fails
    ffmpeg_library().av_dict_free(&settings);
    container_.reset(code < 0 ? nullptr : context);
    check_input();
    if (code < 0) throw bad(cat("FFmpeg cannot open this file, which is ", kind, ": ", reason(code)));
    const int found = ffmpeg_library().avformat_find_stream_info(context, nullptr);
    check_input();
    if (found < 0) throw bad(cat("FFmpeg finds nothing playable in it: ", reason(found)));
  }

  void open_codec() {
    const AVCodec* decoder = nullptr;
    stream_ = ffmpeg_library().av_find_best_stream(container_.get(), AVMEDIA_TYPE_AUDIO, -1, -1, &decoder, 0);
    const char* format = container_->iformat->name;
    if (stream_ == AVERROR_STREAM_NOT_FOUND) throw bad(cat("there is no sound in this file (", format, ")"));
    if (stream_ < 0) throw bad(cat("FFmpeg has no decoder for the sound in this file (", format, ")"));
    for (unsigned i = 0; i < container_->nb_streams; ++i) {
      if (static_cast<int>(i) != stream_) container_->streams[i]->discard = AVDISCARD_ALL;
    }
    const AVStream& stream = *container_->streams[stream_];
    codec_.reset(not_null(ffmpeg_library().avcodec_alloc_context3(decoder)));
    int code = ffmpeg_library().avcodec_parameters_to_context(codec_.get(), stream.codecpar);
    codec_->pkt_timebase = stream.time_base;
    codec_->thread_count = 1;
    if (code >= 0) code = ffmpeg_library().avcodec_open2(codec_.get(), decoder, nullptr);
    if (code < 0) throw bad(cat("FFmpeg cannot decode ", decoder->name, ": ", reason(code)));
    info_ = {decoder->name, stream.codecpar->sample_rate, stream.codecpar->ch_layout.nb_channels, {}};
    if (container_->duration > 0) info_.seconds = static_cast<double>(container_->duration) / AV_TIME_BASE;
  }

  void feed() {
    while (true) {
      const int code = ffmpeg_library().av_read_frame(container_.get(), packet_.get());
      check_input();
      if (code < 0) {  // the end, or so much damage that FFmpeg cannot go on: what is decoded so far counts
        ffmpeg_library().avcodec_send_packet(codec_.get(), nullptr);
        return;
      }
      const bool is_ours = packet_->stream_index == stream_;
      const int sent = is_ours ? ffmpeg_library().avcodec_send_packet(codec_.get(), packet_.get()) : 0;
      ffmpeg_library().av_packet_unref(packet_.get());
      if (!is_ours) continue;
      if (sent >= 0) return;
      count_bad_packet(sent);
    }
  }

  // Single bad packets are common in broadcasts and are left out, as every player does.
  void count_bad_packet(int code) {
    if (++bad_packets_ >= kMaxBadPacketsInARow) {
      throw bad(cat(bad_packets_, " packets in a row cannot be decoded: ", reason(code)));
    }
  }

  AudioBlock convert_frame() {
    const int channels = frame_->ch_layout.nb_channels;
    check_audio_format(frame_->sample_rate, channels, input_.name());
    samples_.resize(static_cast<size_t>(frame_->nb_samples) * static_cast<size_t>(channels));
    const auto format = static_cast<AVSampleFormat>(frame_->format);
    const bool planar = ffmpeg_library().av_sample_fmt_is_planar(format) != 0;
    const auto scaled_by = [](auto scale) { return [scale](auto x) { return static_cast<float>(x) * scale; }; };
    switch (ffmpeg_library().av_get_packed_sample_fmt(format)) {
      case AV_SAMPLE_FMT_U8:
        interleave<uint8_t>(*frame_, planar, samples_, [](uint8_t x) { return static_cast<float>(x - 128) / 128; });
        break;
      case AV_SAMPLE_FMT_S16: interleave<int16_t>(*frame_, planar, samples_, scaled_by(0x1p-15f)); break;
      case AV_SAMPLE_FMT_S32: interleave<int32_t>(*frame_, planar, samples_, scaled_by(0x1p-31f)); break;
      case AV_SAMPLE_FMT_S64: interleave<int64_t>(*frame_, planar, samples_, scaled_by(0x1p-63f)); break;
      case AV_SAMPLE_FMT_FLT: interleave<float>(*frame_, planar, samples_, scaled_by(1.0f)); break;
      case AV_SAMPLE_FMT_DBL: interleave<double>(*frame_, planar, samples_, scaled_by(1.0f)); break;
      default: throw bad(cat("FFmpeg gives samples of unknown format ", frame_->format));
    }
    return {samples_, channels, frame_->sample_rate};
  }

  ByteInput input_;
  std::function<bool()> is_cancelled_;
  std::exception_ptr input_error_;
  Io io_;  // outlives the container, which reads through it
  Container container_;
  Codec codec_;
  Packet packet_;
  Frame frame_;
  int stream_ = -1;
  int bad_packets_ = 0;
  std::vector<float> samples_;
};

}  // namespace

bool has_ffmpeg() {
  try {
    ffmpeg_library();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::unique_ptr<SampleSource> open_with_ffmpeg(ByteInput input, const std::string& kind,
                                               const std::function<bool()>& is_cancelled) {
  return std::make_unique<FfmpegSource>(std::move(input), kind, is_cancelled);
}

}  // namespace wick
