#include "base/text.h"
#include "cli/completion/command_facts.h"

namespace wick {
namespace {

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += cat(text.empty() ? "" : separator, word);
  return text;
}

// "wick run -p" | "wick run --prompt": a pattern for `case`.
std::string pattern(const CommandFacts& command, const OptionFacts& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.names) spellings.push_back(cat('"', command.path, " ", name, '"'));
  return joined(spellings, " | ");
}

std::string values_case(const CommandFacts& command, const OptionFacts& option) {
  std::string values;
  const auto choices = option.choices();
  if (!choices.empty()) values += cat(" words=\"", joined(choices, " "), "\"");
  if (option.takes_file()) values += " files=1";
  return cat("    ", pattern(command, option), ") option=1", values, " ;;\n");
}

std::string command_case(const CommandFacts& command) {
  std::vector<std::string> options, words;
  for (const OptionFacts& option : command.options) options.push_back(joined(option.names, " "));
  for (const CommandFacts& below : command.commands) words.push_back(below.name);
  for (const OptionFacts& argument : command.arguments) {
    for (const std::string& choice : argument.choices()) words.push_back(choice);
  }
  return cat("    \"", command.path, "\")\n      options=\"", joined(options, " "), "\" words=\"", joined(words, " "),
             "\"", command.takes_file() ? " files=1" : "", " ;;\n");
}

}  // namespace

std::string bash_completion(const CommandFacts& root) {
  std::vector<std::string> paths;
  std::string values, commands;
  for (const CommandFacts* command : all_commands(root)) {
    if (command != &root) paths.push_back(cat('"', command->path, '"'));
    for (const OptionFacts& option : command->options) {
      if (!option.value.empty()) values += values_case(*command, option);
    }
    commands += command_case(*command);
  }
  return cat(
      R"(# Completion of wick's options and commands in bash. Written by `wick completion bash`.
_wick() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=wick
  local options="" words="" files="" option="" word
  if [[ $current == "=" ]]; then  # --option=value comes as three words
    current=""
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case "$command $word" in
      )",
      joined(paths, " | "), R"() command="$command $word" ;;
    esac
  done
  case "$command $before" in
)",
      values, R"(  esac
  if [[ -z $option ]]; then
    case "$command" in
)",
      commands, R"(    esac
    if [[ $current == -* ]]; then
      words=$options files=""
    fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ -n $files ]]; then
    compopt -o filenames
    local names
    mapfile -t names < <(compgen -f -- "$current")
    COMPREPLY+=("${names[@]}")
  fi
}
complete -F _wick wick
)");
}

}  // namespace wick
