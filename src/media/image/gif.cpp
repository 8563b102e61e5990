#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "media/image/byte_view.h"
#include "media/image/decoders.h"

namespace wick {
namespace {

constexpr int kMaxCode = 4096;

// Variable-length LZW, least significant bits first, in blocks of up to 255 bytes. Gives the indices one by one.
class GifIndices {
 public:
  GifIndices(const ByteView& view, size_t at, int code_bits)
      : view_(view), at_(at), clear_(1 << code_bits), first_bits_(code_bits + 1) {
    restart();
  }

  // Empty at the end, whether it was announced or the bytes are over.
  std::optional<uint8_t> next() {
    if (pending_ == 0 && !read_string()) return std::nullopt;
    return stack_[static_cast<size_t>(--pending_)];
  }

 private:
  void restart() {
    bits_ = first_bits_;
    codes_ = clear_ + 2;
    previous_ = -1;
  }

  int read_code() {
    while (have_ < bits_) {
      if (left_ == 0) {
        left_ = view_.u8(at_++);
        if (left_ == 0) return -1;
      }
      if (!view_.has(at_, 1)) return -1;
      buffer_ |= uint32_t{view_.u8(at_++)} << have_;
      have_ += 8;
      --left_;
    }
    const int code = static_cast<int>(buffer_ & ((1u << bits_) - 1));
    buffer_ >>= bits_;
    have_ -= bits_;
    return code;
  }

  // Puts the string of the next code on the stack, its end first.
  bool read_string() {
    int code = read_code();
    while (code == clear_) {
      restart();
      code = read_code();
    }
    if (code < 0 || code == clear_ + 1 || code > codes_ || (previous_ < 0 && code >= clear_)) return false;
    int at = code;
    if (code == codes_) {  // the string that is being made: the previous one and its own beginning
      stack_[static_cast<size_t>(pending_++)] = first_of_previous_;
      at = previous_;
    }
    while (at >= clear_) {
      stack_[static_cast<size_t>(pending_++)] = last_[static_cast<size_t>(at)];
      at = prefix_[static_cast<size_t>(at)];
    }
    const auto first = static_cast<uint8_t>(at);
    stack_[static_cast<size_t>(pending_++)] = first;
    if (previous_ >= 0 && codes_ < kMaxCode) {
      prefix_[static_cast<size_t>(codes_)] = static_cast<int16_t>(previous_);
      last_[static_cast<size_t>(codes_)] = first;
      if (++codes_ == 1 << bits_ && bits_ < 12) ++bits_;
    }
    previous_ = code;
    first_of_previous_ = first;
    return true;
  }

  const ByteView& view_;
  size_t at_;
  int left_ = 0;  // bytes of this block
  uint32_t buffer_ = 0;
  int have_ = 0;  // bits in the buffer
  int clear_, first_bits_, bits_ = 0, codes_ = 0, previous_ = -1;
  uint8_t first_of_previous_ = 0;
  std::array<int16_t, kMaxCode> prefix_ = {};
  std::array<uint8_t, kMaxCode> last_ = {};
  std::array<uint8_t, kMaxCode + 1> stack_ = {};
  int pending_ = 0;
};

struct GifFrame {
  int left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  size_t palette_at = 0, indices_at = 0;
  int palette_size = 0, code_bits = 0;
  int transparent = -1, disposal = 0;
  double seconds = 0;  // how long it is shown
};

// Walks over the blocks without looking into the pixels.
class GifFrames {
 public:
  explicit GifFrames(const PictureFile& file) : file_(file), view_(file.bytes) {
    if (!view_.has(0, 13)) throw file.bad("the GIF ends inside its header");
    width = static_cast<int>(view_.little(6, 2));
    height = static_cast<int>(view_.little(8, 2));
    at_ = 13;
    const uint8_t flags = view_.u8(10);
    if (flags & 0x80) skip_palette(flags, palette_at_, palette_size_);
  }

  // Empty at the end.
  std::optional<GifFrame> next() {
    GifFrame frame;
    while (true) {
      if (!view_.has(at_, 1)) {
        if (count_ == 0) throw file_.bad("the GIF ends before its first picture");
        return std::nullopt;  // a missing trailer hurts nobody
      }
      const uint8_t kind = view_.u8(at_++);
      if (kind == 0x3B) {
        if (count_ == 0) throw file_.bad("the GIF has no picture");
        return std::nullopt;
      }
      if (kind == 0x21) {
        read_extension(frame);
      } else if (kind == 0x2C) {
        read_picture(frame);
        if (++count_ > file_.limits.max_frames) {
          throw Error(ErrorCode::kInvalidArgument,
                      cat(file_.name, ": the GIF has more frames than the limit of ", file_.limits.max_frames));
        }
        return frame;
      } else if (kind != 0) {  // stray zeros are common
        if (count_ > 0) return std::nullopt;
        throw file_.bad(cat("the GIF has an unknown block ", kind, " at byte ", at_ - 1));
      }
    }
  }

  const ByteView& view() const { return view_; }
  int width = 0, height = 0;

 private:
  void skip_palette(uint8_t flags, size_t& at, int& size) {
    size = 2 << (flags & 7);
    at = at_;
    at_ += static_cast<size_t>(size) * 3;
    if (!view_.has(at, static_cast<size_t>(size) * 3)) throw file_.bad("the GIF ends inside a palette");
  }

  void skip_blocks() {
    while (const uint8_t size = view_.u8(at_++)) {
      at_ += size;
      if (at_ > view_.size()) return;
    }
  }

