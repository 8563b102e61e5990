#include "engine/text/text_files.h"

#include "base/text.h"
#include "formats/gguf/gguf_tokenizer.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// The token whose id the file names, as a variable of the template.
void add_special_token(ChatTemplate& chat, const Metadata& metadata, const std::string& name) {
  const std::string key = cat("tokenizer.ggml.", name, "_id");
  if (!metadata.find(key) || !metadata.find("tokenizer.ggml.tokens")) return;
  const auto tokens = metadata.array("tokenizer.ggml.tokens").texts("tokenizer.ggml.tokens");
  const int64_t id = metadata.integer(key);
  if (id >= 0 && id < std::ssize(tokens)) chat.set_variable(name, tokens[static_cast<size_t>(id)]);
}

fs::path folder_of(const fs::path& path) { return fs::is_directory(path) ? path : path.parent_path(); }

}  // namespace

Tokenizer load_tokenizer(const fs::path& path) {
  if (path.extension() == ".gguf") {
    const Checkpoint checkpoint = Checkpoint::open(path);
    return Tokenizer::from_gguf(gguf_vocabulary_of(checkpoint.metadata(), path.string()));
  }
  return Tokenizer::load(path.extension() == ".safetensors" ? folder_of(path) : path);
}

std::optional<ChatTemplate> chat_template_of(const Checkpoint& gguf) {
  const Metadata& metadata = gguf.metadata();
  if (!metadata.find("tokenizer.chat_template")) return std::nullopt;
  ChatTemplate chat =
      ChatTemplate::parse(metadata.text("tokenizer.chat_template"), gguf.files().front()->path().string());
  for (const char* name : {"bos_token", "eos_token", "unknown_token", "padding_token"}) {
    add_special_token(chat, metadata, name);
  }
  return chat;
}

std::optional<ChatTemplate> load_chat_template(const fs::path& path) {
  if (path.extension() == ".gguf") return chat_template_of(Checkpoint::open(path));
  return ChatTemplate::load(folder_of(path));
}

}  // namespace wick
