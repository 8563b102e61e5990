#pragma once

#include <string>
#include <utility>

#include "media/video/video.h"

namespace wick {

// Collects the frames that are wanted, as they are prepared, up to the limit.
class FrameKeeper {
 public:
  // `wanted` frames will come.
  FrameKeeper(const std::string& name, const VideoOptions& options, int64_t wanted)
      : name_(name), options_(options), wanted_(wanted) {}

  // Asked between frames. Throws Error(kIo) when reading was cancelled.
  void check() const;
  void keep(double seconds, Picture&& picture, Video& video);

 private:
  const std::string& name_;
  const VideoOptions& options_;
  int64_t wanted_, pixels_ = 0;
};

}  // namespace wick
