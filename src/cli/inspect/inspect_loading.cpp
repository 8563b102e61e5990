// What `wick inspect` says on whether a model can be run.
#include "base/error.h"
#include "base/text.h"
#include "cli/inspect/inspect_report.h"
#include "cli/inspect/inspect_values.h"
#include "models/encoder_decoder/encoder_decoder_config.h"
#include "models/encoders/text_encoder.h"
#include "speech/ctc/wav2vec2.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/whisper/whisper.h"

namespace wick {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kMostLines = 12;  // of each kind
constexpr int kMostName = 120;

OrderedJson shape_json(const Shape& shape) {
  OrderedJson out = OrderedJson::array();
  for (int i = 0; i < shape.rank(); ++i) out.push_back(shape[i]);
  return out;
}

std::string family_text(const ModelPlan& plan) {
  std::string type = printable(plan.family, 60);
  if (!plan.inferred) return type;
  return cat("inferred from config.json and tensor names",
             type.empty() ? "" : cat("; the model_type '", type, "' is not known"));
}

// Lines of one kind, the first ones in full.
template <typename Item, typename Line>
void add_lines(Table& table, std::string_view kind, const std::vector<Item>& items, const Line& line) {
  for (size_t i = 0; i < items.size() && i < kMostLines; ++i) {
    table.add({{i == 0 ? cat("  ", kind) : ""}, {line(items[i]), Colour::kWarn}});
  }
  if (items.size() > kMostLines) table.add({{""}, {cat("and ", items.size() - kMostLines, " more"), Colour::kWarn}});
}

ModelPlan plan_any(const Checkpoint& checkpoint) {
  ModelOptions options;
  options.context = 1;  // nothing is computed
  const WeightSource source(checkpoint);
  const Json& config = checkpoint.config();
  if (is_qwen3_asr(config)) return Qwen3Asr::plan(source, options);
  if (is_whisper(config)) return Whisper::plan(source, options);
  if (is_wav2vec2(config)) return Wav2Vec2::plan(source, options);
  const Json& settings = source.config();  // of a GGUF file, too
  const bool is_encoder = is_encoder_config(settings);
  if (is_encoder && !is_encoder_decoder(source)) return TextEncoder::plan(source, options);
  return plan_model(source, options);
}

}  // namespace

LoadOutlook load_outlook(const Checkpoint& checkpoint) {
  LoadOutlook outlook;
  try {
    outlook.plan = plan_any(checkpoint);
  } catch (const Error& error) {
    outlook.reason = error.what();
  }
  return outlook;
}

std::string to_text(const LoadOutlook& outlook, const Terminal& terminal) {
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  if (!outlook.plan) {
    table.add({{"  not possible"}, {printable(outlook.reason), Colour::kWarn}});
    return table.text(terminal);
  }
  const PreflightReport& found = outlook.plan->preflight;
  table.add({{"  family"}, {family_text(*outlook.plan)}});
  const std::string wanted = grouped_digits(found.wanted);
  if (found.ok()) {
    table.add({{"  tensors"}, {cat("all ", wanted, " that it needs are there"), Colour::kGood}});
    return table.text(terminal);
  }
  const auto there = found.wanted - static_cast<int64_t>(found.missing.size() + found.mismatched.size());
  table.add(
      {{"  tensors"}, {cat(grouped_digits(there), " of the ", wanted, " that it needs are there"), Colour::kBad}});
  add_lines(table, "missing", found.missing, [](const PreflightReport::Missing& item) {
    return cat(printable(item.wanted.name, kMostName), " ", item.wanted.shape,
               item.nearest.empty() ? "" : cat("; did you mean '", printable(item.nearest, kMostName), "'?"));
  });
  add_lines(table, "other shape", found.mismatched, [](const PreflightReport::Mismatch& item) {
    return cat(printable(item.wanted.name, kMostName), " is ", item.found, ", but the settings make it ",
               item.wanted.shape);
  });
  add_lines(table, "not used", found.unused, [](const std::string& name) { return printable(name, kMostName); });
  return table.text(terminal);
}

OrderedJson to_json(const LoadOutlook& outlook) {
  OrderedJson out = {{"ok", outlook.ok()},
                     {"reason", outlook.reason.empty() ? OrderedJson() : OrderedJson(outlook.reason)}};
  if (!outlook.plan) return out;
  const PreflightReport& found = outlook.plan->preflight;
  OrderedJson missing = OrderedJson::array(), mismatched = OrderedJson::array();
  for (const PreflightReport::Missing& item : found.missing) {
    missing.push_back({{"name", item.wanted.name},
                       {"shape", shape_json(item.wanted.shape)},
                       {"nearest", item.nearest.empty() ? OrderedJson() : OrderedJson(item.nearest)}});
  }
  for (const PreflightReport::Mismatch& item : found.mismatched) {
    mismatched.push_back(
        {{"name", item.wanted.name}, {"shape", shape_json(item.wanted.shape)}, {"found", shape_json(item.found)}});
  }
  out["family"] = outlook.plan->family;
  out["inferred"] = outlook.plan->inferred;
  out["wanted"] = found.wanted;
  out["missing"] = missing;
  out["mismatched"] = mismatched;
  out["unused"] = found.unused;
  return out;
}

}  // namespace wick
