#include "media/video/ffmpeg_frames.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/shared_library.h"
#include "base/text.h"
#include "media/ffmpeg_input.h"
#include "media/image/exif.h"
#include "media/video/frame_keeper.h"

extern "C" {
#include <libswscale/swscale.h>
}

namespace wick {
namespace {

// What video needs besides the functions of ffmpeg_library.h.
struct SwscaleLibrary {
  decltype(&::sws_getCachedContext) sws_getCachedContext = nullptr;
  decltype(&::sws_freeContext) sws_freeContext = nullptr;
  decltype(&::sws_getCoefficients) sws_getCoefficients = nullptr;
  decltype(&::sws_setColorspaceDetails) sws_setColorspaceDetails = nullptr;
  decltype(&::sws_scale) sws_scale = nullptr;
  decltype(&::avcodec_flush_buffers) avcodec_flush_buffers = nullptr;

  static const SwscaleLibrary& get() {
    static const SwscaleLibrary loaded;
    return loaded;
  }

 private:
  SwscaleLibrary() {
    constexpr std::string_view kNeed = "video is read with FFmpeg's libraries (tools/install-deps audio)";
    const SharedLibrary swscale({cat("libswscale.so.", LIBSWSCALE_VERSION_MAJOR)}, kNeed);
    const SharedLibrary avcodec({cat("libavcodec.so.", LIBAVCODEC_VERSION_MAJOR)}, kNeed);
    swscale.find("sws_getCachedContext", sws_getCachedContext);
    swscale.find("sws_freeContext", sws_freeContext);
    swscale.find("sws_getCoefficients", sws_getCoefficients);
    swscale.find("sws_setColorspaceDetails", sws_setColorspaceDetails);
    swscale.find("sws_scale", sws_scale);
    avcodec.find("avcodec_flush_buffers", avcodec_flush_buffers);
  }
};

struct FreeScaler {
  void operator()(SwsContext* context) const { SwscaleLibrary::get().sws_freeContext(context); }
};

// How a phone was held, as EXIF numbers it, from the first two columns of the matrix that turns the picture.
int orientation_of(const AVStream& stream) {
  const AVPacketSideData* data = nullptr;
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* all = stream.codecpar->coded_side_data;
  const int count = stream.codecpar->nb_coded_side_data;
#else
  const AVPacketSideData* all = stream.side_data;
  const int count = stream.nb_side_data;
#endif
  for (int i = 0; i < count; ++i) {
    if (all[i].type == AV_PKT_DATA_DISPLAYMATRIX && all[i].size >= 9 * sizeof(int32_t)) data = all + i;
  }
  if (!data) return 1;
  int32_t m[9];
  std::copy_n(data->data, sizeof(m), reinterpret_cast<uint8_t*>(m));
  if (m[1] == 0 && m[3] == 0) return m[0] >= 0 ? (m[4] >= 0 ? 1 : 4) : (m[4] >= 0 ? 2 : 3);
  if (m[0] == 0 && m[4] == 0) return m[1] >= 0 ? (m[3] >= 0 ? 5 : 6) : (m[3] >= 0 ? 8 : 7);
  return 1;  // at an angle: as it was filmed
}

// Where the frames of a file are, in the order in which they are decoded.
struct PacketTable {
  struct Packet {
    int64_t time = 0;
    bool is_key = false, is_shown = true;
  };
  std::vector<Packet> packets;
  std::vector<size_t> shown;  // indices of packets in order of time
  bool has_times = true;      // else frames are told apart by counting
};

class VideoFile {
 public:
  VideoFile(std::span<const std::byte> bytes, const std::string& name, const VideoOptions& options)
      : bytes_(bytes), name_(name), options_(options) {
    SwscaleLibrary::get();
  }

  Video read() {
    FfmpegCodec codec;
    std::unique_ptr<FfmpegInput> input = open(codec);
    const AVStream& stream = *input->container().streams[stream_];
    orientation_ = orientation_of(stream);
    seconds_per_tick_ = static_cast<double>(stream.time_base.num) / std::max(1, stream.time_base.den);
    scan(*input);
    describe(*input);
    const std::vector<int64_t> chosen = choose();
    input = open(codec);
    decode(*input, *codec, chosen);
    return std::move(video_);
  }

 private:
  std::unique_ptr<FfmpegInput> open(FfmpegCodec& codec) {
    auto input = std::make_unique<FfmpegInput>(ByteInput::in_memory(name_, bytes_, nullptr), "no picture that is known",
                                               options_.is_cancelled);
    stream_ = input->open_stream(AVMEDIA_TYPE_VIDEO, "picture", codec, [&](AVCodecContext& context) {
      if (context.width > 0 && int64_t{context.width} * context.height > options_.limits.max_pixels) {
        throw Error(ErrorCode::kInvalidArgument, cat(name_, ": the video has ", context.width, " x ", context.height,
                                                     " pixels, more than the limit of ", options_.limits.max_pixels));
      }
      context.max_pixels = options_.limits.max_pixels;
      context.thread_count = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
    });
    return input;
  }

