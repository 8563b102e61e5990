#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// CLI11 says only that a subcommand is missing; a word that names none deserves to be named.
const char* unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* level = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::string word = argv[i];
    const auto all = level->get_subcommands([](const CLI::App*) { return true; });
    const auto named =
        std::find_if(all.begin(), all.end(), [&](const CLI::App* sub) { return sub->get_name() == word; });
    // `bench` takes a model as well as a command.
    if (all.empty() || (named == all.end() && level != &app)) return nullptr;
    if (named == all.end()) return argv[i];
    level = *named;
  }
  return nullptr;
}

int run(int argc, char** argv) {
  CLI::App app("Wick runs language and speech models natively.", "wick");
  app.set_version_flag("--version", "wick " WICK_VERSION, "Show the version");
  app.footer("Exit codes: 0 ok, 1 failed, 2 wrong usage.");
  app.require_subcommand(1);
  wick::Action action;
  wick::add_run(app, action);
  wick::add_chat(app, action);
  wick::add_transcribe(app, action);
  wick::add_serve(app, action);
  wick::add_pull(app, action);
  wick::add_doctor(app, action);
  wick::add_inspect(app, action);
  wick::add_quantize(app, action);
  wick::add_tokenize(app, action);
  wick::add_template(app, action);
  wick::add_models(app, action);
  wick::add_verify(app, action);
  wick::add_perplexity(app, action);
  wick::add_lens(app, action);
  wick::add_attn(app, action);
  wick::add_patch(app, action);
  wick::add_steer(app, action);
  wick::add_probe(app, action);
  wick::add_bench(app, action);
  std::vector<char*> words(argv, argv + argc);
  char both[] = "--pg";  // llama-bench spells it with one dash, which CLI11 would read as -p g
  for (char*& word : words) {
    if (word == std::string_view("-pg")) word = both;
  }
  try {
    app.parse(argc, words.data());
  } catch (const CLI::ParseError& error) {
    if (const char* word = unknown_command(app, argc, argv)) {
      std::cerr << "wick: there is no command '" << word << "'\nRun with --help for more information.\n";
      return kWrongUsage;
    }
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return action();
}

#if defined(__x86_64__)
// Before anything that was compiled for it runs, initialisers included.
[[gnu::constructor(101)]] void check_processor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) return;
  std::fputs("wick: this processor has no SSE4.2, which Wick needs\n", stderr);
  std::_Exit(kFailed);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const wick::Error& error) {
    std::cerr << "wick: " << error.what() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "wick: unexpected problem: " << error.what() << "\n";
  }
  return kFailed;
}
