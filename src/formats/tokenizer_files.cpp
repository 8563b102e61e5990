#include "formats/tokenizer_files.h"

#include "base/mapped_file.h"
#include "base/utf8.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

Json load_if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? Json::load(path) : Json();
}

std::string load_text(const fs::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!is_utf8(text)) throw Error(ErrorCode::kBadFile, cat(path, ": is not valid UTF-8"));
  return text;
}

// One template, or a list of them with names, of which "default" is the one.
void read_templates(const Json& value, TokenizerFiles& files) {
  if (value.is_text()) {
    files.chat_template = value.as_text();
  } else if (value.is_array()) {
    for (const Json& item : value.as_array()) {
      const std::string& name = item.at("name").as_text();
      const std::string& text = item.at("template").as_text();
      if (name == "default") {
        files.chat_template = text;
      } else {
        files.other_templates.emplace_back(name, text);
      }
    }
  }
}

std::string token_text(const Json& holder, std::string_view name) {
  const Json* token = holder.is_object() ? holder.find(name) : nullptr;
  if (!token || token->is_null()) return "";
  return token->is_object() ? token->at("content").as_text() : token->as_text();
}

}  // namespace

TokenizerFiles TokenizerFiles::load(const fs::path& folder) {
  TokenizerFiles files;
  files.tokenizer_config = load_if_there(folder / "tokenizer_config.json");
  files.special_tokens = load_if_there(folder / "special_tokens_map.json");
  std::error_code ignored;
  const Json* inside = files.tokenizer_config.is_object() ? files.tokenizer_config.find("chat_template") : nullptr;
  if (inside) read_templates(*inside, files);
  if (fs::exists(folder / "chat_template.jinja", ignored)) {
    files.chat_template = load_text(folder / "chat_template.jinja");
  } else if (fs::exists(folder / "chat_template.json", ignored)) {
    read_templates(Json::load(folder / "chat_template.json").at("chat_template"), files);
  }
  return files;
}

std::string TokenizerFiles::special(std::string_view name) const {
  const std::string text = token_text(tokenizer_config, name);
  return text.empty() ? token_text(special_tokens, name) : text;
}

}  // namespace wick
