#include <unistd.h>

#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/models/presets.h"
#include "cli/models/running_servers.h"
#include "cli/terminal/terminal.h"
#include "engine/ember.h"
#include "hub/cached_models.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

struct ListArguments {
  std::vector<std::string> folders;
  bool json = false;
};

struct RemoveArguments {
  std::string model;
  bool yes = false;
};

// "just now", "5 minutes ago", "3 days ago"
std::string ago_text(int64_t then) {
  const int64_t seconds = std::max<int64_t>(0, std::time(nullptr) - then);
  const auto told = [](int64_t count, const char* what) {
    return cat(count, " ", what, count == 1 ? "" : "s", " ago");
  };
  if (seconds < 60) return "just now";
  if (seconds < 3600) return told(seconds / 60, "minute");
  if (seconds < 86400) return told(seconds / 3600, "hour");
  return told(seconds / 86400, "day");
}

std::vector<StoredModel> files_in(const ListArguments& arguments) {
  std::vector<StoredModel> files;
  const std::vector<std::string> here = {".", "models"};
  for (const std::string& folder : arguments.folders.empty() ? here : arguments.folders) {
    std::error_code ignored;
    if (!arguments.folders.empty() && !fs::is_directory(folder, ignored)) {
      throw Error(ErrorCode::kIo, cat(in_quotes(folder), ": there is no such folder"));
    }
    for (StoredModel& model : models_in_folder(folder)) files.push_back(std::move(model));
  }
  return files;
}

int list_stored(const ListArguments& arguments) {
  const HubCache cache = HubCache::of_environment();
  const std::vector<StoredModel> cached = cached_models(cache), files = files_in(arguments);
  using Rows = nlohmann::ordered_json;
  Rows rows = Rows::array();
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft});
  table.add({{"model", Colour::kDim}, {"type", Colour::kDim}, {"size", Colour::kDim}, {"last used", Colour::kDim}});
  int64_t total = 0;
  const auto add = [&](const StoredModel& model, const char* where) {
    rows.push_back({{"name", model.name},
                    {"where", where},
                    {"path", model.path.string()},
                    {"type", model.kind},
                    {"bytes", model.bytes},
                    {"last_used", model.used}});
    table.add({{printable(model.name)}, {printable(model.kind)}, {bytes_text(model.bytes)}, {ago_text(model.used)}});
    total += model.bytes;
  };
  for (const StoredModel& model : cached) add(model, "cache");
  for (const StoredModel& model : files) add(model, "files");
  if (has_ember()) {
    const auto built_in = [&](const char* name, const BuiltInModel& model) {
      rows.push_back({{"name", name}, {"where", "built in"}, {"bytes", model.model.size()}});
      table.add({{name}, {"built in"}, {bytes_text(static_cast<int64_t>(model.model.size()))}, {""}});
    };
    built_in("ember", ember_files());
    built_in("ember-asr", ember_asr_files());
  }
  for (const Preset& preset : user_presets()) {
    rows.push_back({{"name", preset.name}, {"where", "preset"}, {"model", preset.model}});
    table.add({{printable(preset.name)}, {printable(cat("preset of ", preset.model))}, {""}, {""}});
  }
  if (arguments.json) {
    const Rows report = {{"cache", cache.root().string()}, {"models", rows}, {"bytes", total}};
    std::cout << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return 0;
  }
  const Terminal terminal = Terminal::of_stdout();
  std::cout << table.text(terminal);
  const std::string end = cached.empty() ? cat("The cache ", cache.root().string(), " is empty; wick pull fills it.")
                                         : cat(bytes_text(total), " on the disk; the cache is ", cache.root().string());
  std::cout << terminal.paint(cat("\n", end), Colour::kDim) << "\n";
  return 0;
}

bool is_agreed() {
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
    throw Error(ErrorCode::kInvalidArgument, "nobody is there to ask; --yes removes it without asking");
  }
  std::cerr << "Remove it? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  answer = lower_ascii(trimmed(answer));
  return answer == "y" || answer == "yes";
}

int remove_stored(const RemoveArguments& arguments) {
  const auto name = parse_model_name(arguments.model);
  std::error_code ignored;
  if (!name || fs::exists(arguments.model, ignored)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(in_quotes(arguments.model),
                    ": is no name of a model in the cache; wick list shows those, and files of "
                    "your own are for you to remove"));
  }
  const HubCache cache = HubCache::of_environment();
  const auto removal = plan_removal(cache, *name);
  if (!removal) {
    throw Error(ErrorCode::kIo, cat(name->text(), ": is not in ", cache.root(), "; wick list shows what is"));
  }
  std::cerr << cat(name->text(), ": ", bytes_text(removal->bytes), " in ", cache.folder_of(name->repo), "\n");
  if (!arguments.yes && !is_agreed()) {
    std::cerr << "Nothing was removed.\n";
    return 1;
  }
  remove_paths(*removal);
  std::cerr << cat("Removed; ", bytes_text(removal->bytes), " are free again.\n");
  return 0;
}

int list_servers(bool json) {
  const std::vector<RunningServer> servers = running_servers();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  Table table({Table::Align::kRight, Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  table.add(
      {{"process", Colour::kDim}, {"address", Colour::kDim}, {"started", Colour::kDim}, {"models", Colour::kDim}});
  for (const RunningServer& server : servers) {
    rows.push_back(
        {{"process", server.process}, {"url", server.url}, {"models", server.models}, {"since", server.since}});
    std::string models;
    for (const std::string& name : server.models) models += cat(models.empty() ? "" : ", ", name);
    table.add({{cat(server.process)}, {printable(server.url)}, {ago_text(server.since)}, {printable(models)}});
  }
  if (json) {
    std::cout << nlohmann::ordered_json{{"servers", rows}}.dump(2) << "\n";
  } else if (servers.empty()) {
    std::cout << "No server runs; wick serve starts one.\n";
  } else {
    std::cout << table.text(Terminal::of_stdout());
  }
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("list", "List the models on this disk");
  const auto arguments = std::make_shared<ListArguments>();
  command->add_option("FOLDER", arguments->folders, "Folders to look into beside the cache (default: . and models)");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Shows what wick pull has brought into the cache, GGUF files and model folders that lie here, the models inside\n"
      "this program and presets (docs/models-hub.md). Every name can be given to the other commands.\n\n"
      "Examples:\n"
      "  wick list\n"
      "  wick list /data/models --json");
  command->callback([&action, arguments] { action = [arguments] { return list_stored(*arguments); }; });
}

void add_rm(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("rm", "Remove a model from the cache");
  const auto arguments = std::make_shared<RemoveArguments>();
  command->add_option("MODEL", arguments->model, "A name as wick list shows it; without a type all of Org/Name")
      ->required();
  command->add_flag("-y,--yes", arguments->yes, "Do not ask");
  command->footer(
      "Says what would go and how much room it takes, and asks. What other models of the repository use stays.\n\n"
      "Examples:\n"
      "  wick rm qwen3-0.6b\n"
      "  wick rm unsloth/Qwen3-0.6B-GGUF:Q4_K_M --yes");
  command->callback([&action, arguments] { action = [arguments] { return remove_stored(*arguments); }; });
}

void add_ps(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("ps", "List the servers that run");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object");
  command->footer(
      "Shows each wick serve of this user: its process, address and models.\n\n"
      "Examples:\n"
      "  wick ps\n"
      "  wick ps --json");
  command->callback([&action, json] { action = [json] { return list_servers(*json); }; });
}

}  // namespace wick
