#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/inspect/inspect_report.h"
#include "cli/models/named_model.h"

namespace wick {
namespace {

struct InspectArguments {
  std::string path;
  InspectOptions options;
  int64_t context = 0;
  bool json = false;
};

int inspect(const InspectArguments& arguments) {
  InspectOptions options = arguments.options;
  if (arguments.context > 0) options.context = arguments.context;
  const std::filesystem::path path = model_path(arguments.path);
  InspectReport report = make_inspect_report(path, options);
  if (path.filename() == arguments.path) report.path = arguments.path;  // Ember is no folder for the user
  if (arguments.json) {
    std::cout << to_json(report, options).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    std::cout << to_text(report, options, Terminal::of_stdout());
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("inspect", "Show what a model file or folder holds");
  const auto arguments = std::make_shared<InspectArguments>();
  command->add_option("PATH", arguments->path, "A model folder, a .safetensors, .gguf or index.json file, or Org/Name")
      ->required();
  command->add_flag("--tensors", arguments->options.tensors, "List every tensor: name, type, shape, bytes");
  command->add_flag("--metadata", arguments->options.metadata, "List every key of the metadata: key, type, value");
  command->add_option("--context", arguments->context, "Tokens to keep in the KV cache, for the memory needed")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  command->add_flag("--json", arguments->json, "Print one JSON object with all of it");
  command->footer(
      "Reads the headers only, so a model of any size is shown at once. The memory is that of the weights and of the\n"
      "KV cache for the model's context, 4,096 tokens at most unless --context says otherwise. Under 'loading' stands\n"
      "whether Wick can run it: tensors that are missing, of another shape or left over are listed. With --json all "
      "tensors\n"
      "and metadata are always there; --metadata then adds the whole of long lists. Exits with 1 when the file is\n"
      "broken and says where.\n\n"
      "Examples:\n"
      "  wick inspect models/Qwen3-0.6B\n"
      "  wick inspect qwen3-8b-q4_k_m.gguf --context 32768\n"
      "  wick inspect qwen3-8b-q4_k_m.gguf --tensors --metadata\n"
      "  wick inspect qwen3-8b-q4_k_m.gguf --json");
  command->callback([&action, arguments] { action = [arguments] { return inspect(*arguments); }; });
}

}  // namespace wick
