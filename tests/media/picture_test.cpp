#include "media/image/picture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "media/image/exif.h"
#include "media/picture_files.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

// Builds and systems may be without a library; then the refusal says which.
bool can_read(const std::string& name) {
  try {
    picture_of(picture_bytes(name), name);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) return true;
    EXPECT_TRUE(std::string_view(error.what()).find("which this build is without") != std::string_view::npos ||
                std::string_view(error.what()).find("which cannot be loaded") != std::string_view::npos)
        << error.what();
    return false;
  }
  return true;
}

#define WICK_NEEDS_READER(name) \
  if (!can_read(name)) GTEST_SKIP() << name << " cannot be read here"

Picture on_white(bool grey = false) {
  Picture picture = drawn_picture();
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 24; ++x) {
      uint8_t* pixel = picture.row(y) + 3 * x;
      if (grey) {  // as Pillow computes it
        const int level = (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16;
        pixel[0] = pixel[1] = pixel[2] = static_cast<uint8_t>(level);
      }
      const double alpha = (255 - 10 * x) / 255.0;
      for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(std::lround(pixel[c] * alpha + 255 * (1 - alpha)));
    }
  }
  return picture;
}

// 16 colours in blocks of 6 x 4; colour `hidden` is transparent.
Picture blocks(int hidden) {
  Picture picture = plain_picture(24, 16, 0, 0, 0);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 24; ++x) {
      const int i = x / 6 + 4 * (y / 4);
      const uint8_t colour[3] = {static_cast<uint8_t>(i * 16), static_cast<uint8_t>(255 - i * 16),
                                 static_cast<uint8_t>(i * 7)};
      for (int c = 0; c < 3; ++c) picture.row(y)[3 * x + c] = i == hidden ? uint8_t{255} : colour[c];
    }
  }
  return picture;
}

Picture expected_of(const std::string& name) {
  Picture picture = plain_picture(24, 16, 0, 0, 0);
  const std::string bytes = picture_bytes(name + ".rgb");
  EXPECT_EQ(bytes.size(), picture.rgb.size());
  std::memcpy(picture.rgb.data(), bytes.data(), std::min(bytes.size(), picture.rgb.size()));
  return picture;
}

TEST(Picture, EveryKindIsReadAsItWasDrawn) {
  struct Row {
    const char* name;
    const char* kind;
    Picture expected;
    int tolerance;
  };
  const Row rows[] = {
      {"rgb.png", "PNG", drawn_picture(), 0},
      {"rgba.png", "PNG", on_white(), 0},
      {"grey-alpha.png", "PNG", on_white(true), 0},
      {"palette.png", "PNG", blocks(5), 0},
      {"srgb.png", "PNG", drawn_picture(), 0},
      {"photo.jpg", "JPEG", expected_of("photo.jpg"), 0},
      {"444.jpg", "JPEG", expected_of("444.jpg"), 0},
      {"progressive.jpg", "JPEG", expected_of("progressive.jpg"), 0},
      {"grey.jpg", "JPEG", expected_of("grey.jpg"), 0},
      {"cmyk.jpg", "JPEG", expected_of("cmyk.jpg"), 0},
      {"rgb.webp", "WebP", drawn_picture(), 0},
      {"rgba.webp", "WebP", on_white(), 0},
      {"photo.webp", "WebP", expected_of("photo.webp"), 0},
      {"palette.gif", "GIF", blocks(5), 0},
      {"interlaced.gif", "GIF", blocks(-1), 0},
      {"24.bmp", "BMP", drawn_picture(), 0},
      {"8.bmp", "BMP", blocks(-1), 0},
      {"lzw.tif", "TIFF", drawn_picture(), 0},
      {"rgba.tif", "TIFF", on_white(), 1},
      {"palette.tif", "TIFF", blocks(-1), 0},
      {"rgb.heic", "HEIF", drawn_picture(), 4},
      {"rgba.avif", "AVIF", on_white(), 4},
  };
  int read = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string bytes = picture_bytes(row.name);
    EXPECT_EQ(picture_kind(std::as_bytes(std::span(bytes))), row.kind);
    if (!can_read(row.name)) continue;
    ++read;
    const Picture picture = picture_of(bytes);
    EXPECT_EQ(picture.width, 24);
    EXPECT_EQ(picture.height, 16);
    EXPECT_LE(difference(picture, row.expected), row.tolerance);
    EXPECT_EQ(difference(load_picture(picture_file(row.name)), picture), 0);
  }
  EXPECT_GE(read, 4);  // GIF and BMP need no library
}

TEST(Picture, SixteenBitsAreRounded) {
  WICK_NEEDS_READER("grey16.png");
  const Picture picture = picture_of(picture_bytes("grey16.png"));
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 24; ++x) {
      EXPECT_EQ(picture.row(y)[3 * x + 1], std::lround((x * 2500 + y * 3) * 255 / 65535.0)) << x << ", " << y;
    }
  }
}

