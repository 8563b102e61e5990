#pragma once

#include <memory>
#include <vector>

#include "media/video/video.h"

namespace wick {

// What a message shows: a picture, or the frames of a video.
struct Visual {
  Picture picture;
  std::vector<VideoFrame> frames;  // empty: it is the picture

  bool is_video() const { return !frames.empty(); }
};
using VisualRef = std::shared_ptr<const Visual>;

// Frames of a video as models that take them were trained: two a second, 4 to 768 of them.
FrameChoice usual_frames();

// A file. Throws what load_picture() and load_video() throw.
VisualRef load_visual(const std::filesystem::path& path, bool is_video, const FrameChoice& choice = usual_frames(),
                      const PictureLimits& limits = {});

}  // namespace wick
