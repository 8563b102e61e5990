#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/text/text_model.h"

namespace wick {

// A conversation as the model sees it.
struct ChatPrompt {
  std::string text;
  std::vector<int32_t> tokens;
  std::vector<InputEmbeddings> embeddings;  // of the pictures in it; empty when it takes more tokens than it may
};

// The pictures and videos that messages show, in their order. A message shows one by a part {"type": "image"} or
// {"type": "video"} of its content.
struct ChatVisuals {
  std::vector<VisualRef> all;
  SightOptions options;
  std::string salt;  // only those of one salt share what is encoded
};

// Renders the model's chat template and turns the result into tokens. Control tokens come from the template alone: what
// messages, tools and documents spell out stays ordinary text. With `most`, there are no more tokens than it takes to
// see that there are more (EncodeOptions). Throws Error(kInvalidArgument) when there is no template, when it refuses
// the messages, or when a text holds a control token in a form that cannot be recognised; with pictures also what Eyes
// throws, and Error(kInvalidArgument) when the template has no place for one of them.
ChatPrompt make_chat_prompt(const TextModel& model, const ChatInput& input, std::optional<int64_t> most = {},
                            const ChatVisuals& visuals = {});

}  // namespace wick