// The profile of swapped.png has linear light, and red and blue changed around.
TEST(Picture, ProfilesAreConvertedToSrgb) {
  WICK_NEEDS_READER("swapped.png");
  const Picture picture = picture_of(picture_bytes("swapped.png"));
  const Picture plain = drawn_picture();
  const auto encoded = [](int level) {
    const double light = level / 255.0;
    return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055);
  };
  for (size_t i = 0; i < plain.rgb.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(picture.rgb[i + c], encoded(plain.rgb[i + 2 - c]), 2.5) << i;
  }
  WICK_NEEDS_READER("swapped.jpg");
  EXPECT_LE(difference(picture_of(picture_bytes("swapped.jpg")), picture), 40);  // lossy before the dark is made bright
}

std::string exif(int orientation, bool is_little) {
  std::string tiff = is_little ? std::string("II*\0\x08\0\0\0", 8) : std::string("MM\0*\0\0\0\x08", 8);
  const char value = static_cast<char>(orientation);
  tiff += is_little ? std::string("\x02\0\x0F\x01\x02\0\x01\0\0\0A\0\0\0\x12\x01\x03\0\x01\0\0\0", 22) + value +
                          std::string(7, '\0')
                    : std::string(
                          "\0\x02\x01\x0F\0\x02\0\0\0\x01"
                          "A\0\0\0\x01\x12\0\x03\0\0\0\x01\0",
                          23) +
                          value + std::string(6, '\0');
  return tiff;
}

TEST(Picture, OrientationOfTheCameraIsUndone) {
  const Picture plain = drawn_picture();
  for (int orientation = 0; orientation <= 9; ++orientation) {
    SCOPED_TRACE(orientation);
    const int known = orientation >= 1 && orientation <= 8 ? orientation : 1;
    for (const bool is_little : {true, false}) {
      const std::string tiff = exif(orientation, is_little);
      EXPECT_EQ(exif_orientation(std::as_bytes(std::span(tiff))), known);
      for (size_t size = 0; size < tiff.size() - 6; ++size)
        exif_orientation(std::as_bytes(std::span(tiff)).first(size));
    }
    Picture picture = plain;
    make_upright(picture, known);
    const bool turns = known >= 5;
    ASSERT_EQ(picture.width, turns ? 16 : 24);
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 24; ++x) {
        const int left = 23 - x, up = 15 - y;
        // Where a stored pixel is shown, from the table of the standard.
        const std::pair<int, int> to[] = {{x, y}, {left, y}, {left, up}, {x, up},
                                          {y, x}, {up, x},   {up, left}, {y, left}};
        const auto [to_x, to_y] = to[known - 1];
        ASSERT_EQ(std::memcmp(picture.row(to_y) + 3 * to_x, plain.row(y) + 3 * x, 3), 0) << x << ", " << y;
      }
    }
    if (!can_read("444.jpg")) continue;
    std::string jpeg = picture_bytes("444.jpg");
    const std::string segment = std::string("Exif\0\0", 6) + exif(orientation, true);
    const size_t length = segment.size() + 2;
    jpeg.insert(2,
                std::string("\xFF\xE1") + static_cast<char>(length >> 8) + static_cast<char>(length & 255) + segment);
    Picture expected = expected_of("444.jpg");
    make_upright(expected, known);
    EXPECT_EQ(difference(picture_of(jpeg), expected), 0);
  }
}

std::string little(uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255);
  return out;
}

// 3 x 2 pixels of 16 or 32 bits, runs and masks, from the top or from the bottom.
std::string bmp(int width, int height, int bits, int compression, const std::string& between, const std::string& pixels,
                uint32_t colours = 0) {
  const size_t at = 54 + between.size();
  return "BM" + little(static_cast<uint32_t>(at + pixels.size()), 4) + little(0, 4) +
         little(static_cast<uint32_t>(at), 4) + little(40, 4) + little(static_cast<uint32_t>(width), 4) +
         little(static_cast<uint32_t>(height), 4) + little(1, 2) + little(static_cast<uint32_t>(bits), 2) +
         little(static_cast<uint32_t>(compression), 4) + little(0, 12) + little(colours, 4) + little(0, 4) + between +
         pixels;
}

