#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal/terminal.h"
#include "formats/architectures.h"
#include "models/encoder_decoder/encoder_decoder_config.h"
#include "models/encoders/encoder_config.h"
#include "models/registry.h"
#include "models/vision/load_vision.h"
#include "models/vision/picture_model.h"

namespace wick {
namespace {

int list_models(bool json) {
  auto rows = nlohmann::ordered_json::array();
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  table.add({{"model_type", Colour::kDim}, {"GGUF", Colour::kDim}, {"models", Colour::kDim}});
  const auto add = [&](std::string_view model_type, const std::string& title) {
    const Architecture* known = find_architecture(model_type);
    const std::string gguf = known ? std::string(known->gguf) : "";
    rows.push_back({{"model_type", model_type},
                    {"title", title},
                    {"gguf", gguf.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(gguf)}});
    table.add({{std::string(model_type)}, {gguf.empty() ? "-" : gguf}, {title}});
  };
  for (const Family& family : families()) add(family.model_type, std::string(family.title));
  for (const EncoderDecoderFamily& family : encoder_decoder_families()) {
    add(family.model_type, std::string(family.title));
  }
  for (const EncoderFamily& family : encoder_families()) {
    add(family.model_type, cat(family.title, " (wick embed)"));
  }
  const auto seeing = seeing_families();
  for (const SeeingFamily& family : seeing) add(family.model_type, cat(family.title, " (sees: --image)"));
  const auto of_pictures = picture_families();
  for (const PictureFamily& family : of_pictures) add(family.model_type, cat(family.title, " (wick see)"));
  if (json) {
    std::cout << nlohmann::ordered_json{{"families", rows}}.dump(2) << "\n";
    return 0;
  }
  std::cout << table.text(Terminal::of_stdout())
            << cat("\n",
                   families().size() + encoder_decoder_families().size() + encoder_families().size() + seeing.size() +
                       of_pictures.size(),
                   " families. Others are inferred from config.json and tensor names: ",
                   "`wick inspect` says whether a model fits.\n");
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("models", "List the families of models that Wick knows");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object");
  command->footer(
      "model_type is what a model's config.json says, GGUF what general.architecture says.\n\n"
      "Examples:\n"
      "  wick models\n"
      "  wick models --json");
  command->callback([&action, json] { action = [json] { return list_models(*json); }; });
}

}  // namespace wick
