#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/microscope/microscope.h"
#include "cli/microscope/probe_data.h"
#include "cli/microscope/token_label.h"
#include "cli/shared_options.h"
#include "interp/probes/linear_probe.h"
#include "interp/text_rows.h"

namespace wick {
namespace {

using nlohmann::ordered_json;

struct ProbeArguments : MicroscopeArguments {
  std::string data, layers, point = "resid_post", row, save, load;
  int64_t steps = 300, seed = 1;
  double test_share = 0.25;
};

std::vector<std::vector<int32_t>> tokens_of(const Microscope& microscope, const std::vector<std::string>& texts) {
  std::vector<std::vector<int32_t>> out;
  for (const std::string& text : texts) out.push_back(microscope.tokens_of(text));
  return out;
}

MicroscopeReport train(const ProbeArguments& arguments, const Microscope& microscope) {
  const ProbeData data = ProbeData::load(arguments.data, true);
  if (data.names.size() < 2) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(arguments.data, ": all lines have the same label; there is nothing to tell apart"));
  }
  std::vector<int> layers = int_list("--layers", arguments.layers, microscope.layers());
  if (layers.empty()) {
    layers.resize(static_cast<size_t>(microscope.layers()));
    std::iota(layers.begin(), layers.end(), 0);
  }
  const HookPoint point = point_named("--point", arguments.point);
  std::vector<std::string> points;
  for (const int layer : layers) points.push_back(hook_name(point, layer));
  const TextRow row = text_row_named(arguments.row).value_or(TextRow::kLast);
  SweepBar bar("reading texts");
  const std::vector<Tensor> rows =
      text_rows(microscope.interp(), tokens_of(microscope, data.texts), points, row, bar.progress());

  ProbeOptions options;
  options.steps = arguments.steps;
  options.seed = static_cast<uint64_t>(arguments.seed);
  options.test_share = arguments.test_share;
  MicroscopeReport report = microscope.new_report("Probes", {});
  HeatTable table;
  table.title =
      cat("Linear probes of ", short_name(point), ", ", data.texts.size(), " texts, ", data.names.size(), " labels");
  table.rows = layer_axis();
  table.rows.numbers = numbers_text(layers);
  table.columns.labels = {"held out", "trained on", "loss"};
  std::string names;
  for (const std::string& name : data.names) names += cat(names.empty() ? "" : ", ", visible_passage(name));
  report.facts.emplace_back("labels", names);
  report.json["point"] = short_name(point);
  report.json["row"] = to_string(row);
  report.json["labels"] = data.names;
  report.json["guessing"] = data.largest_share();
  int best = -1;
  double best_accuracy = -1;
  SweepBar training("training probes");
  const SweepProgress trained = training.progress();
  for (size_t i = 0; i < layers.size(); ++i) {
    trained(static_cast<int64_t>(i), std::ssize(layers));
    ProbeReport result;
    LinearProbe probe = LinearProbe::train(rows[i], data.labels, std::ssize(data.names), options, &result);
    const double accuracy = result.test_rows > 0 ? result.test_accuracy : result.train_accuracy;
    table.cells.push_back({result.test_rows > 0 ? percent_text(result.test_accuracy) : "", result.test_accuracy, ""});
    table.cells.push_back({percent_text(result.train_accuracy), 0, ""});
    table.cells.push_back({short_number(result.train_loss), 0, ""});
    report.json["probes"].push_back({{"layer", layers[i]},
                                     {"train_rows", result.train_rows},
                                     {"test_rows", result.test_rows},
                                     {"train_accuracy", result.train_accuracy},
                                     {"test_accuracy", result.test_accuracy},
                                     {"train_loss", result.train_loss}});
    table.note = cat("share of right answers on ", result.test_rows, " held-out and ", result.train_rows,
                     " training texts; always the commonest label: ", percent_text(data.largest_share()));
    if (accuracy <= best_accuracy) continue;
    best_accuracy = accuracy;
    best = layers[i];
    if (arguments.save.empty()) continue;
    probe.point = points[i];
    probe.row = row;
    probe.labels = data.names;
    probe.save(arguments.save);
  }
  report.json["best_layer"] = best;
  report.sections.emplace_back(std::move(table));
  return report;
}

