#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "media/ffmpeg_library.h"
#include "media/sound_encoder.h"

namespace wick {
namespace {

constexpr int kBufferBytes = 65536;
constexpr int kUsualFrame = 4096;  // of encoders that take any

struct Writer {
  std::string_view format;
  const char* container;
  const char* encoders[2];  // the first that is there
  int64_t bit_rate;         // 0: the encoder's own
};
constexpr Writer kWriters[] = {{"mp3", "mp3", {"libmp3lame", "mp3_mf"}, 64000},
                               {"flac", "flac", {"flac", nullptr}, 0},
                               {"opus", "ogg", {"libopus", nullptr}, 32000},
                               {"aac", "adts", {"aac", nullptr}, 64000}};

void check(int code, const char* what) {
  if (code >= 0) return;
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  ffmpeg_library().av_strerror(code, text, sizeof(text));
  throw Error(ErrorCode::kUnsupported, cat("FFmpeg cannot ", what, ": ", text));
}

class FfmpegEncoder final : public SoundEncoder {
 public:
  FfmpegEncoder(const Writer& writer, int sample_rate, const std::string& comment) : library_(ffmpeg_library()) {
    try {
      open(writer, sample_rate, comment);
    } catch (...) {
      close();
      throw;
    }
  }
  ~FfmpegEncoder() override { close(); }

  std::string push(std::span<const float> samples) override {
    waiting_.insert(waiting_.end(), samples.begin(), samples.end());
    size_t at = 0;
    for (; waiting_.size() - at >= frame_size_; at += frame_size_) encode(std::span(waiting_).subspan(at, frame_size_));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(at));
    return take();
  }
  std::string finish() override {
    if (!waiting_.empty()) encode(waiting_);
    waiting_.clear();
    check(library_.avcodec_send_frame(codec_, nullptr), "finish the sound");
    drain();
    check(library_.av_write_trailer(container_), "finish the file");
    library_.avio_flush(container_->pb);
    return take();
  }

 private:
  void open(const Writer& writer, int sample_rate, const std::string& comment) {
    const AVCodec* encoder = nullptr;
    for (const char* name : writer.encoders) {
      if (name && !encoder) encoder = library_.avcodec_find_encoder_by_name(name);
    }
    if (!encoder) {
      throw Error(ErrorCode::kUnsupported,
                  cat("these libraries of FFmpeg do not write ", writer.format, "; wav always works"));
    }
    check(library_.avformat_alloc_output_context2(&container_, nullptr, writer.container, nullptr),
          "write such a file");
    auto* buffer = static_cast<unsigned char*>(library_.av_malloc(kBufferBytes));
    container_->pb = library_.avio_alloc_context(buffer, kBufferBytes, 1, this, nullptr, write, nullptr);
    if (!buffer || !container_->pb) throw Error(ErrorCode::kOutOfMemory, "FFmpeg could not allocate memory");
    container_->flags |= AVFMT_FLAG_CUSTOM_IO;
    codec_ = library_.avcodec_alloc_context3(encoder);
    stream_ = library_.avformat_new_stream(container_, nullptr);
    frame_ = library_.av_frame_alloc();
    packet_ = library_.av_packet_alloc();
    if (!codec_ || !stream_ || !frame_ || !packet_) {
      throw Error(ErrorCode::kOutOfMemory, "FFmpeg could not allocate memory");
    }
    codec_->sample_fmt = pick_format(*encoder);
    codec_->sample_rate = sample_rate;
    codec_->time_base = {1, sample_rate};
    if (writer.bit_rate > 0) codec_->bit_rate = writer.bit_rate;
    library_.av_channel_layout_default(&codec_->ch_layout, 1);
    if (container_->oformat->flags & AVFMT_GLOBALHEADER) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    check(library_.avcodec_open2(codec_, encoder, nullptr), "encode such sound");
    check(library_.avcodec_parameters_from_context(stream_->codecpar, codec_), "describe the sound");
    stream_->time_base = codec_->time_base;
    if (!comment.empty()) library_.av_dict_set(&container_->metadata, "comment", comment.c_str(), 0);
    check(library_.avformat_write_header(container_, nullptr), "begin the file");
    frame_size_ = static_cast<size_t>(codec_->frame_size > 0 ? codec_->frame_size : kUsualFrame);
  }