TEST(Picture, BmpInItsOtherForms) {
  const auto pixels = [](const std::string& file) {
    const Picture picture = picture_of(file);
    return std::vector<int>(picture.rgb.begin(), picture.rgb.end());
  };
  // 5 bits each, from the top: red, green, blue.
  EXPECT_EQ(pixels(bmp(3, -1, 16, 0, "", little(31 << 10, 2) + little(31 << 5, 2) + little(16, 2) + "..")),
            (std::vector<int>{255, 0, 0, 0, 255, 0, 0, 0, 132}));
  EXPECT_EQ(pixels(bmp(2, 1, 16, 3, little(0xF800, 4) + little(0x07E0, 4) + little(0x001F, 4),
                       little(0xF800, 2) + little(0x07FF, 2))),
            (std::vector<int>{255, 0, 0, 0, 255, 255}));
  EXPECT_EQ(pixels(bmp(1, -2, 32, 0, "", little(0x00FF8001, 4) + little(0xFF000002, 4))),
            (std::vector<int>{255, 128, 1, 0, 0, 2}));
  const std::string palette = little(0x0A0B0C, 4) + little(0xFF0000, 4);
  EXPECT_EQ(pixels(bmp(3, 2, 1, 0, palette, little(0x40, 4) + little(0xA0, 4))),  // the lower row comes first
            (std::vector<int>{255, 0, 0, 10, 11, 12, 255, 0, 0, 10, 11, 12, 255, 0, 0, 10, 11, 12}));
  // Two of colour 1, end of the row; a jump of one; three as they are (padded), end.
  const std::string runs = std::string("\x02\x01\0\0\0\x02\x01\0\x01\x01\0\x01", 12);
  EXPECT_EQ(pixels(bmp(3, -2, 8, 1, palette, runs, 2)),
            (std::vector<int>{255, 0, 0, 255, 0, 0, 10, 11, 12, 10, 11, 12, 255, 0, 0, 10, 11, 12}));
  EXPECT_EQ(pixels(bmp(4, -1, 4, 2, palette, std::string("\0\x03\x10\x10\x01\x10\0\x01", 8), 2)),
            (std::vector<int>{255, 0, 0, 10, 11, 12, 255, 0, 0, 255, 0, 0}));
}

TEST(Picture, DamageGetsASentence) {
  const std::string palette = little(0, 4) + little(0xFF0000, 4);
  const std::string gif = picture_bytes("palette.gif");
  std::string lying_gif = gif;
  const size_t frame = lying_gif.find(',', 13 + 3 * 16);
  ASSERT_NE(frame, std::string::npos);
  lying_gif[frame + 6] = 2;  // 512 more columns
  struct Row {
    std::string bytes;
    ErrorCode code;
    const char* sentence;
  };
  const Row rows[] = {
      {"", ErrorCode::kBadFile, "x: the file is empty"},
      {"hello, world", ErrorCode::kUnsupported, "x: this is no picture of a kind that is known (JPEG, PNG, "},
      {bmp(4, 4, 24, 0, "", "...."), ErrorCode::kBadFile, "x: the BMP of 4 x 4 ends early, at byte 58"},
      {bmp(0, 4, 24, 0, "", "...."), ErrorCode::kBadFile, "x: a picture of 0 x 4 pixels makes no sense"},
      {bmp(1 << 30, 4, 24, 0, "", "...."), ErrorCode::kBadFile, "x: a picture of 1073741824 x 4 pixels makes no sense"},
      {bmp(65535, 65535, 24, 0, "", "...."), ErrorCode::kInvalidArgument,
       "x: the picture has 65535 x 65535 pixels, more than the limit of 134217728"},
      {bmp(4, 4, 7, 0, "", "...."), ErrorCode::kBadFile, "x: the BMP has 7 bits a pixel"},
      {bmp(4, 4, 8, 5, "", "...."), ErrorCode::kUnsupported,
       "x: the BMP has compression 5 of 8 bits, which is not read"},
      {bmp(1, 1, 8, 0, palette, "\x02...", 2), ErrorCode::kBadFile, "x: the BMP has colour 2 of 2"},
      {bmp(1, 1, 8, 0, palette, "....", 999), ErrorCode::kBadFile, "x: the BMP of 8 bits has 999 colours"},
      {bmp(1, 1, 8, 1, palette, std::string("\x02\x01", 2), 2), ErrorCode::kBadFile,
       "x: the BMP has a run that leaves the picture"},
      {bmp(2, 2, 8, 1, palette, std::string("\x02\x01", 2), 2), ErrorCode::kBadFile, "x: the BMP ends early, in row 0"},
      {gif.substr(0, 9), ErrorCode::kBadFile, "x: the GIF ends inside its header"},
      {gif.substr(0, 30), ErrorCode::kBadFile, "x: the GIF ends inside a palette"},
      {gif.substr(0, frame), ErrorCode::kBadFile, "x: the GIF ends before its first picture"},
      {gif.substr(0, frame + 30), ErrorCode::kBadFile, "x: frame 0 of the GIF ends early, in row "},
      {lying_gif, ErrorCode::kBadFile, "x: frame 0 of the GIF ends early, in row "},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.sentence);
    expect_error([&] { picture_of(row.bytes, "x"); }, row.code, row.sentence);
  }
}

