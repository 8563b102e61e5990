#include "cli/model_arguments.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "cli/device_option.h"
#include "cli/models/presets.h"
#include "cli/read_text.h"
#include "cli/shared_options.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr double kPass = 0.25;  // seconds: Ctrl-C is heard within about this
constexpr char kGroup[] = "Model";

}  // namespace

LoraChoice lora_named(const std::string& text) {
  std::error_code ignored;
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || fs::exists(text, ignored)) return {text};
  const std::string scale = text.substr(equals + 1);
  LoraChoice choice{text.substr(0, equals)};
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), choice.scale);
  if (error != std::errc() || end != scale.data() + scale.size() || !std::isfinite(choice.scale)) {
    throw Error(ErrorCode::kInvalidArgument, cat("--lora ", text, ": '", scale, "' is not a scale"));
  }
  return choice;
}

std::vector<LoraChoice> loras_named(const std::vector<std::string>& texts) {
  std::vector<LoraChoice> choices;
  for (const std::string& text : texts) choices.push_back(lora_named(text));
  return choices;
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

  constexpr char kBeams[] = "Beam search";
  command.add_option("--beams", beams.count, "Follow this many texts at once; the likeliest is the answer")
      ->check(count_from(1, kMostBeams))
      ->type_name("COUNT")
      ->group(kBeams);
  command
      .add_option("--length-penalty", beams.length_penalty,
                  "Texts are compared by log-probability / length ^ this (default: 1); more favours longer ones")
      ->type_name("NUMBER")
      ->group(kBeams);
  command
      .add_option("--early-stopping", early_stopping,
                  "With as many texts as beams, end when none that goes on is better (no), at once (yes), or when none "
                  "can become better (never)")
      ->check(CLI::IsMember({"no", "yes", "never"}).description(""))
      ->type_name("no|yes|never")
      ->group(kBeams);
  command.add_option("--no-repeat-ngram", beams.no_repeat_ngram, "No run of so many tokens comes twice; 0: they may")
      ->check(count_from(0, 1000))
      ->type_name("COUNT")
      ->group(kBeams);

  command
      .add_option("--begins-with", begins_with,
                  "A control token that the text of a model with an encoder begins with: a language (fra_Latn)")
      ->type_name("TOKEN")
      ->group(kGroup);
  add_context_option(command, context)->group(kGroup);
  add_kv_option(command, kv)->group(kGroup);
  add_quantize_option(command, quantize)->group(kGroup);
  add_lora_option(command, loras)->group(kGroup);
  add_threads_option(command, threads)->group(kGroup);
  add_device_option(command, device)->group(kGroup);
  std::string templates;
  for (const auto name : ChatTemplate::built_in_names()) templates += cat(templates.empty() ? "" : ", ", name);
  command.add_option("--template", chat_template, cat("A built-in chat template for the model's own: ", templates))
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_option("--speculate", speculate,
                  "Speculative decoding: drafts by ngram, the model's own layer for it (mtp) or a smaller model; same "
                  "answer")
      ->type_name("ngram|mtp|MODEL")
      ->group(kGroup);
  command.add_option("--draft-tokens", draft_tokens, "Tokens to draft at a time (default: 8)")
      ->check(count_from(1, 1024))
      ->type_name("COUNT")
      ->group(kGroup);

  constexpr char kForm[] = "Form of the answer (one of them)";
  command.add_option("--grammar", grammar, "A GBNF file that the answer follows")->type_name("FILE")->group(kForm);
  command.add_option("--json-schema", json_schema, "A JSON Schema that the answer satisfies")
      ->type_name("FILE|JSON")
      ->group(kForm);
  command.add_flag("--json-mode", json_mode, "The answer is one JSON object")->group(kForm);
}

