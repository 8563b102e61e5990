#include "media/ffmpeg.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "media/ffmpeg_input.h"

namespace wick {
namespace {

// A file whose packets all fail to decode is not read to its end.
constexpr int kMaxBadPacketsInARow = 1000;

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
  FfmpegSource(ByteInput input, const std::string& kind, const std::function<bool()>& is_cancelled)
      : input_(std::move(input), kind, is_cancelled) {
    stream_ =
        input_.open_stream(AVMEDIA_TYPE_AUDIO, "sound", codec_, [](AVCodecContext& codec) { codec.thread_count = 1; });
    const AVCodecParameters& parameters = *input_.container().streams[stream_]->codecpar;
    info_ = {codec_->codec->name, parameters.sample_rate, parameters.ch_layout.nb_channels, {}};
    const int64_t duration = input_.container().duration;
    if (duration > 0) info_.seconds = static_cast<double>(duration) / AV_TIME_BASE;
    packet_.reset(ffmpeg_not_null(ffmpeg_library().av_packet_alloc()));
    frame_.reset(ffmpeg_not_null(ffmpeg_library().av_frame_alloc()));
  }

  AudioBlock next() override {
    while (true) {
      input_.check();
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
  void feed() {
    while (true) {
      if (!input_.read(*packet_)) {  // what is decoded so far counts
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
      throw input_.bad(cat(bad_packets_, " packets in a row cannot be decoded: ", ffmpeg_reason(code)));
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
      default: throw input_.bad(cat("FFmpeg gives samples of unknown format ", frame_->format));
    }
    return {samples_, channels, frame_->sample_rate};
  }

  FfmpegInput input_;
  FfmpegCodec codec_;
  FfmpegPacket packet_;
  FfmpegFrame frame_;
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
