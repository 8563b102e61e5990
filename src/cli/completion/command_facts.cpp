#include "cli/completion/command_facts.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace wick {
namespace {

bool is_lower(const std::string& word) {
  return !word.empty() && std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); });
}

std::vector<std::string> words_between(const std::string& text, char separator) {
  std::vector<std::string> words;
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return words;
    begin = end + 1;
  }
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (option.get_positional()) facts.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    facts.value = type.substr(0, type.find(':'));  // behind it is what a validator says
  }
  facts.about = option.get_description();
  facts.group = option.get_group();
  return facts;
}

CommandFacts facts_of(const CLI::App& app, const std::string& above) {
  CommandFacts facts;
  facts.name = app.get_name();
  facts.path = above.empty() ? facts.name : cat(above, " ", facts.name);
  facts.about = app.get_description();
  facts.more = app.get_footer();
  facts.usage = "[OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? facts.arguments : facts.options).push_back(facts_of(*option));
    if (!option->get_positional()) continue;
    const std::string many = option->get_items_expected_max() > 1 ? "..." : "";
    const std::string name = cat(option->get_name(true), many);
    facts.usage += option->get_required() ? cat(" ", name) : cat(" [", name, "]");
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); })) {
    facts.commands.push_back(facts_of(*command, facts.path));
  }
  if (!facts.commands.empty()) facts.usage += app.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]";
  return facts;
}

bool names_file(const std::string& word) {
  static constexpr std::string_view kFiles[] = {"FILE", "FILES", "FOLDER", "DIR", "PATH", "MODEL", "IN", "OUT"};
  return std::find(std::begin(kFiles), std::end(kFiles), word) != std::end(kFiles);
}

}  // namespace

bool OptionFacts::takes_file() const {
  const auto words = words_between(value, '|');
  return std::any_of(words.begin(), words.end(), names_file) || names_file(names.front());
}

std::vector<std::string> OptionFacts::choices() const {
  std::vector<std::string> words = words_between(value, '|');
  words.erase(std::remove_if(words.begin(), words.end(), [](const auto& word) { return !is_lower(word); }),
              words.end());
  return words;
}

bool CommandFacts::takes_file() const {
  return std::any_of(arguments.begin(), arguments.end(), [](const OptionFacts& one) { return one.takes_file(); });
}

CommandFacts describe(const CLI::App& app) { return facts_of(app, ""); }

std::vector<const CommandFacts*> all_commands(const CommandFacts& root) {
  std::vector<const CommandFacts*> all = {&root};
  for (const CommandFacts& command : root.commands) {
    const auto below = all_commands(command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

}  // namespace wick
