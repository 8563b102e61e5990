#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/commands.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// The command that the words name, as far as they name one, and a word that should have named one.
struct Named {
  const CLI::App* command;
  std::optional<std::string> unknown;
};
Named named_command(const CLI::App& app, const std::vector<std::string>& words) {
  Named result{&app, std::nullopt};
  for (const std::string& word : words) {
    if (word.starts_with('-')) break;
    const auto all = result.command->get_subcommands([](const CLI::App*) { return true; });
    const auto named =
        std::find_if(all.begin(), all.end(), [&](const CLI::App* sub) { return sub->get_name() == word; });
    // `bench` takes a model as well as a command.
    if (all.empty() || (named == all.end() && result.command != &app)) break;
    if (named == all.end()) {
      result.unknown = word;
      break;
    }
    result.command = *named;
  }
  return result;
}

// An option among the words that CLI11 had no use for, without what stands behind its =.
std::optional<std::string> unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining(true)) {
    if (word == "--") break;
    if (word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')) return word.substr(0, word.find('='));
  }
  return std::nullopt;
}

// What was meant, in CLI11's terms: `wick` alone is a chat, `wick help run` asks as `wick run --help` does, and
// llama-bench's -pg would be read as -p g.
std::vector<std::string> usual_words(std::vector<std::string> words) {
  if (words.empty()) words = {"chat"};
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::replace(words.begin(), words.end(), std::string("-pg"), std::string("--pg"));
  return words;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "; did you mean 'embed'?" where a name is near.
std::string did_you_mean(const std::vector<std::string>& names, std::string_view word) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = wick::nearest(word, candidates);
  return near.empty() ? std::string() : wick::cat("; did you mean '", near, "'?");
}

int run(const std::vector<std::string>& given) {
  CLI::App app("Wick runs language, speech and vision models natively.", "wick");
  app.set_version_flag("-V,--version", "wick " WICK_VERSION, "Show the version");
  app.footer("Exit codes: 0 ok, 1 failed, 2 wrong usage.");
  app.require_subcommand(1);
  wick::Action action;
  wick::add_run(app, action);
  wick::add_chat(app, action);
  wick::add_transcribe(app, action);
  wick::add_speak(app, action);
  wick::add_voices(app, action);
  wick::add_codec(app, action);
  wick::add_serve(app, action);
  wick::add_mcp(app, action);
  wick::add_pull(app, action);
  wick::add_list(app, action);
  wick::add_rm(app, action);
  wick::add_ps(app, action);
  wick::add_doctor(app, action);
  wick::add_inspect(app, action);
  wick::add_quantize(app, action);
  wick::add_merge(app, action);
  wick::add_tokenize(app, action);
  wick::add_template(app, action);
  wick::add_models(app, action);
  wick::add_onnx(app, action);
  wick::add_verify(app, action);
  wick::add_perplexity(app, action);
  wick::add_see(app, action);
  wick::add_embed(app, action);
  wick::add_rerank(app, action);
  wick::add_classify(app, action);
  wick::add_fill(app, action);
  wick::add_search(app, action);
  wick::add_lens(app, action);
  wick::add_attn(app, action);
  wick::add_patch(app, action);
  wick::add_steer(app, action);
  wick::add_probe(app, action);
  wick::add_bench(app, action);
  wick::add_completion(app, action);
  wick::add_man(app, action);
  if (given.empty() && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
    std::cerr << app.help();
    return kWrongUsage;
  }
  const std::vector<std::string> words = usual_words(given);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 takes them
  } catch (const CLI::ParseError& error) {
    const Named named = named_command(app, words);
    const auto option = named.unknown ? std::nullopt : unknown_option(app);
    if (named.unknown || (option && error.get_exit_code() != 0)) {
      const std::string wrong =
          named.unknown ? wick::cat("command '", *named.unknown, "'", did_you_mean(command_names(app), *named.unknown))
                        : wick::cat("option '", *option, "'", did_you_mean(option_names(*named.command), *option));
      const std::string where = named.command == &app ? "" : wick::cat(" ", named.command->get_name());
      std::cerr << wick::cat("wick", where, ": there is no ", wrong, "\nRun with --help for more information.\n");
      return kWrongUsage;
    }
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return action();
}

// Output that did not arrive is a failure, whichever command wrote it.
int with_output_checked(int code) {
  std::cout.flush();
  if (std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::cerr << "wick: standard output cannot be written\n";
  return code == 0 ? kFailed : code;
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
    return with_output_checked(run({argv + 1, argv + argc}));
  } catch (const wick::Error& error) {
    std::cerr << "wick: " << error.what() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "wick: unexpected problem: " << error.what() << "\n";
  }
  return kFailed;
}
