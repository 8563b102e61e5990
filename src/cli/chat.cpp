#include <memory>

#include "cli/chat_session.h"
#include "cli/commands.h"

namespace wick {
namespace {

struct ChatArguments : ModelArguments {
  std::string system;
};

}  // namespace

void add_chat(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("chat", "Talk with a model");
  const auto arguments = std::make_shared<ChatArguments>();
  arguments->add_options(*command);
  command->add_option("--system", arguments->system, "What the model is told first");
  command->footer(
      "At a terminal, lines can be edited and recalled, pasted text keeps its lines, a backslash at the end of a line\n"
      "continues it, and Ctrl-C stops an answer; /help lists the commands. From a pipe, each line is a message.\n"
      "What was typed is kept in ${XDG_STATE_HOME:-~/.local/state}/wick/history, for its owner only.\n\n"
      "Examples:\n"
      "  wick chat\n"
      "  wick chat models/Qwen3-0.6B --quantize q8_0 --system \"Be brief.\"\n"
      "  wick chat model.gguf --temperature 0.7 --context 8192\n"
      "  printf 'My name is Tom.\\nWhat is my name?\\n' | wick chat");
  command->callback([&action, arguments] {
    action = [arguments] { return ChatSession(*arguments, load_text_model(*arguments), arguments->system).run(); };
  });
}

}  // namespace wick