  void scan(FfmpegInput& input) {
    const FfmpegPacket packet(ffmpeg_not_null(ffmpeg_library().av_packet_alloc()));
    while (input.read(*packet)) {
      if (packet->stream_index == stream_) {
        const bool is_shown = (packet->flags & AV_PKT_FLAG_DISCARD) == 0;
        table_.packets.push_back({packet->pts, (packet->flags & AV_PKT_FLAG_KEY) != 0, is_shown});
        if (packet->pts == AV_NOPTS_VALUE) table_.has_times = false;
      }
      ffmpeg_library().av_packet_unref(packet.get());
      if (std::ssize(table_.packets) > options_.limits.max_frames) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat(name_, ": the video has more frames than the limit of ", options_.limits.max_frames));
      }
    }
    for (size_t i = 0; i < table_.packets.size(); ++i) {
      if (table_.packets[i].is_shown) table_.shown.push_back(i);
    }
    if (table_.has_times) {
      std::stable_sort(table_.shown.begin(), table_.shown.end(),
                       [&](size_t a, size_t b) { return table_.packets[a].time < table_.packets[b].time; });
      for (size_t i = 1; i < table_.shown.size(); ++i) {
        if (time_of(i) == time_of(i - 1)) table_.has_times = false;
      }
      if (!table_.has_times) std::sort(table_.shown.begin(), table_.shown.end());
    }
    if (table_.shown.empty()) throw input.bad("the video has no frames");
  }

  int64_t time_of(size_t frame) const { return table_.packets[table_.shown[frame]].time; }

  void describe(FfmpegInput& input) {
    const AVStream& stream = *input.container().streams[stream_];
    const auto frames = static_cast<double>(table_.shown.size());
    video_.frames_in_file = std::ssize(table_.shown);
    if (stream.avg_frame_rate.num > 0 && stream.avg_frame_rate.den > 0) {
      video_.frames_per_second = static_cast<double>(stream.avg_frame_rate.num) / stream.avg_frame_rate.den;
    }
    if (table_.has_times && frames > 1) {
      const double between = static_cast<double>(time_of(table_.shown.size() - 1) - time_of(0)) * seconds_per_tick_;
      if (video_.frames_per_second <= 0 && between > 0) video_.frames_per_second = (frames - 1) / between;
      video_.seconds = between * frames / (frames - 1);
    } else if (video_.frames_per_second > 0) {
      video_.seconds = frames / video_.frames_per_second;
    }
  }

