#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/text/conversation.h"

namespace wick {

// Pictures and videos that `wick run` and `wick chat` show to a model.
struct VisualArguments {
  std::vector<std::string> images, videos, frames;
  int64_t min_pixels = 0, max_pixels = 0;  // 0: as the model's files say
  int64_t video_max_frames = 768;

  void add_options(CLI::App& command);
  bool empty() const { return images.empty() && videos.empty() && frames.empty(); }
  bool reads_input() const;  // one of them is standard input
  SightOptions sight() const;
  // Reads them all. Throws Error naming the file at fault.
  std::vector<Conversation::Shown> load() const;
};

// "photo.jpg, 4032 x 3024 pixels, takes 1024 tokens".
std::string shown_text(const Conversation::Shown& shown, const Sight& sight);

}  // namespace wick
