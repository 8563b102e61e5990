#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/process.h"
#include "engine/text/chat_prompt.h"
#include "engine/text/text_model.h"
#include "interp/language_interp.h"

namespace wick {

inline nlohmann::json json_of(const ProcessResult& result) {
  if (result.exit_code != 0) return {{"failed", result.errors}};
  return nlohmann::json::parse(result.output);
}

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A model as the library sees it, for comparing with what the program says.
struct LookedAt {
  std::shared_ptr<const TextModel> text;
  LanguageInterp interp;

  explicit LookedAt(std::shared_ptr<const TextModel> model)
      : text(std::move(model)), interp(std::shared_ptr<const LanguageModel>(text, &text->model())) {}

  std::vector<int32_t> chat(const std::string& prompt, const std::string& prefix = "") const {
    jinja::Dict message;
    message.set("role", "user");
    message.set("content", prompt);
    ChatInput input;
    input.messages = jinja::Value::list({jinja::Value(message)});
    std::vector<int32_t> tokens = make_chat_prompt(*text, input).tokens;
    EncodeOptions options;
    options.add_special = false;
    for (const int id : text->tokenizer().encode(prefix, options)) tokens.push_back(id);
    return tokens;
  }
  int32_t token(const std::string& piece) const {
    EncodeOptions options;
    options.add_special = false;
    const std::vector<int> ids = text->tokenizer().encode(piece, options);
    return ids.size() == 1 ? ids.front() : -1;
  }
};

}  // namespace wick
