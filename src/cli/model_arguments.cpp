#include "cli/model_arguments.h"

#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "cli/device_option.h"
#include "cli/shared_options.h"
#include "hub/find_model.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kQuiet{500};
constexpr double kPass = 0.25;  // seconds: Ctrl-C is heard within about this
constexpr char kGroup[] = "Model";

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, cat(path, ": cannot be read"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::shared_ptr<const TextModel> load_named_model(const std::string& name, const LoadOptions& options) {
  std::error_code ignored;
  LoadOptions telling = options;
  telling.notice = warn;
  if (name.empty() || (name == "ember" && !fs::exists(name, ignored))) return TextModel::ember(telling);
  const bool is_sentence = name.find(' ') != std::string::npos;
  const std::string hint = cat(". MODEL is a Hugging Face folder, a .gguf or a .safetensors file, or Org/Name",
                               is_sentence ? "; a prompt is given with -p" : "; without MODEL, Ember answers");
  return TextModel::load(find_model(name, hint).path, telling);
}

void ModelArguments::add_options(CLI::App& command) {
  add_model_argument(command, model);
  command.add_option("-n,--max-tokens", max_tokens, "End the answer after this many tokens; -1: no limit")
      ->check(count_from(-1))
      ->type_name("COUNT");
  command.add_option("--stop", stop, "End the answer before this text; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--ignore-end", ignore_end, "Go on after tokens that end a text");

  sampling.add_options(command);

  add_context_option(command, context)->group(kGroup);
  add_kv_option(command, kv)->group(kGroup);
  add_quantize_option(command, quantize)->group(kGroup);
  add_threads_option(command, threads)->group(kGroup);
  add_device_option(command, device)->group(kGroup);
  std::string templates;
  for (const auto name : ChatTemplate::built_in_names()) templates += cat(templates.empty() ? "" : ", ", name);
  command.add_option("--template", chat_template, cat("A built-in chat template for the model's own: ", templates))
      ->type_name("NAME")
      ->group(kGroup);
  command.add_option("--speculate", speculate, "Guess ahead: ngram (from the text), or a smaller model; same answer")
      ->type_name("ngram|MODEL")
      ->group(kGroup);
  command.add_option("--draft-tokens", draft_tokens, "Tokens to guess at a time (default: 8)")
      ->check(count_from(1, 1024))
      ->type_name("COUNT")
      ->group(kGroup);

  constexpr char kForm[] = "Form of the answer (one of them)";
  command.add_option("--grammar", grammar, "A GBNF file that the answer follows")->type_name("FILE")->group(kForm);
  command.add_option("--json-schema", json_schema, "A JSON Schema that the answer satisfies")
      ->type_name("FILE")
      ->group(kForm);
  command.add_flag("--json-mode", json_mode, "The answer is one JSON object")->group(kForm);
}

void ModelArguments::check() const {
  if (!grammar.empty() && !json_schema.empty()) throw CLI::ExcludesError("--grammar", "--json-schema");
  if (!grammar.empty() && json_mode) throw CLI::ExcludesError("--grammar", "--json-mode");
  if (!json_schema.empty() && json_mode) throw CLI::ExcludesError("--json-schema", "--json-mode");
}

std::shared_ptr<const TextModel> load_text_model(const ModelArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  LoadOptions options;
  options.quantize = arguments.quantize;
  options.chat_template = arguments.chat_template;
  options.device = device_named(arguments.device);
  std::unique_ptr<ProgressBar> bar;
  options.progress = [&](int64_t done, int64_t total) {
    if (!bar) bar = std::make_unique<ProgressBar>(total, ProgressUnit::kBytes, kQuiet);
    bar->show(done, "loading");
  };
  return load_named_model(arguments.model, options);
}

GeneratorOptions generator_options(const ModelArguments& arguments) {
  GeneratorOptions options;
  options.context = arguments.context;
  options.kv_dtype = kv_dtype(arguments.kv);
  options.seconds_per_pass = kPass;
  return options;
}

std::unique_ptr<Drafter> make_drafter(const ModelArguments& arguments, const TextModel& target) {
  if (arguments.speculate.empty()) return nullptr;
  if (arguments.speculate == "ngram") return std::make_unique<LookupDrafter>();
  LoadOptions load;
  load.device = target.model().device();
  EngineOptions one;
  one.context = arguments.context;
  one.max_running = 1;
  return std::make_unique<ModelDrafter>(load_named_model(arguments.speculate, load), target, one);
}

GenerateParams generate_params(ModelArguments& arguments, const TextModel& model) {
  GenerateParams params;
  params.sampling = arguments.sampling.params_for(model);
  params.max_new_tokens = arguments.max_tokens;
  params.stop = arguments.stop;
  params.ignore_end = arguments.ignore_end;
  params.draft_tokens = arguments.draft_tokens;
  if (!arguments.grammar.empty()) {
    try {
      params.grammar = Grammar::from_gbnf(read_text(arguments.grammar));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      throw Error(error.code(), cat(arguments.grammar, ": ", error.what()));
    }
  } else if (!arguments.json_schema.empty()) {
    params.grammar = Grammar::from_json_schema(Json::load(arguments.json_schema), JsonLayout::kOneLine);
  } else if (arguments.json_mode) {
    params.grammar = Grammar::json_object(JsonLayout::kOneLine);
  }
  return params;
}

void PromptProgress::show(const GenerateEvent& event) {
  if (event.kind != GenerateEvent::Kind::kPrefill || event.done == event.total) {
    bar_.reset();
    return;
  }
  if (!bar_) bar_ = std::make_unique<ProgressBar>(event.total, ProgressUnit::kTokens, kQuiet);
  bar_->show(event.done, "reading");
}

std::string rate_text(const GenerateResult& result) {
  const auto rate = [](double value) { return value > 0 ? cat(" at ", std::llround(value), "/s") : std::string(); };
  std::string text = cat(result.prompt_tokens - result.reused_tokens, " tokens read", rate(result.prefill_rate()));
  text += cat(", ", result.tokens.size(), " written", rate(result.decode_rate()));
  if (!result.tokens.empty()) text += fmt::format(", the first after {:.0f} ms", result.prefill_seconds * 1e3);
  if (result.drafted > 0) text += cat(", ", result.accepted, " of ", result.drafted, " guesses right");
  return text;
}

}  // namespace wick