void ModelArguments::settle(CLI::App& command) {
  std::error_code ignored;
  if (!model.empty() && !fs::exists(model, ignored)) {
    if (const Preset* preset = find_preset(model)) preset->apply(command);
  }
  if (!grammar.empty() && !json_schema.empty()) throw CLI::ExcludesError("--grammar", "--json-schema");
  if (!grammar.empty() && json_mode) throw CLI::ExcludesError("--grammar", "--json-mode");
  const bool searches = beams.count > 1;
  if (!searches && (beams != BeamParams() || early_stopping != "no"))
    throw CLI::RequiresError("What is said of a beam search", "--beams above 1");
  if (!json_schema.empty() && json_mode) throw CLI::ExcludesError("--json-schema", "--json-mode");
}

std::shared_ptr<const TextModel> load_text_model(const ModelArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  LoadOptions options;
  options.quantize = arguments.quantize;
  options.chat_template = arguments.chat_template;
  options.device = device_named(arguments.device);
  options.loras = loras_named(arguments.loras);
  options.mtp = arguments.speculate == "mtp";
  std::unique_ptr<ProgressBar> bar;
  options.progress = [&](int64_t done, int64_t total) {
    if (!bar) bar = std::make_unique<ProgressBar>(total, ProgressUnit::kBytes, ProgressBar::kQuiet);
    bar->show(done, "loading");
  };
  return load_named_model(arguments.model, options);
}

GeneratorOptions generator_options(const ModelArguments& arguments) {
  GeneratorOptions options;
  options.context = arguments.context;
  options.kv_dtype = kv_dtype(arguments.kv);
  options.seconds_per_pass = kPass;
  options.beams = arguments.beams.count;
  return options;
}

std::unique_ptr<Drafter> make_drafter(const ModelArguments& arguments, const TextModel& target) {
  if (arguments.speculate.empty()) return nullptr;
  if (arguments.speculate == "ngram") return std::make_unique<LookupDrafter>();
  if (arguments.speculate == "mtp") return std::make_unique<MtpDrafter>(target.model());
  LoadOptions load;
  load.device = target.model().device();
  EngineOptions one;
  one.context = arguments.context;
  one.max_running = 1;
  return std::make_unique<ModelDrafter>(load_named_model(arguments.speculate, load), target, one);
}

GenerateParams generate_params(ModelArguments& arguments, const TextModel& model) {
  GenerateParams params;
  params.sampling = arguments.sampling.params_for(model, arguments.beams.count == 1);
  params.max_new_tokens = arguments.max_tokens;
  params.stop = arguments.stop;
  params.ignore_end = arguments.ignore_end;
  params.draft_tokens = arguments.draft_tokens;
  params.begins_with = arguments.begins_with;
  params.beams = arguments.beams;
  params.beams.early_stopping = arguments.early_stopping == "yes"     ? EarlyStopping::kYes
                                : arguments.early_stopping == "never" ? EarlyStopping::kNever
                                                                      : EarlyStopping::kNo;
  if (!arguments.grammar.empty()) {
    try {
      params.grammar = Grammar::from_gbnf(read_text(arguments.grammar));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      throw Error(error.code(), cat(arguments.grammar, ": ", error.what()));
    }
  } else if (!arguments.json_schema.empty()) {
    params.grammar = Grammar::from_json_schema(read_json(arguments.json_schema, "--json-schema"), JsonLayout::kOneLine);
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
  if (!bar_) bar_ = std::make_unique<ProgressBar>(event.total, ProgressUnit::kTokens, ProgressBar::kQuiet);
  bar_->show(event.done, "prefill");
}

std::string rate_text(const GenerateResult& result) {
  const auto rate = [](double value) { return value > 0 ? cat(" at ", std::llround(value), "/s") : std::string(); };
  std::string text =
      cat("prefill ", result.prompt_tokens - result.reused_tokens, " tokens", rate(result.prefill_rate()));
  text += cat(", decode ", result.tokens.size(), rate(result.decode_rate()));
  if (!result.tokens.empty()) text += fmt::format(", the first after {:.0f} ms", result.prefill_seconds * 1e3);
  if (result.drafted > 0) text += cat(", ", result.accepted, " of ", result.drafted, " drafted tokens accepted");
  return text;
}

}  // namespace wick
