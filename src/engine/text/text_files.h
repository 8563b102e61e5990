#pragma once

#include <filesystem>
#include <optional>

#include "chat/chat_template.h"
#include "formats/checkpoint.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// The tokenizer of a model: of a folder, of a .gguf file, or of the folder around another file.
Tokenizer load_tokenizer(const std::filesystem::path& path);
// The chat template of a folder or a .gguf file; empty when there is none.
std::optional<ChatTemplate> load_chat_template(const std::filesystem::path& path);
std::optional<ChatTemplate> chat_template_of(const Checkpoint& gguf);

}  // namespace wick
