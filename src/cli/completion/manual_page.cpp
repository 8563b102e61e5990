#include "base/text.h"
#include "cli/completion/command_facts.h"

namespace wick {
namespace {

// troff reads backslashes everywhere, dots and quotes at the beginning of lines, and '-' as a hyphen.
std::string escaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else {
      out += c == '-' ? "\\-" : std::string(1, c);
    }
  }
  return out;
}

std::string option_entry(const OptionFacts& option) {
  std::string names;
  for (const std::string& name : option.names) names += cat(names.empty() ? "" : ", ", "\\fB", escaped(name), "\\fR");
  if (!option.value.empty() && option.names.front().starts_with('-'))
    names += cat(" \\fI", escaped(option.value), "\\fR");
  return cat(".TP\n", names, "\n", escaped(option.about), "\n");
}

std::string command_section(const CommandFacts& command) {
  std::string text = cat(".PP\n\\fB", escaped(command.path), "\\fR ", escaped(command.usage), "\n.PP\n",
                         escaped(command.about), ".\n");
  for (const OptionFacts& argument : command.arguments) text += option_entry(argument);
  std::string group;
  for (const OptionFacts& option : command.options) {
    if (option.group != group && option.group != "Options") text += cat(".SS \"", escaped(option.group), "\"\n");
    group = option.group;
    text += option_entry(option);
  }
  if (!command.more.empty()) text += cat(".PP\n.nf\n", escaped(command.more), "\n.fi\n");
  return text;
}

}  // namespace

std::string manual_page(const CommandFacts& root) {
  std::string text = cat(".\\\" Written by `wick man`.\n.TH WICK 1 \"\" \"wick " WICK_VERSION "\" \"User Commands\"\n",
                         ".SH NAME\nwick \\- run language and speech models natively\n.SH SYNOPSIS\n");
  for (const CommandFacts& command : root.commands) {
    text += cat("\\fB", escaped(command.path), "\\fR ", escaped(command.usage), "\n.br\n");
  }
  text += cat(".SH DESCRIPTION\n", escaped(root.about), "\n");
  for (const OptionFacts& option : root.options) text += option_entry(option);
  if (!root.more.empty()) text += cat(".PP\n", escaped(root.more), "\n");
  for (const CommandFacts* command : all_commands(root)) {
    if (command != &root) text += cat(".SH \"", escaped(command->path), "\"\n", command_section(*command));
  }
  return text;
}

}  // namespace wick