  static AVSampleFormat pick_format(const AVCodec& encoder) {
    const AVSampleFormat* formats = encoder.sample_fmts;
    for (; formats && *formats != AV_SAMPLE_FMT_NONE; ++formats) {
      switch (*formats) {
        case AV_SAMPLE_FMT_FLT:
        case AV_SAMPLE_FMT_FLTP:
        case AV_SAMPLE_FMT_S16:
        case AV_SAMPLE_FMT_S16P: return *formats;
        default: break;
      }
    }
    throw Error(ErrorCode::kUnsupported, "FFmpeg's encoder takes neither floats nor 16 bits");
  }

  void encode(std::span<const float> samples) {
    library_.av_frame_unref(frame_);
    frame_->nb_samples = static_cast<int>(samples.size());
    frame_->format = codec_->sample_fmt;
    frame_->sample_rate = codec_->sample_rate;
    frame_->pts = at_;
    at_ += std::ssize(samples);
    library_.av_channel_layout_default(&frame_->ch_layout, 1);
    check(library_.av_frame_get_buffer(frame_, 0), "take the sound");
    if (codec_->sample_fmt == AV_SAMPLE_FMT_FLT || codec_->sample_fmt == AV_SAMPLE_FMT_FLTP) {
      auto* to = reinterpret_cast<float*>(frame_->data[0]);
      for (size_t i = 0; i < samples.size(); ++i) to[i] = std::clamp(samples[i], -1.0f, 1.0f);
    } else {
      auto* to = reinterpret_cast<int16_t*>(frame_->data[0]);
      for (size_t i = 0; i < samples.size(); ++i) {
        to[i] = static_cast<int16_t>(std::nearbyint(std::clamp(samples[i], -1.0f, 1.0f) * 32767.0f));
      }
    }
    check(library_.avcodec_send_frame(codec_, frame_), "encode the sound");
    drain();
  }

  void drain() {
    while (true) {
      const int code = library_.avcodec_receive_packet(codec_, packet_);
      if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
      check(code, "encode the sound");
      packet_->stream_index = stream_->index;
      library_.av_packet_rescale_ts(packet_, codec_->time_base, stream_->time_base);
      check(library_.av_interleaved_write_frame(container_, packet_), "write the sound");
    }
  }

  std::string take() {
    library_.avio_flush(container_->pb);
    std::string bytes;
    bytes.swap(made_);
    return bytes;
  }

#if LIBAVFORMAT_VERSION_MAJOR >= 61
  static int write(void* to, const uint8_t* bytes, int count) {
#else
  static int write(void* to, uint8_t* bytes, int count) {
#endif
    static_cast<FfmpegEncoder*>(to)->made_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
    return count;
  }

  void close() {
    library_.av_packet_free(&packet_);
    library_.av_frame_free(&frame_);
    library_.avcodec_free_context(&codec_);
    if (!container_) return;
    if (container_->pb) {
      library_.av_freep(&container_->pb->buffer);
      library_.avio_context_free(&container_->pb);
    }
    library_.avformat_free_context(container_);
    container_ = nullptr;
  }

  const FfmpegLibrary& library_;
  AVFormatContext* container_ = nullptr;
  AVCodecContext* codec_ = nullptr;
  AVStream* stream_ = nullptr;
  AVFrame* frame_ = nullptr;
  AVPacket* packet_ = nullptr;
  size_t frame_size_ = kUsualFrame;
  int64_t at_ = 0;
  std::vector<float> waiting_;
  std::string made_;
};

}  // namespace

std::unique_ptr<SoundEncoder> make_ffmpeg_encoder(std::string_view format, int sample_rate,
                                                  const std::string& comment) {
  const auto* writer =
      std::find_if(std::begin(kWriters), std::end(kWriters), [&](const Writer& each) { return each.format == format; });
  if (writer == std::end(kWriters)) {
    throw Error(ErrorCode::kInvalidArgument, cat("FFmpeg is not asked to write ", format));
  }
  return std::make_unique<FfmpegEncoder>(*writer, sample_rate, comment);
}

}  // namespace wick