  void read_extension(GifFrame& frame) {
    if (view_.u8(at_++) == 0xF9 && view_.u8(at_) == 4) {
      const uint8_t flags = view_.u8(at_ + 1);
      frame.disposal = flags >> 2 & 7;
      frame.transparent = flags & 1 ? view_.u8(at_ + 4) : -1;
      const uint32_t hundredths = view_.little(at_ + 2, 2);
      frame.seconds = hundredths <= 1 ? 0.1 : hundredths / 100.0;  // as browsers do
    }
    skip_blocks();
  }

  void read_picture(GifFrame& frame) {
    if (!view_.has(at_, 10)) throw file_.bad(cat("the GIF ends at the beginning of frame ", count_));
    frame.left = static_cast<int>(view_.little(at_, 2));
    frame.top = static_cast<int>(view_.little(at_ + 2, 2));
    frame.width = static_cast<int>(view_.little(at_ + 4, 2));
    frame.height = static_cast<int>(view_.little(at_ + 6, 2));
    const uint8_t flags = view_.u8(at_ + 8);
    at_ += 9;
    frame.interlaced = (flags & 0x40) != 0;
    frame.palette_at = palette_at_;
    frame.palette_size = palette_size_;
    if (flags & 0x80) skip_palette(flags, frame.palette_at, frame.palette_size);
    if (frame.palette_size == 0) throw file_.bad(cat("frame ", count_, " of the GIF has no palette"));
    frame.code_bits = view_.u8(at_++);
    if (frame.code_bits < 1 || frame.code_bits > 8) {
      throw file_.bad(cat("frame ", count_, " of the GIF has codes of ", frame.code_bits, " bits, expected 1 to 8"));
    }
    frame.indices_at = at_;
    skip_blocks();
  }

  const PictureFile& file_;
  ByteView view_;
  size_t at_ = 0, palette_at_ = 0;
  int palette_size_ = 0, count_ = 0;
};

// What a frame leaves on the canvas; what lies outside is not drawn.
void draw(const PictureFile& file, const ByteView& view, const GifFrame& frame, int index, RawPicture& canvas) {
  GifIndices indices(view, frame.indices_at, frame.code_bits);
  constexpr std::array<int, 4> kFirst = {0, 4, 2, 1}, kStep = {8, 8, 4, 2};
  const size_t passes = frame.interlaced ? 4 : 1;
  for (size_t pass = 0; pass < passes; ++pass) {
    const int first = frame.interlaced ? kFirst[pass] : 0, step = frame.interlaced ? kStep[pass] : 1;
    for (int y = first; y < frame.height; y += step) {
      for (int x = 0; x < frame.width; ++x) {
        const std::optional<uint8_t> value = indices.next();
        if (!value) {
          throw file.bad(cat("frame ", index, " of the GIF ends early, in row ", y, " of ", frame.height));
        }
        const int to_x = frame.left + x, to_y = frame.top + y;
        if (*value == frame.transparent || to_x >= canvas.width || to_y >= canvas.height) continue;
        if (*value >= frame.palette_size) {
          throw file.bad(cat("frame ", index, " of the GIF has colour ", *value, " of ", frame.palette_size));
        }
        uint8_t* out = canvas.pixels.data() +
                       (static_cast<size_t>(to_y) * static_cast<size_t>(canvas.width) + static_cast<size_t>(to_x)) * 4;
        for (size_t i = 0; i < 3; ++i) out[i] = view.u8(frame.palette_at + *value * size_t{3} + i);
        out[3] = 255;
      }
    }
  }
}

void clear(const GifFrame& frame, RawPicture& canvas) {
  const int right = std::min(canvas.width, frame.left + frame.width);
  const int bottom = std::min(canvas.height, frame.top + frame.height);
  for (int y = frame.top; y < bottom; ++y) {
    for (int x = frame.left; x < right; ++x) {
      std::fill_n(canvas.pixels.data() +
                      (static_cast<size_t>(y) * static_cast<size_t>(canvas.width) + static_cast<size_t>(x)) * 4,
                  4, uint8_t{0});
    }
  }
}

}  // namespace

AnimationInfo gif_info(const PictureFile& file) {
  GifFrames frames(file);
  AnimationInfo info;
  while (const auto frame = frames.next()) {
    ++info.frames;
    info.seconds += frame->seconds;
  }
  return info;
}

void visit_gif(const PictureFile& file, const FrameVisitor& visit) {
  GifFrames frames(file);
  RawPicture canvas;
  double seconds = 0;
  for (int index = 0;; ++index) {
    const auto frame = frames.next();
    if (!frame) return;
    if (index == 0) {  // some files leave the size of the canvas to the first frame
      const bool has_size = frames.width > 0 && frames.height > 0;
      canvas =
          file.make(has_size ? frames.width : frame->width, has_size ? frames.height : frame->height, RawFormat::kRgba);
      std::fill(canvas.pixels.begin(), canvas.pixels.end(), uint8_t{0});
    }
    file.check_size(frame->width, frame->height);
    file.check_work(index, canvas);
    Pixels before;
    if (frame->disposal == 3) before = canvas.pixels;
    draw(file, frames.view(), *frame, index, canvas);
    if (!visit(index, seconds, canvas)) return;
    if (frame->disposal == 2) clear(*frame, canvas);
    if (frame->disposal == 3) canvas.pixels = std::move(before);
    seconds += frame->seconds;
  }
}

RawPicture decode_gif(const PictureFile& file) {
  RawPicture first;
  visit_gif(file, [&](int, double, const RawPicture& canvas) {
    first = canvas;
    return false;
  });
  return first;
}

}  // namespace wick