TEST(Picture, DamageInTheKindsOfLibrariesGetsASentence) {
  struct Row {
    const char* name;
    double keep;  // the part of the file that is left
    const char* sentence;
  };
  for (const Row& row :
       {Row{"rgb.png", 0.7, "x: the PNG of 24 x 16 cannot be decoded: "},
        Row{"rgb.png", 0.2, "x: the PNG cannot be read: "},
        Row{"photo.jpg", 0.95, "x: the JPEG of 24 x 16 cannot be decoded: "},
        Row{"photo.jpg", 0.2, "x: the JPEG cannot be read: "}, Row{"rgb.webp", 0.9, "x: the WebP "},
        Row{"rgb.webp", 0.25, "x: the WebP ends early"}, Row{"lzw.tif", 0.5, "x: the TIFF cannot be decoded: "},
        Row{"rgb.heic", 0.9, "x: the HEIF cannot be decoded: "}}) {
    SCOPED_TRACE(row.name);
    if (!can_read(row.name)) continue;
    const std::string bytes = picture_bytes(row.name);
    const std::string cut = bytes.substr(0, static_cast<size_t>(static_cast<double>(bytes.size()) * row.keep));
    expect_error([&] { picture_of(cut, "x"); }, ErrorCode::kBadFile, row.sentence);
  }
}

// A file of each kind cut everywhere and with bytes changed: a picture or a sentence, nothing else.
TEST(Picture, NothingElseComesOfDamage) {
  for (const char* name : {"rgba.png", "progressive.jpg", "cmyk.jpg", "rgba.webp", "photo.webp", "steps.webp",
                           "interlaced.gif", "steps.gif", "8.bmp", "lzw.tif", "rgba.tif", "rgba.avif", "swapped.png"}) {
    SCOPED_TRACE(name);
    if (!can_read(name)) continue;
    const std::string good = picture_bytes(name);
    PictureLimits limits;
    limits.max_pixels = 1 << 20;
    int refused = 0;
    const auto attempt = [&](const std::string& bytes) {
      try {
        const Picture picture = picture_of(bytes, "x", limits);
        EXPECT_EQ(picture.rgb.size(), static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3);
      } catch (const Error& error) {
        ++refused;
        EXPECT_NE(std::string_view(error.what()), "");
      }
    };
    const size_t step = good.size() > 400 ? 7 : 1;
    for (size_t size = 0; size < good.size(); size += step) attempt(good.substr(0, size));
    for (size_t at = 0; at < good.size(); at += step) {
      for (const char value : {'\0', '\x7F', '\xFF'}) {
        std::string bytes = good;
        bytes[at] = value;
        attempt(bytes);
      }
    }
    EXPECT_GT(refused, 10);
  }
}

TEST(Picture, LimitsComeBeforeMemory) {
  PictureLimits limits;
  limits.max_pixels = 24 * 16 - 1;
  for (const char* name :
       {"rgb.png", "photo.jpg", "rgb.webp", "steps.webp", "palette.gif", "24.bmp", "lzw.tif", "rgb.heic"}) {
    SCOPED_TRACE(name);
    if (!can_read(name)) continue;
    if (std::string_view(name) == "steps.webp") limits.max_pixels = 8 * 6 - 1;
    const std::string bytes = picture_bytes(name);
    expect_error([&] { picture_of(bytes, "x", limits); }, ErrorCode::kInvalidArgument,
                 "pixels, more than the limit of");
    limits.max_pixels = 24 * 16 - 1;
  }
  limits.max_bytes = 10;
  expect_error([&] { picture_of(picture_bytes("24.bmp"), "x", limits); }, ErrorCode::kInvalidArgument,
               "x: the file has 1206 bytes, more than the limit of 10");
}

TEST(Picture, CropsAndPlains) {
  const Picture part = crop(drawn_picture(), 3, 2, 5, 4);
  EXPECT_EQ(part.width, 5);
  EXPECT_EQ(part.row(3)[3 * 4], 70);
  EXPECT_EQ(part.row(3)[3 * 4 + 1], 75);
  EXPECT_ERROR(crop(part, 1, 0, 5, 4), kInvalidArgument, "a part of 5 x 4 at 1, 0 does not lie in a picture of 5 x 4");
  EXPECT_ERROR(crop(part, 0, -1, 1, 1), kInvalidArgument, "does not lie");
  EXPECT_EQ(plain_picture(1, 1, 1, 2, 3).rgb, (Pixels{1, 2, 3}));
  EXPECT_ERROR(load_picture("no/such/file.png"), kIo, "no/such/file.png");
}

}  // namespace
}  // namespace wick
