#include "media/video/video.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/mapped_file.h"
#include "base/text.h"
#include "media/byte_input.h"
#include "media/image/decoders.h"
#include "media/video/ffmpeg_frames.h"
#include "media/video/frame_keeper.h"

namespace wick {
namespace {

Video read_animation(const PictureFile& file, bool is_gif, const VideoOptions& options) {
  const AnimationInfo info = is_gif ? gif_info(file) : webp_info(file);
  Video video;
  video.seconds = info.seconds;
  video.frames_in_file = info.frames;
  if (info.seconds > 0) video.frames_per_second = info.frames / info.seconds;
  const std::vector<int64_t> chosen = chosen_frames(info.frames, video.frames_per_second, options.choice);
  FrameKeeper keeper(file.name, options, std::ssize(chosen));
  size_t next = 0;
  const FrameVisitor visit = [&](int index, double seconds, const RawPicture& canvas) {
    keeper.check();
    for (; next < chosen.size() && chosen[next] == index; ++next)
      keeper.keep(seconds, finish_picture(canvas, file.name), video);
    return next < chosen.size();
  };
  is_gif ? visit_gif(file, visit) : visit_webp(file, visit);
  if (next < chosen.size()) throw file.bad(cat("frame ", chosen[next], " of ", info.frames, " is missing"));
  return video;
}

// "b10" behind "b9": runs of digits count as numbers.
bool less_by_numbers(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto run = [&](const std::string& text, size_t at) {
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    size_t first = at;
    while (first + 1 < end && text[first] == '0') ++first;
    return std::pair(text.substr(first, end - first), end);
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto x = run(a, i), y = run(b, j);
      if (x.first.size() != y.first.size()) return x.first.size() < y.first.size();
      if (x.first != y.first) return x.first < y.first;
      i = x.second;
      j = y.second;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

// * is any text, ? is one byte.
bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, star_at = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_at = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool looks_like_a_picture(const std::filesystem::path& path) {
  std::array<std::byte, 256> first;
  ByteInput input = ByteInput::open(path);
  const size_t got = input.read(first);
  return !picture_kind(std::span(first).first(got)).empty();
}

}  // namespace

void FrameKeeper::check() const {
  if (options_.is_cancelled && options_.is_cancelled()) {
    throw Error(ErrorCode::kIo, cat(name_, ": reading it was cancelled"));
  }
}

void FrameKeeper::keep(double seconds, Picture&& picture, Video& video) {
  Picture kept = options_.prepare ? options_.prepare(std::move(picture), wanted_) : std::move(picture);
  pixels_ += int64_t{kept.width} * kept.height;
  if (pixels_ > options_.max_total_pixels) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(name_, ": ", wanted_, " frames of ", kept.width, " x ", kept.height,
                    " pixels are more than the limit of ", options_.max_total_pixels, " pixels: take fewer"));
  }
  video.frames.push_back({seconds, std::move(kept)});
}

std::vector<int64_t> chosen_frames(int64_t frames, double rate, const FrameChoice& choice) {
  if (choice.max_frames < 1 || choice.min_frames < 0 || (choice.count && *choice.count < 1) ||
      (choice.rate && !(*choice.rate > 0))) {
    throw Error(ErrorCode::kInvalidArgument, "a choice of frames needs a rate and a number of at least one");
  }
  if (choice.rate && choice.count) {
    throw Error(ErrorCode::kInvalidArgument, "frames are chosen by a rate or by a number, not by both");
  }
  if (frames < 1) return {};
  int64_t wanted = frames;
  if (choice.count) wanted = *choice.count;
  if (choice.rate) {
    // Without a rate of its own a video counts as one of 24 frames a second.
    const double per_second = rate > 0 && std::isfinite(rate) ? rate : 24;
    const double exact = static_cast<double>(frames) / per_second * *choice.rate;
    wanted = exact < static_cast<double>(frames) ? static_cast<int64_t>(exact) : frames;
    wanted = std::max<int64_t>(wanted, choice.min_frames);
  }
  wanted = std::max<int64_t>(1, std::min({wanted, int64_t{choice.max_frames}, frames}));
  std::vector<int64_t> out(static_cast<size_t>(wanted), 0);
  const double step = wanted > 1 ? static_cast<double>(frames - 1) / static_cast<double>(wanted - 1) : 0;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(std::nearbyint(static_cast<double>(i) * step));
  if (wanted > 1) out.back() = frames - 1;
  return out;
}

Video read_video(std::span<const std::byte> bytes, const std::string& name, const VideoOptions& options) {
  const PictureFile file{bytes, name, options.limits};
  if (bytes.empty()) throw file.bad("the file is empty");
  const std::string_view kind = picture_kind(bytes);
  if (kind == "GIF" || kind == "WebP") return read_animation(file, kind == "GIF", options);
  if (kind.empty()) return read_with_ffmpeg(bytes, name, options);
  Video video;
  video.frames_in_file = 1;
  FrameKeeper(name, options, 1).keep(0, read_picture(bytes, name, options.limits), video);
  return video;
}

Video load_video(const std::filesystem::path& path, const VideoOptions& options) {
  if (path != "-") return read_video(MappedFile::open(path)->bytes(), path.native(), options);
  const std::vector<std::byte> bytes = read_standard_input(options.limits);
  return read_video(bytes, "standard input", options);
}

std::vector<std::filesystem::path> frame_files(const std::filesystem::path& folder_or_pattern) {
  namespace fs = std::filesystem;
  const bool is_folder = fs::is_directory(folder_or_pattern);
  const fs::path parent = folder_or_pattern.parent_path();
  const fs::path folder = is_folder ? folder_or_pattern : parent.empty() ? fs::path(".") : parent;
  const std::string pattern = is_folder ? "*" : folder_or_pattern.filename().native();
  if (!fs::is_directory(folder)) throw Error(ErrorCode::kIo, cat(folder, ": there is no such folder"));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().native();
    if (name.starts_with(".") || !entry.is_regular_file() || !matches(pattern, name)) continue;
    if (!is_folder || looks_like_a_picture(entry.path())) files.push_back(entry.path());
  }
  if (files.empty())
    throw Error(ErrorCode::kIo, cat(folder_or_pattern, is_folder ? ": no pictures are in it" : ": no file matches"));
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return less_by_numbers(a.filename().native(), b.filename().native());
  });
  return files;
}

Video load_frames(const std::filesystem::path& folder_or_pattern, double rate, const VideoOptions& options) {
  if (!(rate > 0) || !std::isfinite(rate))
    throw Error(ErrorCode::kInvalidArgument, cat("frames come at ", rate, " a second"));
  const std::vector<std::filesystem::path> files = frame_files(folder_or_pattern);
  Video video;
  video.frames_in_file = std::ssize(files);
  video.frames_per_second = rate;
  video.seconds = static_cast<double>(files.size()) / rate;
  const std::vector<int64_t> chosen = chosen_frames(std::ssize(files), rate, options.choice);
  const std::string& name = folder_or_pattern.native();
  FrameKeeper keeper(name, options, std::ssize(chosen));
  for (const int64_t index : chosen) {
    keeper.check();
    keeper.keep(static_cast<double>(index) / rate, load_picture(files[static_cast<size_t>(index)], options.limits),
                video);
  }
  return video;
}

}  // namespace wick
