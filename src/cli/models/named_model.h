#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/text/text_model.h"

namespace wick {

// The path that a command was given as a model or a part of one: a path that exists, the name of a model inside this
// program ("ember", "ember-asr"; its files are then in a folder that goes with the process), a preset's model, or a
// name of the hub in the cache.
std::optional<std::filesystem::path> try_named_path(const std::string& name);
// Throws Error that says where it looked; `hint` is added to the sentence.
std::filesystem::path named_path(const std::string& name, std::string_view hint = {});
// The same for what can only be a model. Throws Error for other files with what they are and which command takes them.
std::filesystem::path model_path(const std::string& name, std::string_view hint = {});

// The language model of that name; no name is Ember. Throws Error that says what MODEL can be when there is none.
std::shared_ptr<const TextModel> load_named_model(const std::string& name, const LoadOptions& options);

// Whether words that name no model are meant for one: "Who are you?", but not "qwen3", "Org/Name" or "./model.gguf".
bool reads_like_a_prompt(const std::string& words);

}  // namespace wick
