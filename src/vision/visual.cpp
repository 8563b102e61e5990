#include "vision/visual.h"

namespace wick {

FrameChoice usual_frames() {
  FrameChoice choice;
  choice.rate = 2;
  choice.min_frames = 4;
  choice.max_frames = 768;
  return choice;
}

VisualRef load_visual(const std::filesystem::path& path, bool is_video, const FrameChoice& choice,
                      const PictureLimits& limits) {
  auto visual = std::make_shared<Visual>();
  if (is_video) {
    visual->frames = load_video(path, {choice, limits}).frames;
  } else {
    visual->picture = load_picture(path, limits);
  }
  return visual;
}

}  // namespace wick
