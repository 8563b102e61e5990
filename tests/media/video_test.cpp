#include "media/video/video.h"

#include <gtest/gtest.h>

#include <fstream>

#include "media/picture_files.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

using Indices = std::vector<int64_t>;

Video video_of(const std::string& bytes, const FrameChoice& choice = {}) {
  VideoOptions options;
  options.choice = choice;
  return read_video(std::as_bytes(std::span(bytes)), "clip", options);
}

FrameChoice by_rate(double rate, int least = 1, int most = 768) {
  FrameChoice choice;
  choice.rate = rate;
  choice.min_frames = least;
  choice.max_frames = most;
  return choice;
}

FrameChoice by_count(int count) {
  FrameChoice choice;
  choice.count = count;
  return choice;
}

TEST(ChosenFrames, AreSpreadAsNumpyDoes) {
  EXPECT_EQ(chosen_frames(24, 12, {}).size(), 24u);
  EXPECT_EQ(chosen_frames(24, 12, by_count(5)), (Indices{0, 6, 12, 17, 23}));  // 5.75, 11.5, 17.25
  EXPECT_EQ(chosen_frames(24, 12, by_count(4)), (Indices{0, 8, 15, 23}));
  EXPECT_EQ(chosen_frames(24, 12, by_count(1)), (Indices{0}));
  EXPECT_EQ(chosen_frames(3, 12, by_count(9)), (Indices{0, 1, 2}));
  EXPECT_EQ(chosen_frames(24, 12, by_rate(2)), (Indices{0, 8, 15, 23}));
  EXPECT_EQ(chosen_frames(24, 12, by_rate(0.1, 4)), (Indices{0, 8, 15, 23}));
  EXPECT_EQ(chosen_frames(24, 12, by_rate(100, 4, 3)), (Indices{0, 12, 23}));  // 11.5 goes to the even one
  EXPECT_EQ(chosen_frames(48, 0, by_rate(1)), (Indices{0, 47}));               // as if 24 a second
  EXPECT_TRUE(chosen_frames(0, 0, {}).empty());
  FrameChoice both = by_rate(1);
  both.count = 3;
  EXPECT_ERROR(chosen_frames(3, 1, both), kInvalidArgument, "by a rate or by a number, not by both");
  EXPECT_ERROR(chosen_frames(3, 1, by_rate(0)), kInvalidArgument, "at least one");
}

TEST(Video, GifsAreComposed) {
  const Video video = video_of(picture_bytes("steps.gif"));
  EXPECT_EQ(video.frames_in_file, 6);
  EXPECT_NEAR(video.seconds, 0.6, 1e-9);
  EXPECT_NEAR(video.frames_per_second, 10, 1e-9);
  ASSERT_EQ(video.frames.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    const VideoFrame& frame = video.frames[static_cast<size_t>(i)];
    EXPECT_NEAR(frame.seconds, i * 0.1, 1e-9);
    EXPECT_EQ(frame.picture.width, 8);
    EXPECT_EQ(frame.picture.row(5)[3 * 1], 20 * i);
    EXPECT_EQ(frame.picture.row(5)[3 * 7 + 2], i < 4 ? 20 * i : 60);
  }
  const Video some = video_of(picture_bytes("steps.gif"), by_count(3));
  ASSERT_EQ(some.frames.size(), 3u);
  EXPECT_EQ(some.frames[1].picture.row(0)[0], 40);
  EXPECT_EQ(picture_of(picture_bytes("steps.gif")).row(0)[0], 0);
}

TEST(Video, SmallFilesDoNotMakeMuchWork) {
  VideoOptions options;
  options.limits.max_pixels = 48;
  std::string gif = picture_bytes("steps.gif");
  EXPECT_EQ(read_video(std::as_bytes(std::span(gif)), "clip", options).frames.size(), 6u);
  const size_t frame = gif.find("!\xF9", 100);
  ASSERT_NE(frame, std::string::npos);
  const size_t end = gif.find("!\xF9", frame + 1);
  ASSERT_NE(end, std::string::npos);
  for (int i = 0; i < 70; ++i) gif.insert(frame, gif.substr(frame, end - frame));
  EXPECT_ERROR(read_video(std::as_bytes(std::span(gif)), "clip", options), kInvalidArgument,
               "clip: 65 frames of 8 x 6 pixels are more than the limit of 3072");
  options.limits.max_frames = 60;
  EXPECT_ERROR(read_video(std::as_bytes(std::span(gif)), "clip", options), kInvalidArgument,
               "clip: the GIF has more frames than the limit of 60");
}

