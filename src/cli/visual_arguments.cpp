#include "cli/visual_arguments.h"

#include <algorithm>

#include "base/text.h"
#include "cli/shared_options.h"

namespace wick {
namespace {

constexpr double kFolderRate = 2;  // frames a second of a folder of pictures

CLI::Option* take_all(CLI::Option* option) {
  return option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

void VisualArguments::add_options(CLI::App& command) {
  take_all(
      command.add_option("--image", images, "Show a picture before the prompt, - for standard input; may be repeated"))
      ->type_name("FILE");
  take_all(command.add_option("--video", videos, "Show a video before the prompt; may be repeated"))->type_name("FILE");
  take_all(command.add_option("--frames", frames, "Show pictures as the frames of a video: a folder, or 'shots/*.png'"))
      ->type_name("FOLDER");
  command.add_option("--min-pixels", min_pixels, "Make smaller pictures larger, for models that take any size")
      ->check(count_from(1))
      ->type_name("COUNT");
  command
      .add_option("--max-pixels", max_pixels,
                  "Make larger pictures smaller than the model's files do, which takes fewer tokens")
      ->check(count_from(1))
      ->type_name("COUNT");
  command.add_option("--video-max-frames", video_max_frames, "Frames taken of a video, at most (default: 768)")
      ->check(count_from(1, 4096))
      ->type_name("COUNT");
}

bool VisualArguments::reads_input() const { return std::find(images.begin(), images.end(), "-") != images.end(); }

SightOptions VisualArguments::sight() const {
  SightOptions options;
  if (min_pixels > 0) options.min_pixels = min_pixels;
  if (max_pixels > 0) options.max_pixels = max_pixels;
  return options;
}

std::vector<Conversation::Shown> VisualArguments::load() const {
  std::vector<Conversation::Shown> shown;
  FrameChoice choice = usual_frames();
  choice.max_frames = static_cast<int>(video_max_frames);
  choice.min_frames = std::min(choice.min_frames, choice.max_frames);
  for (const std::string& path : images) shown.push_back({path, load_visual(path, false)});
  for (const std::string& path : videos) shown.push_back({path, load_visual(path, true, choice)});
  for (const std::string& path : frames) {
    auto visual = std::make_shared<Visual>();
    FrameChoice all;
    all.max_frames = choice.max_frames;
    visual->frames = load_frames(path, kFolderRate, {all, {}}).frames;
    shown.push_back({path, std::move(visual)});
  }
  return shown;
}

std::string shown_text(const Conversation::Shown& shown, const Sight& sight) {
  const Visual& visual = *shown.visual;
  const Picture& picture = visual.is_video() ? visual.frames.front().picture : visual.picture;
  return cat(shown.name, ", ", visual.is_video() ? cat(visual.frames.size(), " frames of ") : std::string(),
             picture.width, " x ", picture.height, " pixels, takes ", sight.all_rows(), " tokens");
}

}  // namespace wick
