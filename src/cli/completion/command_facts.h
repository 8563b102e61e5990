#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace wick {

// What completions and the manual page tell of an option or an argument.
struct OptionFacts {
  std::vector<std::string> names;  // "-p", "--prompt"; of an argument: "MODEL"
  std::string value;               // "FILE", "COUNT", "last|mean"; empty: it takes none
  std::string about;
  std::string group;  // "Sampling"

  bool takes_file() const;                   // the value is the name of a file or folder
  std::vector<std::string> choices() const;  // the words that the value may be, as far as it names them
};

struct CommandFacts {
  std::string name;                // "bench"
  std::string path;                // "wick bench"
  std::string about, usage, more;  // one line, what stands behind the path, and what stands below the options
  std::vector<OptionFacts> options, arguments;
  std::vector<CommandFacts> commands;  // below this one

  bool takes_file() const;  // as an argument
};

// What the command says of itself with --help, of all that is not hidden.
CommandFacts describe(const CLI::App& app);
// The command and those below it, each before its own.
std::vector<const CommandFacts*> all_commands(const CommandFacts& root);

// The kinds of text that can be made of it.
std::string bash_completion(const CommandFacts& root);
std::string zsh_completion(const CommandFacts& root);
std::string fish_completion(const CommandFacts& root);
std::string manual_page(const CommandFacts& root);  // section 1, for man

}  // namespace wick
