#include "hub/pull.h"

#include <fmt/core.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "hub/short_names.h"

namespace wick {
namespace {

struct PullArguments {
  std::string model;
  std::vector<std::string> include;
  int jobs = 8;
  bool json = false, quiet = false;
};

ModelName name_of(const std::string& text) {
  const auto name = parse_model_name(text);
  if (!name) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(in_quotes(text),
                    ": is no name of a model; one is Org/Name, Org/Name@revision, Org/Name:Q4_K_M or a short "
                    "name (wick pull --help)"));
  }
  return *name;
}

void print_choices(const ModelName& name, const std::vector<GgufModelFiles>& choices, bool is_json) {
  if (is_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const GgufModelFiles& model : choices) {
      list.push_back(
          {{"name", cat(name.repo, gguf_suffix(model, choices))}, {"files", model.files}, {"bytes", model.bytes}});
    }
    std::cout << nlohmann::ordered_json{{"model", name.text()}, {"choices", list}}.dump(2) << "\n";
  }
  const Terminal terminal = Terminal::of_stderr();
  Table table({Table::Align::kLeft, Table::Align::kRight});
  for (const GgufModelFiles& model : choices) {
    table.add({{printable(cat("  wick pull ", name.repo, gguf_suffix(model, choices)))}, {bytes_text(model.bytes)}});
  }
  std::cerr << "wick: " << name.text() << ": " << (name.variant.empty() ? "" : "not one of that type; ")
            << "choose one of its " << choices.size() << " models:\n"
            << table.text(terminal);
}

void print_json(const ModelName& name, const PullResult& result, double seconds) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const PulledFile& file : result.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"was_there", file.was_there}});
  }
  const nlohmann::ordered_json report = {{"model", name.repo},      {"revision", name.revision},
                                         {"commit", result.commit}, {"path", result.path.string()},
                                         {"files", files},          {"downloaded_bytes", result.downloaded},
                                         {"seconds", seconds}};
  std::cout << report.dump(2) << "\n";
}

void print_use(const PullArguments& arguments, const ModelName& name, const PullResult& result, double seconds) {
  int64_t bytes = 0;
  for (const PulledFile& file : result.files) bytes += file.bytes;
  std::cerr << fmt::format("{} file{}, {}", result.files.size(), result.files.size() == 1 ? "" : "s",
                           bytes_text(bytes));
  if (result.downloaded > 0) {
    const double rate = static_cast<double>(result.downloaded) / std::max(seconds, 1e-3);
    std::cerr << fmt::format(", {} downloaded at {}/s\n", bytes_text(result.downloaded),
                             bytes_text(static_cast<int64_t>(rate)));
  } else {
    std::cerr << ", all there already\n";
  }
  if (arguments.include.empty()) {
    std::cerr << "Use it:  wick chat " << name.text() << "   or   wick inspect " << name.text() << "\n";
  }
}

// In lines that fit a terminal.
std::string short_names_text() {
  std::string text;
  size_t column = 13;
  for (const ShortName& known : short_names()) {
    if (column + known.name.size() > 110) column = 0;
    text += cat(text.empty() ? "" : column == 0 ? "\n" : " ", known.name);
    column += known.name.size() + 1;
  }
  return text;
}

int pull(const PullArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const ModelName name = name_of(arguments.model);
  PullOptions options = PullOptions::of_environment();
  options.include = arguments.include;
  options.jobs = arguments.jobs;
  const InterruptWatch watch;
  options.stop = [&] { return watch.signal() != 0; };
  std::unique_ptr<ProgressBar> bar;
  options.progress = [&](const PullProgress& now) {
    if (arguments.quiet) return;
    if (!bar) bar = std::make_unique<ProgressBar>(now.total);
    bar->show(now.done, printable(now.what));
  };
  const auto result = pull_model(name, HubCache::of_environment(), options);
  bar.reset();
  if (!result) {
    std::cerr << "wick: interrupted; the same command goes on from here\n";
    return 128 + watch.signal();
  }
  if (!result->choices.empty()) {
    print_choices(name, result->choices, arguments.json);
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (arguments.json) {
    print_json(name, *result, seconds);
  } else {
    std::cout << result->path.string() << std::endl;
    if (!arguments.quiet) print_use(arguments, name, *result, seconds);
  }
  return 0;
}

}  // namespace

void add_pull(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("pull", "Download a model from the Hugging Face hub");
  const auto arguments = std::make_shared<PullArguments>();
  command
      ->add_option(
          "MODEL", arguments->model,
          "Org/Name or a short name, with @revision, or with :Q4_K_M or /file.gguf for one of several GGUF files")
      ->required();
  command->add_option("--include", arguments->include, "Only files that match this pattern; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("GLOB");
  command->add_option("--jobs", arguments->jobs, "Transfers at the same time (default: 8)")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("COUNT");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->add_flag("--quiet", arguments->quiet, "Print nothing but the path");
  command->footer(
      "Downloads what Wick needs (safetensors, settings, tokenizer) into the cache that huggingface_hub uses, too, "
      "and\n"
      "prints the path. Every file is compared with its checksum. A pull that was cut goes on where it was. Behind "
      "it,\n"
      "every command takes the name for the path: wick run Org/Name.\n\n"
      "Short names: " +
      short_names_text() +
      "\n\n"
      "Environment: HF_TOKEN (for gated models), HF_ENDPOINT (another server), HF_HOME or HF_HUB_CACHE (where models\n"
      "are kept, default ~/.cache/huggingface/hub), HF_HUB_OFFLINE, and https_proxy.\n\n"
      "Examples:\n"
      "  wick pull qwen3-0.6b\n"
      "  wick pull unsloth/Qwen3-0.6B-GGUF:Q4_K_M\n"
      "  wick pull Qwen/Qwen3-0.6B@main --include '*.json' --quiet");
  command->callback([&action, arguments] { action = [arguments] { return pull(*arguments); }; });
}

}  // namespace wick
