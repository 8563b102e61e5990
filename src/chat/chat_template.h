#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "jinja/template.h"
#include "jinja/value.h"

namespace wick {

struct TokenizerFiles;

// What a template is given, besides the model's special tokens.
struct ChatInput {
  jinja::Value messages = jinja::Value::list({});  // dicts with "role" and "content"
  jinja::Value tools;                              // a list of JSON schemas; None when there are none
  jinja::Value documents;
  bool add_generation_prompt = true;
  jinja::Dict variables;  // further names, e.g. enable_thinking; they win over the special tokens
};

// Turns a conversation into the text a model was trained on, with the template of the model's own files. A value;
// thread-safe. Reading throws Error(kBadFile), rendering Error(kInvalidArgument); both name the line.
class ChatTemplate {
 public:
  // The text of a template: chat_template.jinja, or the metadata of a GGUF file.
  static ChatTemplate parse(std::string_view source, std::string name = "chat template");
  // The contents of tokenizer_config.json: `chat_template` is text or a list of named ones, of which "tool_use" is
  // used when there are tools; special tokens become variables. Empty when it has no template.
  static std::optional<ChatTemplate> from_config(const Json& config);
  // What TokenizerFiles finds in a folder. Empty when there is no template.
  static std::optional<ChatTemplate> load(const std::filesystem::path& folder);
  // "chatml", "llama-3", "gemma", "mistral", "phi-3"; throws Error(kInvalidArgument) listing them for another name.
  static ChatTemplate built_in(std::string_view name);
  static std::vector<std::string_view> built_in_names();

  // Arguments of tool calls that are JSON text of an object are given to the template as a mapping, unless it is one
  // that puts the text itself into the prompt.
  std::string render(const ChatInput& input, const jinja::RenderOptions& options = {}) const;

  const std::string& source(bool with_tools = false) const;
  // bos_token and its like.
  void set_variable(std::string_view name, jinja::Value value) { variables_.set(name, std::move(value)); }

 private:
  struct Named {
    std::string name, source;
    jinja::Template parsed;
  };
  static std::optional<ChatTemplate> from_files(TokenizerFiles files);
  const Named& pick(bool with_tools) const;

  std::vector<Named> templates_;
  jinja::Dict variables_;
};

}  // namespace wick
