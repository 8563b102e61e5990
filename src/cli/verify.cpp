#include <iostream>
#include <memory>

#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/verify_report.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

struct VerifyArguments {
  std::string model, reference, device = "cpu";
  ReferenceOptions options;
  int threads = 0;
  bool json = false;
};

int verify(const VerifyArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  const WeightSource source(Checkpoint::open(model_path(arguments.model)));
  const fs::path reference = arguments.reference.empty() ? source.checkpoint().folder() / "reference.safetensors"
                                                         : fs::path(arguments.reference);
  ReferenceOptions options = arguments.options;
  options.model.device = device_named(arguments.device);
  options.model.notice = warn;
  const VerifyReport report = {arguments.model, reference.string(), options.model.quantize,
                               check_reference(source, Checkpoint::open(reference), options)};
  if (arguments.json) {
    std::cout << to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    std::cout << to_text(report, Terminal::of_stdout());
  }
  return report.check.ok() ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("verify", "Compare a model with what PyTorch computed");
  const auto arguments = std::make_shared<VerifyArguments>();
  ReferenceOptions& options = arguments->options;
  command->add_option("MODEL", arguments->model, "A Hugging Face folder, a .safetensors or a .gguf file, or Org/Name")
      ->required();
  command->add_option("--reference", arguments->reference,
                      "The expected values (default: reference.safetensors in the model's folder)");
  command
      ->add_option("--tolerance", options.tolerance,
                   "The largest difference, as a share of the spread of the expected values (default: 2e-4)")
      ->check(CLI::Range(0.0, 1e9));
  add_quantize_option(*command, options.model.quantize);
  add_threads_option(*command, arguments->threads);
  add_device_option(*command, arguments->device);
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Runs the model on the tokens or the sound of the reference and compares logits, hidden states, attention\n"
      "patterns and greedy tokens. Exits with 1 when something is out of tolerance. tools/make_reference.py makes a\n"
      "reference where PyTorch is installed; docs/verify.md describes the file.\n\n"
      "Examples:\n"
      "  wick verify models/Qwen3-0.6B\n"
      "  wick verify qwen3-0.6b-q8_0.gguf --reference models/Qwen3-0.6B/reference.safetensors --tolerance 0.05\n"
      "  wick verify models/Qwen3-0.6B --quantize q4_k_m --tolerance 0.2 --json");
  command->callback([&action, arguments] { action = [arguments] { return verify(*arguments); }; });
}

}  // namespace wick
