// wick fill: what stands where a text has a mask.
#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/embed/embed_texts.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/terminal/terminal.h"
#include "embed/masked_model.h"

namespace wick {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct FillArguments : TextsArguments {
  std::string model, quantize = "auto", device = "cpu";
  int64_t top = 5;
  int threads = 0;
  bool layers = false, json = false;
};

std::string token_text(const MaskedModel& model, int32_t token) {
  const std::string text = model.tokenizer().bytes(token);
  return text.empty() ? std::string(model.tokenizer().piece(token)) : text;
}

OrderedJson guesses_json(const MaskedModel& model, const std::vector<Guess>& guesses) {
  OrderedJson list = OrderedJson::array();
  for (const Guess& guess : guesses) {
    list.push_back(
        {{"token", guess.token}, {"text", token_text(model, guess.token)}, {"probability", guess.probability}});
  }
  return list;
}

void print_filled(const OrderedJson& json) {
  std::cout << json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

std::string guesses_text(const MaskedModel& model, const std::vector<Guess>& guesses) {
  std::string row;
  for (const Guess& guess : guesses) {
    row += fmt::format("  {:5.1f} % {:<12}", 100 * guess.probability, printable(token_text(model, guess.token), 12));
  }
  return row;
}

void fill_one(const MaskedModel& model, const std::string& text, const EncoderInput& input,
              const FillArguments& arguments) {
  const auto most = static_cast<size_t>(arguments.top);
  const auto masks = model.fill(input, most);
  if (arguments.json) {
    OrderedJson list = OrderedJson::array();
    for (const auto& guesses : masks) list.push_back(guesses_json(model, guesses));
    OrderedJson object = {{"text", text}, {"masks", list}};
    if (arguments.layers) {
      object["layers"] = OrderedJson::array();
      for (const auto& layer : model.lens(input, most)) {
        OrderedJson row = OrderedJson::array();
        for (const auto& guesses : layer) row.push_back(guesses_json(model, guesses));
        object["layers"].push_back(row);
      }
    }
    return print_filled(object);
  }
  fmt::print("{}\n", printable(text, 100));
  if (!arguments.layers) {
    for (const auto& guesses : masks) fmt::print("{}\n", guesses_text(model, guesses));
    return;
  }
  const auto layers = model.lens(input, most);
  for (size_t mask = 0; mask < masks.size(); ++mask) {
    if (masks.size() > 1) fmt::print("mask {}\n", mask + 1);
    for (size_t i = 0; i < layers.size(); ++i) {
      const std::string name = i == 0 ? "embeddings" : cat("layer ", i);
      fmt::print("  {:<10}{}\n", name, guesses_text(model, layers[i][mask]));
    }
  }
}

int fill(const FillArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  ModelOptions options;
  options.quantize = arguments.quantize;
  options.device = device_named(arguments.device);
  options.notice = warn;
  const auto model = MaskedModel::load(model_path(arguments.model), options);
  const std::vector<std::string> texts = texts_of(arguments);
  std::vector<EncoderInput> inputs;
  for (size_t i = 0; i < texts.size(); ++i) {
    inputs.push_back(read_text_at(i, texts.size(), arguments, [&] { return model->read(texts[i]); }));
  }
  for (size_t i = 0; i < texts.size(); ++i) fill_one(*model, texts[i], inputs[i], arguments);
  return 0;
}

}  // namespace

void add_fill(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("fill", "Say what stands where a text has a mask");
  const auto arguments = std::make_shared<FillArguments>();
  command->add_option("MODEL", arguments->model, "A Hugging Face folder or Org/Name of a masked language model")
      ->required();
  add_texts_options(*command, *arguments, "TEXT", "Texts with a mask in each: [MASK] or <mask>, as the model spells it",
                    false);
  command->add_option("--top", arguments->top, "How many tokens for each mask")
      ->check(count_from(1))
      ->type_name("COUNT")
      ->capture_default_str();
  command->add_flag("--layers", arguments->layers, "Show what each layer would say already (logit lens)");
  add_quantize_option(*command, arguments->quantize);
  add_threads_option(*command, arguments->threads);
  add_device_option(*command, arguments->device);
  command->add_flag("--json", arguments->json, "Print one JSON object per text");
  command->footer(
      "Examples:\n"
      "  wick fill models/bert-base-uncased \"Paris is the [MASK] of France.\"\n"
      "  wick fill models/ModernBERT-base \"Paris is the [MASK] of France.\" --layers --top 3");
  command->callback([&action, arguments] {
    check_has_texts(*arguments, "TEXT");
    action = [arguments] { return fill(*arguments); };
  });
}

}  // namespace wick
