#include "base/text.h"
#include "media/image/byte_view.h"
#include "media/image/decoders.h"
#include "media/image/exif.h"

#if WICK_HAS_WEBP
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "media/image/system_library.h"
#endif

namespace wick {

#if WICK_HAS_WEBP
namespace {

constexpr const char* kNeed = "WebP pictures are read with libwebp (tools/install-deps pictures)";
#define WICK_WEBP_FUNCTIONS(each) each(WebPGetFeaturesInternal) each(WebPDecodeRGBInto) each(WebPDecodeRGBAInto)
WICK_SYSTEM_LIBRARY(Libwebp, WICK_WEBP_FUNCTIONS, kNeed, "libwebp.so.7")
#define WICK_WEBP_DEMUX_FUNCTIONS(each)                                                                                \
  each(WebPAnimDecoderOptionsInitInternal) each(WebPAnimDecoderNewInternal) each(WebPAnimDecoderGetInfo)               \
      each(WebPAnimDecoderGetNext) each(WebPAnimDecoderDelete) each(WebPAnimDecoderGetDemuxer) each(WebPDemuxGetFrame) \
          each(WebPDemuxNextFrame) each(WebPDemuxReleaseIterator)
WICK_SYSTEM_LIBRARY(LibwebpDemux, WICK_WEBP_DEMUX_FUNCTIONS, kNeed, "libwebpdemux.so.2")

const uint8_t* data_of(const PictureFile& file) { return reinterpret_cast<const uint8_t*>(file.bytes.data()); }

WebPBitstreamFeatures features_of(const PictureFile& file) {
  WebPBitstreamFeatures features;
  const auto code =
      Libwebp::get().WebPGetFeaturesInternal(data_of(file), file.bytes.size(), &features, WEBP_DECODER_ABI_VERSION);
  if (code == VP8_STATUS_NOT_ENOUGH_DATA) throw file.bad("the WebP ends early");
  if (code != VP8_STATUS_OK) throw file.bad(cat("the WebP cannot be read: libwebp's error ", static_cast<int>(code)));
  return features;
}

// The chunks of the file: the profile in front of the pixels, EXIF behind them.
void read_chunks(const PictureFile& file, RawPicture& raw) {
  const ByteView view(file.bytes);
  for (size_t at = 12; view.has(at, 8);) {
    const size_t size = view.little(at + 4, 4);
    const ByteSpan chunk = view.part(at + 8, size);
    if (view.is(at, "ICCP")) raw.profile.assign(chunk.begin(), chunk.end());
    if (view.is(at, "EXIF")) {
      const bool has_mark = ByteView(chunk).is(0, {"Exif\0\0", 6});  // some programs write JPEG's
      raw.orientation = exif_orientation(has_mark ? chunk.subspan(6) : chunk);
    }
    at += 8 + size + size % 2;
  }
}

struct FreeAnimation {
  void operator()(WebPAnimDecoder* decoder) const { LibwebpDemux::get().WebPAnimDecoderDelete(decoder); }
};
using Animation = std::unique_ptr<WebPAnimDecoder, FreeAnimation>;

Animation open_animation(const PictureFile& file, WebPAnimInfo& info) {
  const WebPBitstreamFeatures features = features_of(file);
  file.check_size(features.width, features.height);  // a canvas, and one more to work on, is allocated below
  const LibwebpDemux& library = LibwebpDemux::get();
  WebPAnimDecoderOptions options;
  if (!library.WebPAnimDecoderOptionsInitInternal(&options, WEBP_DEMUX_ABI_VERSION)) {
    throw Error(ErrorCode::kUnsupported, "libwebpdemux is another version than Wick was built for");
  }
  options.color_mode = MODE_RGBA;
  const WebPData data{data_of(file), file.bytes.size()};
  Animation decoder(library.WebPAnimDecoderNewInternal(&data, &options, WEBP_DEMUX_ABI_VERSION));
  if (!decoder || !library.WebPAnimDecoderGetInfo(decoder.get(), &info)) {
    throw file.bad("the animated WebP cannot be read: it is damaged or ends early");
  }
  return decoder;
}

}  // namespace

RawPicture decode_webp(const PictureFile& file) {
  const WebPBitstreamFeatures features = features_of(file);
  if (features.has_animation) {
    RawPicture first;
    visit_webp(file, [&](int, double, const RawPicture& canvas) {
      first = canvas;
      return false;
    });
    return first;
  }
  RawPicture raw = file.make(features.width, features.height, features.has_alpha ? RawFormat::kRgba : RawFormat::kRgb);
  const auto decode = features.has_alpha ? Libwebp::get().WebPDecodeRGBAInto : Libwebp::get().WebPDecodeRGBInto;
  if (!decode(data_of(file), file.bytes.size(), raw.pixels.data(), raw.pixels.size(), raw.width * raw.channels())) {
    throw file.bad(
        cat("the WebP of ", raw.width, " x ", raw.height, " cannot be decoded: it is damaged or ends early"));
  }
  read_chunks(file, raw);
  return raw;
}

AnimationInfo webp_info(const PictureFile& file) {
  if (!features_of(file).has_animation) return {1, 0};
  WebPAnimInfo info;
  const Animation decoder = open_animation(file, info);
  const LibwebpDemux& library = LibwebpDemux::get();
  AnimationInfo out;
  WebPIterator frame;
  if (!library.WebPDemuxGetFrame(library.WebPAnimDecoderGetDemuxer(decoder.get()), 1, &frame)) {
    throw file.bad("the animated WebP has no frames");
  }
  do {
    ++out.frames;
    out.seconds += frame.duration / 1000.0;
  } while (library.WebPDemuxNextFrame(&frame));
  library.WebPDemuxReleaseIterator(&frame);
  return out;
}

void visit_webp(const PictureFile& file, const FrameVisitor& visit) {
  if (!features_of(file).has_animation) {
    visit(0, 0, decode_webp(file));
    return;
  }
  WebPAnimInfo info;
  const Animation decoder = open_animation(file, info);
  RawPicture canvas = file.make(info.canvas_width, info.canvas_height, RawFormat::kRgba);
  read_chunks(file, canvas);
  double seconds = 0;
  for (int index = 0; index < static_cast<int>(info.frame_count); ++index) {
    file.check_work(index, canvas);
    uint8_t* pixels = nullptr;
    int end = 0;
    if (!LibwebpDemux::get().WebPAnimDecoderGetNext(decoder.get(), &pixels, &end)) {
      throw file.bad(cat("frame ", index, " of the animated WebP cannot be decoded"));
    }
    std::copy_n(pixels, canvas.pixels.size(), canvas.pixels.data());
    if (!visit(index, seconds, canvas)) return;
    seconds = end / 1000.0;
  }
}
#else
namespace {
[[noreturn]] void refuse(const PictureFile& file) {
  throw Error(ErrorCode::kUnsupported, cat(file.name, ": WebP needs libwebp, which this build is without"));
}
}  // namespace

RawPicture decode_webp(const PictureFile& file) { refuse(file); }
AnimationInfo webp_info(const PictureFile& file) { refuse(file); }
void visit_webp(const PictureFile& file, const FrameVisitor&) { refuse(file); }
#endif

}  // namespace wick
