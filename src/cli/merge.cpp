#include <fmt/core.h>

#include <iostream>
#include <memory>

#include "base/machine.h"
#include "cli/commands.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/terminal/progress_bar.h"
#include "formats/adapters/merge_lora.h"

namespace wick {
namespace {

struct MergeArguments {
  std::string in, out;
  std::vector<std::string> loras;
};

int merge(const MergeArguments& arguments) {
  const WeightSource source(Checkpoint::open(model_path(arguments.in)));
  std::vector<LoraToMerge> adapters;
  for (const LoraChoice& lora : loras_named(arguments.loras)) {
    adapters.push_back({read_lora(lora.path, source), lora.scale});
  }
  int64_t total = 0, done = 0;
  for (const TensorEntry& entry : source.checkpoint().entries()) total += entry.bytes;
  {
    ProgressBar bar(total);
    merge_lora(source, adapters, arguments.out, [&](const std::string& name, int64_t bytes) {
      bar.show(done, name);
      done += bytes;
    });
  }
  std::cout << fmt::format("{}: {} tensors, {}, with {} adapter{}\n", arguments.out,
                           source.checkpoint().entries().size(), bytes_text(total), adapters.size(),
                           adapters.size() == 1 ? "" : "s");
  return 0;
}

}  // namespace

void add_merge(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("merge", "Write a model with adapters in its weights");
  const auto arguments = std::make_shared<MergeArguments>();
  command->add_option("IN", arguments->in, "The model: a Hugging Face folder or Org/Name")->required();
  command->add_option("OUT", arguments->out, "The folder to write")->required();
  add_lora_option(*command, arguments->loras)->required();
  command->footer(
      "Weights keep their dtypes; the other files of the model are copied. The model must not be quantised.\n\n"
      "Example:\n"
      "  wick merge models/Qwen3-0.6B qwen3-mine --lora adapters/mine --lora adapters/style=0.5");
  command->callback([&action, arguments] { action = [arguments] { return merge(*arguments); }; });
}

}  // namespace wick
