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
};

// Renders the model's chat template and turns the result into tokens. Control tokens come from the template alone: what
// messages, tools and documents spell out stays ordinary text. With `most`, there are no more tokens than it takes to
// see that there are more (EncodeOptions). Throws Error(kInvalidArgument) when there is no template, when it refuses
// the messages, or when a text holds a control token in a form that cannot be recognised.
ChatPrompt make_chat_prompt(const TextModel& model, const ChatInput& input, std::optional<int64_t> most = {});

}  // namespace wick
