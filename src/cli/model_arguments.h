#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/models/named_model.h"
#include "cli/sampling_options.h"
#include "cli/terminal/progress_bar.h"
#include "engine/text/generator.h"

namespace wick {

// What `wick run` and `wick chat` have in common: the model, how it is loaded and how it writes.
struct ModelArguments {
  std::string model;  // empty: Ember
  std::string quantize = "auto", chat_template, kv = "f16", speculate, device = "cpu";
  std::string grammar, json_schema;  // a file; a schema may be JSON itself
  std::vector<std::string> stop, loras;
  std::string begins_with, early_stopping = "no";
  BeamParams beams;
  int64_t context = 0, max_tokens = -1, draft_tokens = 8;
  int threads = 0;
  bool json_mode = false, ignore_end = false;
  SamplingChoice sampling;

  void add_options(CLI::App& command);
  // What MODEL says when it is a preset, then whether all of it goes together (else CLI::ExcludesError); to be called
  // when the options are read.
  void settle(CLI::App& command);
};

// Loads the model with a progress bar. Throws Error that says what MODEL can be when there is none of that name.
std::shared_ptr<const TextModel> load_text_model(const ModelArguments& arguments);
GeneratorOptions generator_options(const ModelArguments& arguments);
// Null without speculative decoding.
std::unique_ptr<Drafter> make_drafter(const ModelArguments& arguments, const TextModel& target);
// Everything but the drafter. Throws Error for a grammar or schema that cannot be read.
GenerateParams generate_params(ModelArguments& arguments, const TextModel& model);

// Shows on a terminal how far prefill of a long prompt is; to be called at every step.
class PromptProgress {
 public:
  void show(const GenerateEvent& event);

 private:
  std::unique_ptr<ProgressBar> bar_;
};

// "prefill 14 tokens at 5120/s, decode 12 at 1630/s, the first after 3 ms".
std::string rate_text(const GenerateResult& result);

}  // namespace wick
