#include "server/api/chat/shown_pictures.h"

#include <algorithm>

#include "base/base64.h"
#include "base/utf8.h"
#include "server/api/request_error.h"

namespace wick {
namespace {

// The bytes of "data:image/png;base64,....".
std::string bytes_of(const std::string& url, const std::string& place) {
  if (!url.starts_with("data:")) {
    const size_t end = std::min({url.find(':'), url.size(), size_t{16}});
    throw RequestError(place,
                       cat(place, " is of the kind ", in_quotes(url.substr(0, end)),
                           ": pictures come as data: URLs with base64, the server fetches none"),
                       "unsupported_value");
  }
  const size_t comma = url.find(',');
  const std::string head = url.substr(0, std::min(comma, url.size()));
  if (comma == std::string::npos || !head.ends_with(";base64")) {
    throw RequestError(place, cat(place, " is a data: URL without base64"));
  }
  auto bytes = decode_base64(std::string_view(url).substr(comma + 1));
  if (!bytes || bytes->empty()) throw RequestError(place, cat(place, " holds no base64"));
  return std::move(*bytes);
}

int64_t pixels_of(const Picture& picture) { return int64_t{picture.width} * picture.height; }

VisualRef decode(const ContentPart& part, const std::string& place, const ShownLimits& limits, int64_t& pixels_left) {
  const std::string bytes = bytes_of(part.value, place);
  const std::span<const std::byte> span = std::as_bytes(std::span(bytes));
  auto visual = std::make_shared<Visual>();
  PictureLimits allowed;
  allowed.max_pixels = std::max<int64_t>(pixels_left, 1);
  try {
    if (part.kind == ContentPart::Kind::kVideo) {
      VideoOptions options;
      options.choice = usual_frames();
      options.choice.max_frames = limits.frames;
      options.limits = allowed;
      options.max_total_pixels = allowed.max_pixels;
      visual->frames = read_video(span, place, options).frames;
    } else {
      visual->picture = read_picture(span, place, allowed);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kOutOfMemory) throw;
    throw RequestError(place, error.what());
  }
  pixels_left -= pixels_of(visual->picture);
  for (const VideoFrame& frame : visual->frames) pixels_left -= pixels_of(frame.picture);
  if (pixels_left < 0) {
    throw RequestError(place, cat("the pictures of a request have more than ", limits.pixels, " pixels together"));
  }
  return visual;
}

}  // namespace

void decode_shown(std::vector<ChatMessage>& messages, const std::string& place, const ShownLimits& limits) {
  size_t count = 0;
  int64_t pixels_left = limits.pixels;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].content) continue;
    std::vector<ContentPart>& parts = messages[i].content->parts;
    for (size_t j = 0; j < parts.size(); ++j) {
      ContentPart& part = parts[j];
      if (part.kind == ContentPart::Kind::kText) continue;
      const std::string at = cat(place, "[", i, "].content[", j, "]");
      if (messages[i].role != "user") {
        throw RequestError(at, cat(at, " is a picture in a message of role ", in_quotes(messages[i].role),
                                   "; those of role \"user\" may show some"));
      }
      if (++count > limits.pictures) {
        throw RequestError(at, cat("a request may show ", limits.pictures, " pictures, this one shows more"));
      }
      part.visual = decode(part, at, limits, pixels_left);
      part.value.clear();
    }
  }
}

std::vector<VisualRef> shown_in(const std::vector<ChatMessage>& messages) {
  std::vector<VisualRef> shown;
  for (const ChatMessage& message : messages) {
    if (!message.content) continue;
    for (const ContentPart& part : message.content->parts) {
      if (part.visual) shown.push_back(part.visual);
    }
  }
  return shown;
}

}  // namespace wick
