#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/model_arguments.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/terminal.h"
#include "engine/text/conversation.h"

namespace wick {

// `wick chat` from its first line to its last. At a terminal it edits lines, paints and tells how fast it was; else it
// reads lines and writes answers, and nothing more.
class ChatSession {
 public:
  // `editor`: reads lines at a terminal; null: lines come from a pipe. Throws Error when the model has no chat
  // template, with what to do about it.
  ChatSession(ModelArguments& arguments, std::shared_ptr<const TextModel> model, LineEditor* editor);

  Conversation& conversation() { return conversation_; }

  // Pictures that the next message shows.
  void show_next(std::vector<Conversation::Shown> shown);

  // Takes over the last conversation at a terminal. Throws Error when there is none.
  void go_on();

  int run();  // the exit code

 private:
  int run_at_terminal();
  int run_in_pipe();

  void greet() const;
  // A message, or a command with a slash. False to leave.
  bool take(const std::string& line);
  void ask(const std::string& text);
  void show(const Reply& reply);
  void keep() const;  // for go_on()
  bool next_is_too_long(const std::string& text);
  GenerateParams next_params();

  // Commands (chat_commands.cpp).
  struct Command;
  static const Command kCommands[];
  bool command(std::string_view line);
  void help(const std::string&);
  void clear(const std::string&);
  void set_system(const std::string& text);
  void set(const std::string& text);
  void show_settings(const std::string&);
  void save(const std::string& path);
  void load(const std::string& path);
  void regenerate(const std::string&);
  void undo(const std::string&);
  void attach(const std::string& path);
  void add_image(const std::string& path);
  void add_video(const std::string& path);
  static std::vector<std::string> completions(std::string_view text);

  // Runs an answer with everything around it: printing, Ctrl-C, progress, statistics, errors.
  template <typename Answer>
  void with_answer(const Answer& answer);
  void say(std::string_view text) const;  // to the user, dimmed
  void complain(std::string_view text);

  ModelArguments& arguments_;
  std::shared_ptr<const TextModel> model_;
  Conversation conversation_;
  std::unique_ptr<Drafter> drafter_;
  GenerateParams params_;
  LineEditor* editor_;
  Terminal terminal_;
  bool interactive_;
  std::string attached_;                    // text files that go before the next message
  std::vector<Conversation::Shown> shown_;  // by the next message
  int64_t answers_ = 0;                     // so far: each gets a seed of its own
  int64_t used_ = 0;                        // tokens of the context
  bool failed_ = false;
  int signal_ = 0;  // that asked the program to end
};

}  // namespace wick
