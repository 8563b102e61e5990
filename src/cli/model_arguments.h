#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/progress_bar.h"
#include "cli/sampling_options.h"
#include "engine/generator.h"

namespace wick {

// What `wick run` and `wick chat` have in common: the model, how it is loaded and how it writes.
struct ModelArguments {
  std::string model;  // empty: Ember
  std::string quantize = "auto", chat_template, kv = "f16", speculate, device = "cpu";
  std::string grammar, json_schema;  // files
  std::vector<std::string> stop;
  int64_t context = 0, max_tokens = -1, draft_tokens = 8;
  int threads = 0;
  bool json_mode = false, ignore_end = false;
  SamplingChoice sampling;

  void add_options(CLI::App& command);
  void check() const;  // throws CLI::ExcludesError; call it when the options are read
};

// A path, a name of the hub that is in the cache, or Ember by name or by no name. Throws Error that says what MODEL can
// be when there is none of that name.
std::shared_ptr<const TextModel> load_named_model(const std::string& name, const LoadOptions& options);
// Loads the model with a progress bar. Throws Error that says what MODEL can be when there is none of that name.
std::shared_ptr<const TextModel> load_text_model(const ModelArguments& arguments);
GeneratorOptions generator_options(const ModelArguments& arguments);
// Null when nothing guesses ahead.
std::unique_ptr<Drafter> make_drafter(const ModelArguments& arguments, const TextModel& target);
// Everything but the drafter. Throws Error for a grammar or schema that cannot be read.
GenerateParams generate_params(ModelArguments& arguments, const TextModel& model);

// Shows on a terminal how far a long prompt has been read; to be told of every step.
class PromptProgress {
 public:
  void show(const GenerateEvent& event);

 private:
  std::unique_ptr<ProgressBar> bar_;
};

// "14 tokens read at 5,120/s, 12 written at 1,630/s, the first after 3 ms".
std::string rate_text(const GenerateResult& result);

}  // namespace wick
