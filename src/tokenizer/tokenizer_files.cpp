#include "tokenizer/tokenizer_files.h"

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

// A token is its text, or an object with its content.
std::string token_text(const Json& holder, std::string_view name) {
  const Json* token = holder.is_object() ? holder.find(name) : nullptr;
  if (token && token->is_object()) token = token->find("content");
  return token && token->is_text() ? token->as_text() : "";
}

}  // namespace

std::vector<TemplateSource> TokenizerFiles::templates_in(const Json& config) {
  std::vector<TemplateSource> templates;
  const Json* given = config.is_object() ? config.find("chat_template") : nullptr;
  if (!given || given->is_null()) return templates;
  if (given->is_text()) {
    templates.push_back({"default", given->as_text(), given->place()});
    return templates;
  }
  for (const Json& item : given->as_array()) {
    const Json& text = item.at("template");
    templates.push_back({item.at("name").as_text(), text.as_text(), text.place()});
  }
  return templates;
}

TokenizerFiles TokenizerFiles::load(const fs::path& folder) {
  TokenizerFiles files;
  files.tokenizer_config = load_if_there(folder / "tokenizer_config.json");
  files.special_tokens = load_if_there(folder / "special_tokens_map.json");
  std::error_code ignored;
  if (const fs::path path = folder / "chat_template.jinja"; fs::exists(path, ignored)) {
    files.templates = {{"default", load_text(path), path.string()}};
  } else {
    files.templates = templates_in(load_if_there(folder / "chat_template.json"));
    if (files.templates.empty()) files.templates = templates_in(files.tokenizer_config);
  }
  return files;
}

const TemplateSource* TokenizerFiles::find_template(std::string_view name) const {
  for (const TemplateSource& each : templates) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string TokenizerFiles::special(std::string_view name) const {
  const std::string text = token_text(tokenizer_config, name);
  return text.empty() ? token_text(special_tokens, name) : text;
}

}  // namespace wick