std::string one_line(const std::string& text) {
  std::string line = visible_passage(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

MicroscopeReport classify(const ProbeArguments& arguments, const Microscope& microscope) {
  constexpr int kTextColumns = 50;
  const LinearProbe probe = LinearProbe::load(arguments.load);
  if (probe.point.empty()) {
    throw Error(ErrorCode::kBadFile, cat(arguments.load, ": the probe does not say which point it reads"));
  }
  ProbeData data;
  if (!arguments.data.empty()) data = ProbeData::load(arguments.data, false);
  if (!arguments.prompt.empty()) {
    data.texts.push_back(arguments.prompt);
    data.labels.clear();
  }
  if (data.texts.empty()) throw Error(ErrorCode::kInvalidArgument, "there is nothing to classify: give -p or --data");
  const std::optional<TextRow> wanted = text_row_named(arguments.row);
  if (wanted && probe.row && *wanted != *probe.row) {
    throw Error(ErrorCode::kInvalidArgument, cat(arguments.load, ": the probe was trained with --row ",
                                                 to_string(*probe.row), ", not ", to_string(*wanted)));
  }
  const TextRow row = probe.row.value_or(wanted.value_or(TextRow::kLast));
  SweepBar bar("reading texts");
  const Tensor rows =
      text_rows(microscope.interp(), tokens_of(microscope, data.texts), std::span(&probe.point, 1), row, bar.progress())
          .front();
  const std::vector<float> shares = probe.probabilities(rows).to_vector<float>();
  const std::vector<int64_t> guesses = probe.classify(rows);
  const auto name = [&](int64_t label) {
    return probe.labels.empty() ? cat(label) : probe.labels[static_cast<size_t>(label)];
  };
  MicroscopeReport report = microscope.new_report("Probe", {});
  report.json["point"] = probe.point;
  report.json["row"] = to_string(row);
  ListTable list;
  list.title = cat("What the probe at ", token_label(probe.point), " says");
  list.headings = {"text", "label", "probability"};
  list.left = true;
  int64_t right = 0;
  for (size_t i = 0; i < data.texts.size(); ++i) {
    const float share = shares[i * static_cast<size_t>(probe.classes()) + static_cast<size_t>(guesses[i])];
    list.rows.push_back(
        {fit_columns(one_line(data.texts[i]), kTextColumns), visible_passage(name(guesses[i])), percent_text(share)});
    report.json["texts"].push_back({{"text", data.texts[i]}, {"label", name(guesses[i])}, {"probability", share}});
    if (!data.labels.empty() && data.names[static_cast<size_t>(data.labels[i])] == name(guesses[i])) ++right;
  }
  if (!data.labels.empty()) {
    const double accuracy = static_cast<double>(right) / static_cast<double>(data.texts.size());
    list.note = cat(right, " of ", data.texts.size(), " as labelled (", percent_text(accuracy), ")");
    report.json["accuracy"] = accuracy;
  }
  report.sections.emplace_back(std::move(list));
  return report;
}

int probe(const ProbeArguments& arguments) {
  const Microscope microscope(arguments);
  const MicroscopeReport report =
      arguments.load.empty() ? train(arguments, microscope) : classify(arguments, microscope);
  show_report(report, arguments);
  return 0;
}

}  // namespace

void add_probe(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("probe", "Find the layer where something can be read off a model");
  const auto arguments = std::make_shared<ProbeArguments>();
  arguments->add_options(*command);
  command
      ->add_option("--data", arguments->data, "Lines of text, a tab and a label, or of {\"text\": ..., \"label\": ...}")
      ->type_name("FILE");
  command->add_option("--layers", arguments->layers, "Which layers (default: all)")->type_name("LIST");
  command->add_option("--point", arguments->point, "Which point of them (default: resid_post)")->type_name("NAME");
  command
      ->add_option("--row", arguments->row,
                   "What stands for a text: its last token (default) or the mean; --load knows it")
      ->check(CLI::IsMember({"last", "mean"}).description(""))
      ->type_name("last|mean");
  command->add_option("--held-out", arguments->test_share, "Share of the texts that is not trained on (default: 0.25)")
      ->check(CLI::Range(0.0, 0.9).description(""))
      ->type_name("SHARE");
  command->add_option("--steps", arguments->steps, "Of training (default: 300)")
      ->check(count_from(1, 1000000))
      ->type_name("COUNT");
  command->add_option("--seed", arguments->seed, "Chooses what is held out (default: 1)")
      ->check(count_from(0))
      ->type_name("NUMBER");
  command->add_option("--save", arguments->save, "Write the best layer's probe, as safetensors")->type_name("FILE");
  command->add_option("--load", arguments->load, "Classify -p or --data with a probe that was saved")
      ->type_name("FILE");
  command->add_option("-p,--prompt", arguments->prompt, "With --load: the text to classify");
  command->footer(
      "A linear classifier is trained on what one point of each layer holds, and tried on texts that it has not "
      "seen.\n\n"
      "Examples:\n"
      "  wick probe --data questions.tsv\n"
      "  wick probe models/Qwen3-0.6B --data moods.jsonl --row mean --save mood.safetensors\n"
      "  wick probe models/Qwen3-0.6B --load mood.safetensors -p \"What a day!\"");
  command->callback([&action, arguments] {
    if (arguments->data.empty() && arguments->load.empty()) throw CLI::RequiredError("--data");
    if (!arguments->prompt.empty() && arguments->load.empty()) throw CLI::RequiresError("--prompt", "--load");
    action = [arguments] { return probe(*arguments); };
  });
}

}  // namespace wick
