#include "base/text.h"
#include "cli/completion/command_facts.h"

namespace wick {
namespace {

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string option_lines(const OptionFacts& option, const std::string& when) {
  std::string line = when;
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? cat(" -l ", name.substr(2)) : cat(" -s ", name.substr(1));
  }
  if (!option.value.empty()) line += option.takes_file() ? " -r -F" : " -x";
  std::string words;
  for (const std::string& choice : option.choices()) words += cat(words.empty() ? "" : " ", choice);
  if (!words.empty()) line += cat(" -a ", shell_quoted(words));
  return cat(line, " -d ", shell_quoted(option.about), "\n");
}

}  // namespace

std::string fish_completion(const CommandFacts& root) {
  std::string paths, lines;
  for (const CommandFacts* command : all_commands(root)) {
    if (command != &root) paths += cat(" ", shell_quoted(command->path));
    const std::string when = cat("complete -c wick -n '__wick_is \"", command->path, "\"'");
    for (const CommandFacts& below : command->commands) {
      lines += cat(when, " -a ", below.name, " -d ", shell_quoted(below.about), "\n");
    }
    for (const OptionFacts& argument : command->arguments) {
      for (const std::string& choice : argument.choices()) lines += cat(when, " -a ", shell_quoted(choice), "\n");
    }
    if (command->takes_file()) lines += cat(when, " -F\n");
    for (const OptionFacts& option : command->options) lines += option_lines(option, when);
  }
  return cat(R"(# Completion of wick's options and commands in fish. Written by `wick completion fish`.
function __wick_is --description 'Whether the words before the cursor name this command of wick'
  set -l command wick
  for word in (commandline -opc)[2..-1]
    switch "$command $word"
      case)",
             paths, R"(
        set command "$command $word"
    end
  end
  test "$command" = "$argv[1]"
end
complete -c wick -f
)",
             lines);
}

}  // namespace wick
