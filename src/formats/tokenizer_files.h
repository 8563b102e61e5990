#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace wick {

// The small files that stand beside tokenizer.json in a Hugging Face folder.
struct TokenizerFiles {
  Json tokenizer_config;  // tokenizer_config.json; null when there is none
  Json special_tokens;    // special_tokens_map.json; null when there is none
  // The chat template, and others under their names; from chat_template.jinja, chat_template.json or the config.
  std::optional<std::string> chat_template;
  std::vector<std::pair<std::string, std::string>> other_templates;

  // Throws Error(kBadFile) naming the field at fault.
  static TokenizerFiles load(const std::filesystem::path& folder);

  // The text of "bos_token", "eos_token", ...; empty when it is not set.
  std::string special(std::string_view name) const;
};

}  // namespace wick