  std::vector<int64_t> choose() const {
    std::vector<int64_t> chosen = chosen_frames(std::ssize(table_.shown), video_.frames_per_second, options_.choice);
    if (!options_.choice.key_frames_first) return chosen;
    std::vector<int64_t> keys;
    for (size_t i = 0; i < table_.shown.size(); ++i) {
      if (table_.packets[table_.shown[i]].is_key) keys.push_back(static_cast<int64_t>(i));
    }
    if (keys.empty()) return chosen;
    std::vector<bool> taken(table_.shown.size(), false);
    for (int64_t& frame : chosen) {
      const auto behind = std::lower_bound(keys.begin(), keys.end(), frame);
      int64_t nearest = behind == keys.end() ? keys.back() : *behind;
      if (behind != keys.begin() && frame - *(behind - 1) <= std::abs(nearest - frame)) nearest = *(behind - 1);
      if (!taken[static_cast<size_t>(nearest)]) frame = nearest;  // else it stays as it was wanted
      taken[static_cast<size_t>(frame)] = true;
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

  // Packets from a key frame that is not shown later than the wanted frame, up to the frame itself.
  std::vector<bool> needed_packets(const std::vector<int64_t>& chosen) const {
    std::vector<bool> needed(table_.packets.size(), !table_.has_times);
    for (const int64_t frame : chosen) {
      const size_t last = table_.shown[static_cast<size_t>(frame)];
      for (size_t i = last + 1; i-- > 0;) {
        needed[i] = true;
        if (table_.packets[i].is_key && table_.packets[i].time <= table_.packets[last].time) break;
      }
    }
    return needed;
  }

  void decode(FfmpegInput& input, AVCodecContext& codec, const std::vector<int64_t>& chosen) {
    for (const int64_t frame : chosen)
      wanted_.emplace(table_.has_times ? time_of(static_cast<size_t>(frame)) : frame, frame);
    const std::vector<bool> needed = needed_packets(chosen);
    FrameKeeper keeper(name_, options_, std::ssize(chosen));
    const FfmpegPacket packet(ffmpeg_not_null(ffmpeg_library().av_packet_alloc()));
    bool is_running = false;
    for (size_t index = 0; !wanted_.empty() && input.read(*packet);) {
      if (packet->stream_index == stream_) {
        const bool is_needed = index < needed.size() && needed[index];
        ++index;
        if (is_needed) {
          ffmpeg_library().avcodec_send_packet(&codec, packet.get());
          receive(codec, keeper);
          is_running = true;
        } else if (is_running) {  // what the decoder holds back
          drain(codec, keeper);
          SwscaleLibrary::get().avcodec_flush_buffers(&codec);
          is_running = false;
        }
      }
      ffmpeg_library().av_packet_unref(packet.get());
    }
    if (!wanted_.empty() && is_running) drain(codec, keeper);
    if (!wanted_.empty()) {
      throw input.bad(
          cat("frame ", wanted_.begin()->second, " of the ", table_.shown.size(), " of the video cannot be decoded"));
    }
    std::sort(video_.frames.begin(), video_.frames.end(),
              [](const VideoFrame& a, const VideoFrame& b) { return a.seconds < b.seconds; });
  }

  void drain(AVCodecContext& codec, FrameKeeper& keeper) {
    ffmpeg_library().avcodec_send_packet(&codec, nullptr);
    receive(codec, keeper);
  }

  void receive(AVCodecContext& codec, FrameKeeper& keeper) {
    if (!frame_) frame_.reset(ffmpeg_not_null(ffmpeg_library().av_frame_alloc()));
    while (!wanted_.empty() && ffmpeg_library().avcodec_receive_frame(&codec, frame_.get()) >= 0) {
      keeper.check();
      const int64_t time = table_.has_times ? frame_->best_effort_timestamp : decoded_++;
      const auto found = wanted_.find(time);
      if (found == wanted_.end()) continue;
      const int64_t index = found->second;
      wanted_.erase(found);
      keeper.keep(seconds_of(index), convert(), video_);
    }
  }

  double seconds_of(int64_t frame) const {
    if (table_.has_times)
      return static_cast<double>(time_of(static_cast<size_t>(frame)) - time_of(0)) * seconds_per_tick_;
    return video_.frames_per_second > 0 ? static_cast<double>(frame) / video_.frames_per_second : 0;
  }

  // All frames in the size of the first.
  Picture convert() {
    const SwscaleLibrary& library = SwscaleLibrary::get();
    if (width_ == 0) {
      width_ = frame_->width;
      height_ = frame_->height;
    }
    const auto bad = [&](std::string_view what) { return Error(ErrorCode::kBadFile, cat(name_, ": ", what)); };
    if (frame_->width < 1 || frame_->height < 1 ||
        int64_t{frame_->width} * frame_->height > options_.limits.max_pixels) {
      throw bad(cat("a frame of the video has ", frame_->width, " x ", frame_->height, " pixels"));
    }
    const auto format = static_cast<AVPixelFormat>(frame_->format);
    scaler_.reset(library.sws_getCachedContext(
        scaler_.release(), frame_->width, frame_->height, format, width_, height_, AV_PIX_FMT_RGB24,
        SWS_BICUBIC | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
    if (!scaler_) throw bad(cat("FFmpeg cannot convert frames of its format ", frame_->format));
    const bool is_full = frame_->color_range == AVCOL_RANGE_JPEG || format == AV_PIX_FMT_YUVJ420P ||
                         format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P;
    const int space =
        frame_->colorspace == AVCOL_SPC_UNSPECIFIED ? SWS_CS_DEFAULT : static_cast<int>(frame_->colorspace);
    library.sws_setColorspaceDetails(scaler_.get(), library.sws_getCoefficients(space), is_full,
                                     library.sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
    Picture picture;
    picture.width = width_;
    picture.height = height_;
    // swscale writes whole vectors: a row of room behind the last.
    const size_t bytes = static_cast<size_t>(width_) * static_cast<size_t>(height_) * 3;
    picture.rgb.resize(bytes + 64);
    uint8_t* rows[4] = {picture.rgb.data(), nullptr, nullptr, nullptr};
    const int strides[4] = {3 * width_, 0, 0, 0};
    library.sws_scale(scaler_.get(), frame_->data, frame_->linesize, 0, frame_->height, rows, strides);
    picture.rgb.resize(bytes);
    make_upright(picture, orientation_);
    return picture;
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  const VideoOptions& options_;
  int stream_ = -1, orientation_ = 1, width_ = 0, height_ = 0;
  double seconds_per_tick_ = 0;
  PacketTable table_;
  std::map<int64_t, int64_t> wanted_;  // by time or number
  int64_t decoded_ = 0;
  FfmpegFrame frame_;
  std::unique_ptr<SwsContext, FreeScaler> scaler_;
  Video video_;
};

}  // namespace

Video read_with_ffmpeg(std::span<const std::byte> bytes, const std::string& name, const VideoOptions& options) {
  return VideoFile(bytes, name, options).read();
}

}  // namespace wick
