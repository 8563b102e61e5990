#include "cli/microscope/microscope.h"

#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/device_option.h"
#include "cli/microscope/token_label.h"
#include "cli/model_arguments.h"
#include "cli/read_text.h"
#include "cli/shared_options.h"
#include "engine/text/chat_prompt.h"
#include "engine/text/generator.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr char kGroup[] = "Model";

std::shared_ptr<const TextModel> load_model_of(const MicroscopeArguments& arguments) {
  ModelArguments model;
  model.model = arguments.model;
  model.quantize = arguments.quantize;
  model.device = arguments.device;
  model.chat_template = arguments.chat_template;
  model.threads = arguments.threads;
  return load_text_model(model);
}

}  // namespace

void MicroscopeArguments::add_options(CLI::App& command) {
  add_model_argument(command, model);
  command.add_flag("--raw", raw, "Take prompts as they are, without chat template; control tokens in them count");
  command.add_flag("--json", json, "Print one JSON object, and nothing else");
  CLI::Option* page = command.add_option("--html", html, "Also write a page for a browser, complete in one file");
  page->type_name("FILE");
  command.add_flag("--open", open, "With --html: have the browser show it")->needs(page);
  add_quantize_option(command, quantize)->group(kGroup);
  add_threads_option(command, threads)->group(kGroup);
  add_device_option(command, device)->group(kGroup);
  command.add_option("--template", chat_template, "A built-in chat template for the model's own")
      ->type_name("NAME")
      ->group(kGroup);
}

void MicroscopeArguments::add_prompt_options(CLI::App& command, const std::string& prompt_help) {
  command.add_option("-p,--prompt", prompt, prompt_help);
  command.add_option("--prefix", prefix, "What the answer begins with; the model goes on from there");
}

Microscope::Microscope(const MicroscopeArguments& arguments)
    : text_(load_model_of(arguments)),
      interp_(std::shared_ptr<const LanguageModel>(text_, &text_->model())),
      chats_(!arguments.raw && text_->chat_template()) {}

std::vector<int32_t> Microscope::tokens_of(std::string_view prompt, std::string_view prefix) const {
  const std::string text = prompt == "-" ? without_last_newline(read_input()) : std::string(prompt);
  if (text.empty() && prefix.empty()) throw Error(ErrorCode::kInvalidArgument, "there is no prompt: give one with -p");
  std::vector<int32_t> tokens;
  if (chats_) {
    jinja::Dict message;
    message.set("role", jinja::Value("user"));
    message.set("content", jinja::Value(replace_invalid_utf8(text)));
    ChatInput input;
    input.messages = jinja::Value::list({jinja::Value(std::move(message))});
    tokens = make_chat_prompt(*text_, input).tokens;
  } else {
    tokens = text_->tokenizer().encode(text);
  }
  if (!prefix.empty()) {
    EncodeOptions options;
    options.add_special = false;
    options.special = chats_ ? SpecialTokens::kAsText : SpecialTokens::kAllow;
    const std::vector<int> more = text_->tokenizer().encode(prefix, options);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  if (tokens.empty()) throw Error(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  const int64_t most = interp_.facts().max_context;
  if (most > 0 && std::ssize(tokens) > most) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the prompt has ", tokens.size(), " tokens, the model's context is ", most));
  }
  return tokens;
}

std::vector<int32_t> Microscope::with_answer(std::vector<int32_t> tokens, int64_t answer_tokens) const {
  if (answer_tokens == 0) return tokens;
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = answer_tokens;
  GeneratorOptions options;
  options.context = std::ssize(tokens) + answer_tokens;
  const int64_t most = interp_.facts().max_context;
  if (most > 0) options.context = std::min(options.context, most);
  Generator generator(text_, options);
  const GenerateResult result = generator.generate(tokens, params);
  tokens.insert(tokens.end(), result.tokens.begin(), result.tokens.end());
  return tokens;
}

int32_t Microscope::token_named(std::string_view option, std::string_view text) const {
  const Tokenizer& tokenizer = text_->tokenizer();
  if (text.size() > 1 && text[0] == '#') {
    const std::vector<int64_t> id = index_list(option, text.substr(1), interp_.facts().vocabulary);
    if (id.size() == 1) return static_cast<int32_t>(id.front());
  }
  EncodeOptions options;
  options.add_special = false;
  const std::vector<int> tokens = tokenizer.encode(text, options);
  if (tokens.size() == 1) return tokens.front();
  if (const auto id = tokenizer.id_of(text)) return *id;
  if (tokens.empty()) throw Error(ErrorCode::kInvalidArgument, cat(option, " names no token"));
  throw Error(ErrorCode::kInvalidArgument,
              cat(option, " is one token, but ", in_quotes(text), " is ", tokens.size(), ": ", spelled(tokens),
                  "; name one of them, or its number as #", tokens.front()));
}

std::string Microscope::label(int32_t token) const {
  const std::string label = token_label(text_->tokenizer().bytes(token));
  return label.empty() ? cat("#", token) : label;
}

std::vector<std::string> Microscope::labels(std::span<const int32_t> tokens) const {
  std::vector<std::string> out;
  for (const int32_t token : tokens) out.push_back(label(token));
  return out;
}

std::string Microscope::spelled(std::span<const int32_t> tokens) const {
  std::string out;
  for (const int32_t token : tokens) out += cat(out.empty() ? "" : "|", label(token));
  return out;
}

HeatAxis Microscope::position_axis(std::span<const int32_t> tokens, std::span<const int64_t> positions) const {
  HeatAxis axis;
  axis.title = "position";
  for (const int64_t position : positions) {
    axis.numbers.push_back(cat(position));
    axis.labels.push_back(label(tokens[static_cast<size_t>(position)]));
  }
  return axis;
}

nlohmann::ordered_json Microscope::token_json(int32_t token) const {
  return {{"id", token}, {"text", replace_invalid_utf8(text_->tokenizer().bytes(token))}};
}

nlohmann::ordered_json Microscope::tokens_json(std::span<const int32_t> tokens) const {
  auto out = nlohmann::ordered_json::array();
  for (const int32_t token : tokens) out.push_back(token_json(token));
  return out;
}

MicroscopeReport Microscope::new_report(std::string title, std::span<const int32_t> tokens) const {
  const InterpFacts& facts = interp_.facts();
  MicroscopeReport report;
  report.title = cat(title, " of ", visible_passage(text_->name()));
  report.facts = {{"model", cat(visible_passage(text_->name()), ": ", facts.family, ", ", facts.layers, " layers",
                                facts.heads > 0 ? cat(" of ", facts.heads, " heads") : "")}};
  report.json = {{"model", text_->name()}, {"family", facts.family}, {"layers", facts.layers}};
  if (!tokens.empty()) {
    report.facts.emplace_back("text", spelled(tokens));
    report.json["tokens"] = tokens_json(tokens);
  }
  return report;
}

SweepProgress SweepBar::progress() {
  return [this](int64_t done, int64_t total) {
    if (!bar_) bar_ = std::make_unique<ProgressBar>(total, ProgressUnit::kRuns, ProgressBar::kQuiet);
    bar_->show(done, what_);
  };
}

}  // namespace wick
