#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/completion/command_facts.h"

namespace wick {

void add_completion(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("completion", "Write a script that completes wick's options in a shell");
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("bash|zsh|fish");
  command->footer(
      "make install and the packages put these scripts where the shells look for them.\n\n"
      "Examples:\n"
      "  source <(wick completion bash)\n"
      "  wick completion fish > ~/.config/fish/completions/wick.fish");
  command->callback([&app, &action, shell] {
    action = [&app, shell] {
      const CommandFacts root = describe(app);
      std::cout << (*shell == "bash"  ? bash_completion(root)
                    : *shell == "zsh" ? zsh_completion(root)
                                      : fish_completion(root));
      return 0;
    };
  });
}

void add_man(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("man", "Write the manual page, for whoever installs it")->group("");
  command->callback([&app, &action] {
    action = [&app] {
      std::cout << manual_page(describe(app));
      return 0;
    };
  });
}

}  // namespace wick
