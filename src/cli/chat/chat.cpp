#include <unistd.h>

#include <memory>
#include <optional>

#include "base/env.h"
#include "cli/chat/chat_session.h"
#include "cli/commands.h"
#include "cli/visual_arguments.h"

namespace wick {
namespace {

struct ChatArguments : ModelArguments {
  std::string system;
  VisualArguments visuals;
  bool goes_on = false;
};

int chat(ChatArguments& arguments) {
  // The terminal is made ready first: what is typed while the model loads is not lost.
  const bool can_move = env_text("TERM").value_or("dumb") != "dumb";  // the cursor
  const bool interactive = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && can_move;
  LineHistory history(interactive ? LineHistory::default_path() : "");
  std::optional<LineEditor> editor;
  if (interactive) editor.emplace(history);
  ChatSession session(arguments, load_text_model(arguments), editor ? &*editor : nullptr);
  session.conversation().sight() = arguments.visuals.sight();
  session.show_next(arguments.visuals.load());
  if (arguments.goes_on) session.go_on();
  if (!arguments.goes_on || !arguments.system.empty()) session.conversation().set_system(arguments.system);
  return session.run();
}

}  // namespace

void add_chat(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("chat", "Talk with a model");
  const auto arguments = std::make_shared<ChatArguments>();
  arguments->add_options(*command);
  command->add_option("--system", arguments->system, "The system message");
  arguments->visuals.add_options(*command);
  command->add_flag("-c,--continue", arguments->goes_on, "Go on with the last conversation");
  command->footer(
      "At a terminal, lines can be edited and recalled, pasted text keeps its lines, a backslash at the end of a line\n"
      "continues it, Tab completes commands, Ctrl-R searches what was typed before, and Ctrl-C stops an answer; /help\n"
      "lists the commands. From a pipe, each line is a message. What was typed and the last conversation are kept in\n"
      "${XDG_STATE_HOME:-~/.local/state}/wick, for their owner only.\n\n"
      "Examples:\n"
      "  wick chat\n"
      "  wick chat --continue\n"
      "  wick chat models/Qwen3-0.6B --quantize q8_0 --system \"Be brief.\"\n"
      "  wick chat model.gguf --temperature 0.7 --context 8192\n"
      "  printf 'My name is Tom.\\nWhat is my name?\\n' | wick chat");
  command->callback([command, &action, arguments] {
    arguments->settle(*command);
    action = [arguments] { return chat(*arguments); };
  });
}

}  // namespace wick
