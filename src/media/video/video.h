#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "media/image/picture.h"

namespace wick {

struct VideoFrame {
  double seconds = 0;  // when it is shown
  Picture picture;
};

struct Video {
  std::vector<VideoFrame> frames;  // in order of time
  double seconds = 0;              // of the whole; 0: not known
  double frames_per_second = 0;    // of the file; 0: not known
  int64_t frames_in_file = 0;
};

// Which frames are taken. With neither rate nor count: all of them.
struct FrameChoice {
  std::optional<double> rate;     // frames per second, spread evenly over the whole
  std::optional<int> count;       // this many, spread evenly over the whole (all where there are fewer)
  int min_frames = 1;             // bounds for what `rate` comes to
  int max_frames = 768;           // more than this, spread evenly, is never kept
  bool key_frames_first = false;  // each wanted frame becomes the key frame nearest to it: quick, less even
};

struct VideoOptions {
  FrameChoice choice;
  PictureLimits limits;
  int64_t max_total_pixels = int64_t{1} << 30;  // of the frames that are kept: 3 GB
  // What becomes of a frame as soon as it is read, of `frames` that will be; a model's size, say.
  std::function<Picture(Picture&& frame, int64_t frames)> prepare = {};
  std::function<bool()> is_cancelled = {};  // asked again and again; true ends reading with Error(kIo)
};

// Indices, in order, of the frames that a choice takes of `frames` frames at `rate` a second: the rounding is numpy's
// linspace, as the processors of Hugging Face have it.
std::vector<int64_t> chosen_frames(int64_t frames, double rate, const FrameChoice& choice);

// A video (FFmpeg's libraries), an animated GIF or WebP, or a still picture as one frame. What the bytes are decides,
// not the name. Errors are those of read_picture; a frame that is wanted and cannot be decoded is one.
Video read_video(std::span<const std::byte> bytes, const std::string& name, const VideoOptions& options = {});
Video load_video(const std::filesystem::path& path, const VideoOptions& options = {});

// A folder, or a pattern of names such as "shots/*.png" (? and * in the last part), as frames in the order of their
// names, where numbers count as numbers. `rate` is how many a second they are.
Video load_frames(const std::filesystem::path& folder_or_pattern, double rate, const VideoOptions& options = {});
// The files that stand for.
std::vector<std::filesystem::path> frame_files(const std::filesystem::path& folder_or_pattern);

}  // namespace wick
