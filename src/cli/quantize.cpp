#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/bench/plan_names.h"
#include "cli/commands.h"
#include "cli/models/named_model.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress_bar.h"
#include "embed/sentence_folder.h"
#include "formats/quantize/quantize_model.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

struct QuantizeArguments {
  std::string in, out, type, imatrix;
  bool force = false, json = false;
};

constexpr std::string_view kOnlyInMemory = "int8";  // GGUF has no type for it

std::vector<std::string_view> type_names() {
  std::vector<std::string_view> names = QuantizePlan::names();
  std::erase(names, kOnlyInMemory);
  return names;
}

// Empty when it is one; in capitals will do, too.
std::string check_type(std::string& type) { return check_plan_name(type, type_names()); }

struct Interrupted {};

void check_output(const QuantizeArguments& arguments, const Checkpoint& source) {
  const fs::path out = arguments.out;
  std::error_code ignored;
  if (out.extension() == ".safetensors") {
    throw Error(ErrorCode::kInvalidArgument, cat(out, ": wick quantize writes GGUF; name the output '.gguf'"));
  }
  for (const auto& file : source.files()) {
    if (fs::equivalent(file->path(), out, ignored)) {
      throw Error(ErrorCode::kInvalidArgument, cat(out, ": is the model to be read; name another output"));
    }
  }
  if (!arguments.force && fs::exists(out, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, cat(out, ": exists already; --force replaces it"));
  }
}

// How an encoder's rows become a vector, which its folder says beside the model.
void add_pooling(const Checkpoint& from, GgufModel& model) {
  if (from.kind() == Checkpoint::Kind::kGguf) return;
  const SentenceFolder settings = SentenceFolder::read(from.folder());
  const auto number = gguf_pooling(settings.pooling);
  if (!number || !settings.dense.empty()) {
    throw Error(ErrorCode::kUnsupported,
                cat(from.folder(), ": GGUF has no place for ",
                    number ? "Dense modules" : cat("the pooling '", to_string(settings.pooling), "'")));
  }
  model.metadata.set_u32("bert.pooling_type", static_cast<uint32_t>(*number));
  if (!settings.normalizes) {
    model.notes.emplace_back("vectors of the folder are not normalised, those of GGUF files are");
  }
  if (!settings.prompts.empty()) model.notes.emplace_back("GGUF has no place for the prompts of the folder");
}

int64_t source_bytes(const GgufModel::Item& item) { return bytes_of(item.tensor.dtype, item.tensor.shape.numel()); }

int quantize(const QuantizeArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const WeightSource source(Checkpoint::open(model_path(arguments.in)));
  check_output(arguments, source.checkpoint());
  std::optional<Importance> importance;
  if (!arguments.imatrix.empty()) importance = Importance::load(arguments.imatrix);
  const Importance* weights = importance ? &*importance : nullptr;
  GgufModel model = plan_gguf_model(source, QuantizePlan::named(arguments.type), weights);
  if (source.architecture() == "bert") add_pooling(source.checkpoint(), model);
  for (const std::string& note : model.notes) std::cerr << "wick: note: " << note << "\n";

  int64_t total = 0, done = 0;
  for (const GgufModel::Item& item : model.items) total += source_bytes(item);
  const InterruptWatch watch;
  try {
    ProgressBar bar(total);
    int64_t next = 0;
    write_gguf_model(model, source, weights, arguments.out, [&](const GgufModel::Item& item, int64_t part) {
      if (watch.signal()) throw Interrupted();
      if (part == 0) done += std::exchange(next, source_bytes(item));
      bar.show(done + part, item.tensor.name);
    });
  } catch (const Interrupted&) {
    std::cerr << "wick: interrupted; nothing was written\n";
    return 128 + watch.signal();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double bits =
      8.0 * static_cast<double>(model.bytes) / static_cast<double>(std::max<int64_t>(1, model.weights()));
  if (arguments.json) {
    const nlohmann::ordered_json report = {
        {"path", arguments.out}, {"type", arguments.type},  {"tensors", model.items.size()}, {"bytes_before", total},
        {"bytes", model.bytes},  {"bits_per_weight", bits}, {"notes", model.notes},          {"seconds", seconds}};
    std::cout << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return 0;
  }
  std::cout << fmt::format("{}: {} tensors, {} -> {}, {}, {:.2f} bits per weight, in {:.1f} s\n", arguments.out,
                           model.items.size(), bytes_text(total), bytes_text(model.bytes), arguments.type, bits,
                           seconds);
  return 0;
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("quantize", "Write a model as a GGUF file with smaller weights");
  const auto arguments = std::make_shared<QuantizeArguments>();
  command
      ->add_option("IN", arguments->in, "The model: a Hugging Face folder, a .safetensors or a .gguf file, or Org/Name")
      ->required();
  command->add_option("OUT", arguments->out, "The GGUF file to write")->required();
  command->add_option("--type", arguments->type, "The type of the weights, e.g. q4_k_m")
      ->required()
      ->transform(CLI::Validator(check_type, "TYPE"));
  command->add_option("--imatrix", arguments->imatrix,
                      "An importance matrix of llama.cpp for this model (.gguf or .dat)");
  command->add_flag("--force", arguments->force, "Replace OUT when it exists");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Writes names, settings, tokenizer and chat template as llama.cpp reads them. Norms and other small tensors "
      "keep\n"
      "their precision; the _s, _m and _l mixes spend more bits where they matter. OUT appears only when it is "
      "complete.\n\n"
      "Types: " +
      listed(type_names()) +
      "\n(auto keeps the types of the model, none undoes packing)\n\n"
      "Examples:\n"
      "  wick quantize models/Qwen3-0.6B qwen3-0.6b-q4_k_m.gguf --type q4_k_m\n"
      "  wick quantize qwen3-f16.gguf qwen3-q8_0.gguf --type q8_0\n"
      "  wick quantize models/Qwen3-8B qwen3-8b-q3_k_m.gguf --type q3_k_m --imatrix qwen3-8b.imatrix.gguf");
  command->callback([&action, arguments] { action = [arguments] { return quantize(*arguments); }; });
}

}  // namespace wick