TEST(Video, WebpsAreComposed) {
  try {
    const Video video = video_of(picture_bytes("steps.webp"), by_rate(5));
    EXPECT_EQ(video.frames_in_file, 6);
    ASSERT_EQ(video.frames.size(), 3u);  // 0, 2 (2.5), 5
    EXPECT_EQ(video.frames[1].picture.row(0)[0], 40);
    EXPECT_NEAR(video.frames[1].seconds, 0.2, 1e-9);
    EXPECT_EQ(video.frames[2].picture.row(0)[0], 100);
    EXPECT_EQ(video.frames[2].picture.row(0)[3 * 6], 60);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    GTEST_SKIP() << error.what();
  }
}

class FfmpegVideo : public testing::Test {
 protected:
  void SetUp() override {
    try {
      video_of(picture_bytes("greys.mp4"), by_count(1));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }
};

std::vector<int> frame_numbers(const Video& video) {  // from their grey: 8 i + 20
  std::vector<int> out;
  for (const VideoFrame& frame : video.frames) {
    const int grey = frame.picture.row(16)[3 * 24 + 1];
    out.push_back((grey - 20 + 4) / 8);
    EXPECT_NEAR(grey, 8 * out.back() + 20, 2);
    EXPECT_NEAR(frame.seconds, out.back() / 12.0, 1e-3);
  }
  return out;
}

TEST_F(FfmpegVideo, FramesAreTheOnesThatAreWanted) {
  for (const char* name : {"greys.mp4", "greys.avi"}) {
    SCOPED_TRACE(name);
    const std::string bytes = picture_bytes(name);
    const Video all = video_of(bytes);
    EXPECT_EQ(all.frames_in_file, 24);
    EXPECT_NEAR(all.frames_per_second, 12, 1e-6);
    EXPECT_NEAR(all.seconds, 2, 1e-6);
    std::vector<int> numbers;
    for (int i = 0; i < 24; ++i) numbers.push_back(i);
    EXPECT_EQ(frame_numbers(all), numbers);
    EXPECT_EQ(all.frames[0].picture.width, 48);
    EXPECT_EQ(all.frames[0].picture.height, 32);
    EXPECT_EQ(frame_numbers(video_of(bytes, by_count(5))), (std::vector<int>{0, 6, 12, 17, 23}));
    EXPECT_EQ(frame_numbers(video_of(bytes, by_rate(2))), (std::vector<int>{0, 8, 15, 23}));
    EXPECT_EQ(frame_numbers(video_of(bytes, by_count(1))), (std::vector<int>{0}));
    FrameChoice keys = by_count(5);  // 0, 6, 12, 17, 23, and key frames at 0, 10 and 20, each of which is taken once
    keys.key_frames_first = true;
    EXPECT_EQ(frame_numbers(video_of(bytes, keys)), (std::vector<int>{0, 10, 12, 20, 23}));
    EXPECT_EQ(load_video(picture_file(name)).frames.size(), 24u);
  }
}

TEST_F(FfmpegVideo, PhonesAreTurned) {
  const Video video = video_of(picture_bytes("turned.mp4"));
  ASSERT_EQ(video.frames.size(), 4u);
  const Picture& picture = video.frames[0].picture;
  EXPECT_EQ(picture.width, 32);
  EXPECT_EQ(picture.height, 48);
  EXPECT_GT(picture.row(5)[3 * 16], 240);
  EXPECT_LT(picture.row(43)[3 * 16], 15);
}

TEST_F(FfmpegVideo, LimitsAndDamageGetASentence) {
  const std::string bytes = picture_bytes("greys.mp4");
  const auto read = [&](const std::string& file, const VideoOptions& options) {
    return read_video(std::as_bytes(std::span(file)), "clip", options);
  };
  VideoOptions options;
  options.limits.max_pixels = 48 * 32 - 1;
  EXPECT_ERROR(read(bytes, options), kInvalidArgument,
               "clip: the video has 48 x 32 pixels, more than the limit of 1535");
  options = {};
  options.limits.max_frames = 23;
  EXPECT_ERROR(read(bytes, options), kInvalidArgument, "clip: the video has more frames than the limit of 23");
  options = {};
  options.max_total_pixels = 3 * 48 * 32;
  EXPECT_ERROR(read(bytes, options), kInvalidArgument,
               "clip: 24 frames of 48 x 32 pixels are more than the limit of 4608 pixels");
  options.prepare = [](Picture&& frame, int64_t frames) {
    EXPECT_EQ(frames, 24);
    return crop(frame, 0, 0, 16, 12);
  };
  EXPECT_EQ(read(bytes, options).frames[23].picture.width, 16);
  options = {};
  options.is_cancelled = [] { return true; };
  EXPECT_ERROR(read(bytes, options), kIo, "clip: reading it was cancelled");
  EXPECT_ERROR(read(bytes.substr(0, 700), {}), kBadFile, "clip: FFmpeg ");
  EXPECT_ERROR(read("hello, world", {}), kBadFile,
               "clip: FFmpeg cannot open this file, which is no picture that is known");
  EXPECT_ERROR(read("", {}), kBadFile, "clip: the file is empty");
  // Cut and changed everywhere: frames or a sentence.
  for (size_t at = 0; at < bytes.size(); at += 31) {
    std::string changed = bytes;
    changed[at] = '\x7F';
    for (const std::string& file : {changed, bytes.substr(0, at)}) {
      try {
        for (const VideoFrame& frame : read(file, {}).frames) EXPECT_FALSE(frame.picture.rgb.empty());
      } catch (const Error& error) {
        EXPECT_NE(std::string_view(error.what()), "");
      }
    }
  }
}

TEST(Frames, FoldersAndPatternsAreReadInOrder) {
  const TempFolder folder;
  const std::string bmp = picture_bytes("24.bmp");
  for (const int number : {10, 9, 1, 100}) {
    std::string bytes = bmp;
    bytes[54] = static_cast<char>(number);  // blue of the lowest row's first pixel
    std::ofstream(folder.path() / cat("shot", number, ".bmp"), std::ios::binary) << bytes;
  }
  std::ofstream(folder.path() / "notes.txt") << "no picture";
  const auto numbers = [](const Video& video) {
    std::vector<int> out;
    for (const VideoFrame& frame : video.frames) out.push_back(frame.picture.row(15)[2]);
    return out;
  };
  const Video all = load_frames(folder.path(), 2);
  EXPECT_EQ(numbers(all), (std::vector<int>{1, 9, 10, 100}));
  EXPECT_EQ(all.frames[3].seconds, 1.5);
  EXPECT_EQ(all.seconds, 2);
  EXPECT_EQ(numbers(load_frames(folder.path() / "shot1*.bmp", 1)), (std::vector<int>{1, 10, 100}));
  EXPECT_EQ(numbers(load_frames(folder.path() / "shot?.*", 1)), (std::vector<int>{1, 9}));
  VideoOptions two;
  two.choice.count = 2;
  EXPECT_EQ(numbers(load_frames(folder.path(), 1, two)), (std::vector<int>{1, 100}));
  EXPECT_ERROR(load_frames(folder.path() / "*.png", 1), kIo, "no file matches");
  EXPECT_ERROR(load_frames(folder.path() / "none" / "*.png", 1), kIo, "there is no such folder");
  EXPECT_ERROR(load_frames(folder.path(), 0), kInvalidArgument, "frames come at 0 a second");
  EXPECT_ERROR(load_frames(folder.path() / "*.txt", 1), kUnsupported, "no picture of a kind that is known");
}

}  // namespace
}  // namespace wick
