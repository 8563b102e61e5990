#include "base/text.h"
#include "cli/completion/command_facts.h"

namespace wick {
namespace {

// Between single quotes; `special` are characters that _arguments or _describe would read.
std::string shell_quoted(const std::string& text, std::string_view special) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '\\' || special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "'";
}

std::string function_name(const CommandFacts& command) {
  std::string name = "_" + command.path;
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return name;
}

std::string action(const OptionFacts& option) {
  std::string words;
  for (const std::string& choice : option.choices()) words += cat(words.empty() ? "" : " ", choice);
  if (!words.empty()) return cat("(", words, ")");
  return option.takes_file() ? "_files" : " ";
}

// '(-p --prompt)'{-p,--prompt}'[about]:value:action', which may be repeated.
std::string option_line(const OptionFacts& option) {
  std::string line = "    ", names;
  for (const std::string& name : option.names) {
    names += cat(names.empty() ? "" : ",", "'*'", name, option.value.empty() || !name.starts_with("--") ? "" : "=");
  }
  line += option.names.size() > 1 ? cat("{", names, "}") : names;
  line += shell_quoted(cat("[", option.about, "]"), ":");
  if (!option.value.empty())
    line += cat(shell_quoted(cat(":", option.value, ":"), ""), shell_quoted(action(option), ""));
  return line + " \\\n";
}

std::string command_function(const CommandFacts& command) {
  std::string text = cat(function_name(command), "() {\n");
  const bool has_commands = !command.commands.empty();
  if (has_commands) text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
  text += cat("  _arguments ", has_commands ? "-C " : "", "-s -S \\\n");
  for (const OptionFacts& option : command.options) text += option_line(option);
  if (!has_commands) {
    if (command.takes_file()) return text + "    '*:file:_files'\n}\n";
    std::string places;
    for (const OptionFacts& one : command.arguments)
      places += cat(" ", shell_quoted(cat("::", one.value, ":", action(one)), ""));
    return cat(text, "   ", places, "\n}\n");
  }
  text += "    '1: :->first' '*:: :->rest' && return\n  case $state in\n    first)\n      local -a commands=(\n";
  for (const CommandFacts& below : command.commands) {
    text += cat("        ", shell_quoted(cat(below.name, ":", below.about), ""), "\n");
  }
  text += cat("      )\n      _describe command commands\n", command.takes_file() ? "      _files\n" : "",
              "      ;;\n    rest)\n      case $line[1] in\n");
  for (const CommandFacts& below : command.commands) {
    text += cat("        ", below.name, ") ", function_name(below), " ;;\n");
  }
  return text + "      esac\n      ;;\n  esac\n}\n";
}

}  // namespace

std::string zsh_completion(const CommandFacts& root) {
  std::string text =
      "#compdef wick\n# Completion of wick's options and commands in zsh. Written by `wick completion zsh`.\n";
  for (const CommandFacts* command : all_commands(root)) text += command_function(*command);
  // Found on fpath it is called as the completion itself; sourced, it has to say what it completes.
  return text + "if [[ $funcstack[1] == _wick ]]; then _wick \"$@\"; else compdef _wick wick; fi\n";
}

}  // namespace wick
