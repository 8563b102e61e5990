#include <unistd.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/mapped_file.h"
#include "base/utf8.h"
#include "chat/chat_template.h"
#include "cli/commands.h"
#include "cli/models/named_model.h"
#include "cli/read_text.h"
#include "engine/text/text_files.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

struct TemplateOptions {
  std::string model, messages, tools;
  std::vector<std::string> variables;
  bool no_generation_prompt = false, json = false;
};

ChatTemplate find_template(const std::string& model) {
  const auto found = try_named_path(model);
  if (!found) return ChatTemplate::built_in(model);
  const fs::path& path = *found;
  std::optional<ChatTemplate> chat;
  if (fs::is_directory(path) || path.extension() == ".gguf") {
    chat = load_chat_template(path);
  } else {
    const auto file = MappedFile::open(path);
    const auto bytes = file->bytes();
    chat = ChatTemplate::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, model);
  }
  if (chat) return *chat;
  std::string names;
  for (const auto name : ChatTemplate::built_in_names()) names += cat(names.empty() ? "" : ", ", name);
  throw Error(ErrorCode::kBadFile, cat(model, ": there is no chat template; the built-in ones are ", names));
}

ChatInput read_chat_input(const TemplateOptions& options) {
  ChatInput input;
  const Json file = read_json(options.messages, "--messages");
  const Json& messages = file.is_object() ? file.at("messages") : file;
  messages.as_array();
  input.messages = jinja::Value(messages);
  if (!options.tools.empty()) {
    const Json tools = read_json(options.tools, "--tools");
    tools.as_array();
    input.tools = jinja::Value(tools);
  } else if (file.is_object() && file.find("tools")) {
    input.tools = jinja::Value(file.at("tools"));
  }
  for (const std::string& assignment : options.variables) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument, cat("--set takes NAME=VALUE, not ", in_quotes(assignment)));
    }
    const std::string name = assignment.substr(0, equals), text = assignment.substr(equals + 1);
    const bool is_json = nlohmann::json::accept(text);
    input.variables.set(name, is_json ? jinja::Value(Json::parse(text, name)) : jinja::Value(text));
  }
  input.add_generation_prompt = !options.no_generation_prompt;
  return input;
}

int show_template(const TemplateOptions& options) {
  const ChatTemplate chat = find_template(options.model);
  const ChatInput input = read_chat_input(options);
  const std::string text = chat.render(input);
  if (options.json) {
    const nlohmann::ordered_json report = {{"text", text},
                                           {"template", chat.source(!input.tools.is_none())},
                                           {"generation_prompt", input.add_generation_prompt}};
    std::cout << report.dump(2) << "\n";
  } else {
    std::cout << text;
    if (isatty(STDOUT_FILENO) && !text.ends_with('\n')) std::cout << "\n";
  }
  return 0;
}

}  // namespace

void add_template(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("template", "Show the text that a model sees for a conversation");
  const auto options = std::make_shared<TemplateOptions>();
  command
      ->add_option("MODEL", options->model,
                   "A model's folder, a .gguf or .jinja file, Org/Name, or a built-in template")
      ->required();
  command->add_option("--messages", options->messages, "JSON: a list of messages, or an object that holds one")
      ->required()
      ->type_name("FILE|JSON");
  command->add_option("--tools", options->tools, "JSON: a list of tools")->type_name("FILE|JSON");
  command->add_option("--set", options->variables, "NAME=VALUE: a further variable, e.g. enable_thinking=false");
  command->add_flag("--no-generation-prompt", options->no_generation_prompt, "Do not open the assistant's turn");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Renders the model's own chat template. Built-in ones: chatml, llama-3, gemma, mistral, phi-3.\n\n"
      "Examples:\n"
      "  wick template chatml --messages chat.json\n"
      "  wick template models/qwen3 --messages chat.json --tools tools.json --set enable_thinking=false\n"
      "  wick template model.gguf --messages chat.json --json");
  command->callback([&action, options] { action = [options] { return show_template(*options); }; });
}

}  // namespace wick
