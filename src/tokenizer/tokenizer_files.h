#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace wick {

// A chat template as it lies in a file.
struct TemplateSource {
  std::string name;  // "default", or what it is for, e.g. "tool_use"
  std::string text;
  std::string place;  // names it in messages
};

// The small files that stand beside the tokenizer in a Hugging Face folder.
struct TokenizerFiles {
  Json tokenizer_config;  // tokenizer_config.json; null when there is none
  Json special_tokens;    // special_tokens_map.json; null when there is none
  // chat_template.jinja, else those of chat_template.json, else those of tokenizer_config.json.
  std::vector<TemplateSource> templates;

  // Throws Error(kBadFile) naming the field at fault.
  static TokenizerFiles load(const std::filesystem::path& folder);
  // The "chat_template" of a tokenizer_config.json or chat_template.json: one text, or a list of named ones.
  static std::vector<TemplateSource> templates_in(const Json& config);

  const TemplateSource* find_template(std::string_view name) const;  // null when there is none
  // The text of "bos_token", "eos_token", ...; empty when it is not set.
  std::string special(std::string_view name) const;
};

}  // namespace wick
