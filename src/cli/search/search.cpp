// wick search: the texts of a folder by their words and by what they mean.
#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/embed/vectors_so_far.h"
#include "cli/models/named_model.h"
#include "cli/search/search_index.h"
#include "cli/shared_options.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr char kIndexName[] = ".wick-search";  // beside the texts

struct SearchArguments {
  std::string folder, query, model, index, by = "both", quantize = "auto", device = "cpu";
  int64_t top = 10;
  int threads = 0;
  bool json = false;
};

OrderedJson found_json(const Found& found) {
  OrderedJson object = {{"path", found.path}, {"line", found.line}, {"score", found.score}};
  if (found.word_rank) object["word_rank"] = *found.word_rank;
  if (found.vector_rank) object["vector_rank"] = *found.vector_rank;
  object["snippet"] = found.snippet;
  return object;
}

int search(const SearchArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  if (arguments.by == "meaning" && arguments.model.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "to search by meaning a model is needed: name one with --model");
  }
  std::shared_ptr<const Embedder> embedder;
  uint64_t key = 0;
  if (!arguments.model.empty() && arguments.by != "words") {
    ModelOptions load;
    load.quantize = arguments.quantize;
    load.device = device_named(arguments.device);
    load.notice = warn;
    const fs::path model = model_path(arguments.model);
    embedder = Embedder::load(model, load);
    key = model_key(model, arguments.quantize, arguments.device);
  }
  const fs::path folder = arguments.folder;
  SearchIndex index(folder, arguments.index.empty() ? folder / kIndexName : fs::path(arguments.index), embedder, key);
  SearchIndex::Change change;
  {
    std::unique_ptr<ProgressBar> bar;
    change = index.update([&](int64_t done, int64_t all) {
      if (!bar) bar = std::make_unique<ProgressBar>(all, ProgressUnit::kRuns, ProgressBar::kQuiet);
      bar->show(done, "passages");
    });
  }
  if (change.read + change.removed + change.embedded > 0) {
    fmt::print(stderr, "{}: {} files, {} passages; {} read, {} removed, {} vectors made\n", arguments.folder,
               change.files, change.passages, change.read, change.removed, change.embedded);
  }
  const auto by = arguments.by == "words"     ? SearchIndex::By::kWords
                  : arguments.by == "meaning" ? SearchIndex::By::kMeaning
                                              : SearchIndex::By::kBoth;
  for (const Found& found : index.search(arguments.query, static_cast<size_t>(arguments.top), by)) {
    if (arguments.json) {
      std::cout << found_json(found).dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
    } else {
      fmt::print("{}:{}\n    {}\n", printable(found.path, 200), found.line, printable(found.snippet, 200));
    }
  }
  return 0;
}

}  // namespace

void add_search(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("search", "Search the texts of a folder by their words and their meaning");
  const auto arguments = std::make_shared<SearchArguments>();
  command->add_option("FOLDER", arguments->folder, "Where the texts are")->required();
  command->add_option("QUERY", arguments->query, "What is looked for")->required();
  command
      ->add_option("-m,--model", arguments->model,
                   "An embedding model, as `wick embed` takes it; without one, words alone are compared")
      ->type_name("MODEL");
  command->add_option("--top", arguments->top, "How many passages")
      ->check(count_from(1))
      ->type_name("COUNT")
      ->capture_default_str();
  command->add_option("--by", arguments->by, "Compare words, meaning, or both")
      ->check(CLI::IsMember({"both", "words", "meaning"}))
      ->type_name("WAY")
      ->capture_default_str();
  command->add_option("--index", arguments->index, "Where the index is kept, instead of FOLDER/.wick-search")
      ->type_name("FOLDER");
  add_quantize_option(*command, arguments->quantize);
  add_threads_option(*command, arguments->threads);
  add_device_option(*command, arguments->device);
  command->add_flag("--json", arguments->json, "Print one JSON object per passage");
  command->footer(
      "The first search makes an index; later ones look at files that have changed. Words are found with SQLite's "
      "FTS5,\n"
      "meaning by the cosine of vectors; a passage counts 1 / (60 + its rank) in each list. Hidden files, links, "
      "files\n"
      "that are no UTF-8 and those above 4 MB are left out.\n\n"
      "Examples:\n"
      "  wick search docs \"prefix cache\"\n"
      "  wick search docs \"why is the second answer faster?\" --model models/all-MiniLM-L6-v2");
  command->callback([&action, arguments] { action = [arguments] { return search(*arguments); }; });
}

}  // namespace wick
