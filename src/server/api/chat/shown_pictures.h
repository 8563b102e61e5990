#pragma once

#include <string>
#include <vector>

#include "server/api/chat/conversation_request.h"
#include "vision/visual.h"

namespace wick {

// What a request may show. Pictures are decoded when it is read, before any model is asked.
struct ShownLimits {
  size_t pictures = 32;
  int64_t pixels = 64 << 20;  // of all pictures and frames together
  int frames = 64;            // of a video
};

// Decodes the pictures and videos in these messages, which come as data: URLs; the server fetches none. Throws
// RequestError with the place of the one at fault.
void decode_shown(std::vector<ChatMessage>& messages, const std::string& place, const ShownLimits& limits = {});

// All of them, in order.
std::vector<VisualRef> shown_in(const std::vector<ChatMessage>& messages);

}  // namespace wick
