#include "interp/steering.h"

#include <functional>
#include <memory>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/text.h"
#include "cli/chat/prompt_lines.h"
#include "cli/commands.h"
#include "cli/microscope/microscope.h"
#include "cli/microscope/token_label.h"
#include "cli/shared_options.h"
#include "engine/text/generator.h"
#include "interp/probes/sparse_autoencoder.h"
#include "interp/probes/vocab_row.h"
#include "interp/run_with_cache.h"
#include "ops/view.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

using nlohmann::ordered_json;

struct SteerArguments : MicroscopeArguments {
  std::string positive_file, negative_file, save, load, point = "resid_post", row = "last", label, sae;
  std::vector<std::string> positive, negative;
  std::vector<double> strengths;
  int64_t layer = -1, feature = -1, top = 8, max_tokens = 80;
  bool off = false;
};

std::vector<std::vector<int32_t>> texts_of(const Microscope& microscope, std::vector<std::string> prompts,
                                           const std::string& file, const std::string& prefix) {
  if (!file.empty()) {
    const std::vector<std::string> lines = read_lines(file);
    prompts.insert(prompts.end(), lines.begin(), lines.end());
  }
  std::vector<std::vector<int32_t>> texts;
  for (const std::string& prompt : prompts) texts.push_back(microscope.tokens_of(prompt, prefix));
  return texts;
}

SteeringVector make_vector(const SteerArguments& arguments, const Microscope& microscope) {
  const auto positive = texts_of(microscope, arguments.positive, arguments.positive_file, arguments.prefix);
  const auto negative = texts_of(microscope, arguments.negative, arguments.negative_file, arguments.prefix);
  if (positive.empty() || negative.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "a steering vector needs prompts of both kinds: --positive and --negative files, or -P and -N texts");
  }
  const int layer = arguments.layer < 0 ? microscope.layers() / 2 : static_cast<int>(arguments.layer);
  check_layer(microscope.interp(), layer);
  const TextRow row = arguments.row == "mean" ? TextRow::kMean : TextRow::kLast;
  SteeringVector vector = steering_vector(microscope.interp(), positive, negative,
                                          hook_name(point_named("--point", arguments.point), layer), row);
  vector.label = arguments.label;
  return vector;
}

// The tokens that a direction of the residual stream makes likelier and less likely, read through the output alone.
void add_direction(MicroscopeReport& report, const Microscope& microscope, const Tensor& direction, int64_t top) {
  if (direction.numel() != microscope.interp().facts().hidden) return;
  std::vector<float> logits =
      microscope.interp().project_to_vocab(reshape(direction, {1, direction.numel()}), false).to_vector<float>();
  ListTable list;
  list.title = "What the direction says by itself";
  list.headings = {"likelier", "less likely"};
  list.left = true;
  const std::vector<int32_t> up = VocabRow(logits).best(top);
  for (float& logit : logits) logit = -logit;
  const std::vector<int32_t> down = VocabRow(logits).best(top);
  for (size_t i = 0; i < up.size(); ++i) list.rows.push_back({microscope.label(up[i]), microscope.label(down[i])});
  report.sections.emplace_back(std::move(list));
  report.json["likelier"] = microscope.tokens_json(up);
  report.json["less_likely"] = microscope.tokens_json(down);
}

std::string answer_of(const Microscope& microscope, std::span<const int32_t> tokens, const HookSpec& hooks,
                      int64_t most, FunctionRef<void()> each_token) {
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = most;
  params.hooks = hooks;
  GeneratorOptions options;
  const int64_t limit = microscope.interp().facts().max_context, wanted = std::ssize(tokens) + most;
  options.context = limit > 0 ? std::min(limit, wanted) : wanted;
  Generator generator(microscope.shared_text_model(), options);
  const auto hear = [&](const GenerateEvent& event) {
    if (event.kind == GenerateEvent::Kind::kToken) each_token();
    return true;
  };
  return generator.generate(tokens, params, hear).text;
}

// The answer as it is, and at each strength. `edit` adds to the hooks.
void add_answers(MicroscopeReport& report, const Microscope& microscope, const SteerArguments& arguments,
                 const std::function<void(HookSpec&, double)>& edit) {
  const std::vector<int32_t> tokens = microscope.tokens_of(arguments.prompt, arguments.prefix);
  const int64_t most = (std::ssize(arguments.strengths) + 1) * arguments.max_tokens;
  ProgressBar bar(most, ProgressUnit::kTokens, ProgressBar::kQuiet);
  int64_t done = 0;
  const auto add = [&](const std::string& title, const HookSpec& hooks, ordered_json json) {
    const std::string answer =
        answer_of(microscope, tokens, hooks, arguments.max_tokens, [&] { bar.show(++done, "answering"); });
    report.sections.emplace_back(Passage{title, visible_passage(answer)});
    json["answer"] = replace_invalid_utf8(answer);
    report.json["answers"].push_back(std::move(json));
    done = std::ssize(report.json["answers"]) * arguments.max_tokens;  // an answer may end early
  };
  add("As it is", {}, {{"strength", 0}});
  for (const double strength : arguments.strengths) {
    HookSpec hooks;
    edit(hooks, strength);
    require_points(microscope.interp(), hooks);
    add(arguments.off ? "Without the feature" : cat("With strength ", strength), hooks, {{"strength", strength}});
  }
}

void steer_by_vector(const SteerArguments& arguments, const Microscope& microscope, MicroscopeReport& report) {
  const SteeringVector vector =
      arguments.load.empty() ? make_vector(arguments, microscope) : SteeringVector::load(arguments.load);
  check_steering(microscope.interp(), vector);
  if (!arguments.save.empty()) vector.save(arguments.save);
  ListTable list;
  list.title = "Steering vector";
  list.note = visible_passage(vector.label);
  list.headings = {"point", "length"};
  list.rows = {{token_label(vector.point), short_number(vector.length())}};
  report.sections.emplace_back(std::move(list));
  report.json["vector"] = {{"point", vector.point}, {"length", vector.length()}, {"label", vector.label}};
  add_direction(report, microscope, vector.vector, arguments.top);
  if (arguments.prompt.empty()) return;
  add_answers(report, microscope, arguments,
              [&](HookSpec& hooks, double strength) { vector.apply(hooks, static_cast<float>(strength)); });
}

// Which features each token of the prompt has.
void add_features(MicroscopeReport& report, const Microscope& microscope, const SteerArguments& arguments,
                  const SparseAutoencoder& sae) {
  const std::vector<int32_t> tokens = microscope.tokens_of(arguments.prompt, arguments.prefix);
  CaptureOptions capture;
  capture.points = {sae.hook_name()};
  capture.logits = LogitRows::kNone;
  const Tensor rows = run_with_cache(microscope.interp(), tokens, capture).cache.at(sae.hook_name());
  const Tensor features = sae.encode(reshape(rows, {rows.dim(0), rows.numel() / rows.dim(0)}));
  ListTable list;
  list.title = cat("Strongest features at ", token_label(sae.hook_name()));
  list.headings = {"position", "features"};
  list.left = true;
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string found;
    ordered_json json = ordered_json::array();
    for (const SaeFeature& feature : SparseAutoencoder::strongest(features, static_cast<int64_t>(i), arguments.top)) {
      found += cat(found.empty() ? "" : ", ", feature.feature, " (", short_number(feature.value), ")");
      json.push_back({{"feature", feature.feature}, {"value", feature.value}});
    }
    list.rows.push_back({cat(i, " ", microscope.label(tokens[i])), found.empty() ? "none" : found});
    report.json["features"].push_back(std::move(json));
  }
  report.sections.emplace_back(std::move(list));
}

void steer_by_feature(const SteerArguments& arguments, const Microscope& microscope, MicroscopeReport& report) {
  const SparseAutoencoder sae = SparseAutoencoder::load(arguments.sae);
  if (arguments.feature < 0) return add_features(report, microscope, arguments, sae);
  if (arguments.feature >= sae.features()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("--feature ", arguments.feature, " is out of range: there are 0 to ", sae.features() - 1));
  }
  report.json["feature"] = arguments.feature;
  add_direction(report, microscope, sae.direction(arguments.feature), arguments.top);
  if (arguments.prompt.empty()) return;
  add_answers(report, microscope, arguments, [&](HookSpec& hooks, double strength) {
    if (arguments.off) {
      sae.ablate(hooks, {arguments.feature});
    } else {
      sae.steer(hooks, arguments.feature, static_cast<float>(strength));
    }
    check_hooks(microscope.interp(), hooks);
  });
}

int steer(SteerArguments& arguments) {
  if (arguments.strengths.empty() || arguments.off) arguments.strengths = {1};
  const Microscope microscope(arguments);
  MicroscopeReport report = microscope.new_report("Steering", {});
  if (!arguments.prompt.empty()) report.facts.emplace_back("prompt", visible_passage(arguments.prompt));
  if (arguments.sae.empty()) {
    steer_by_vector(arguments, microscope, report);
  } else {
    steer_by_feature(arguments, microscope, report);
  }
  show_report(report, arguments);
  return 0;
}

}  // namespace

void add_steer(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("steer", "Push a model's answers in a direction");
  const auto arguments = std::make_shared<SteerArguments>();
  arguments->add_options(*command);
  arguments->add_prompt_options(*command, "Answer this, as it is and steered");
  command->add_option("--positive", arguments->positive_file, "Prompts of the wanted kind, one per line")
      ->type_name("FILE");
  command->add_option("--negative", arguments->negative_file, "Prompts of the other kind, one per line")
      ->type_name("FILE");
  const auto texts = [&](const char* name, std::vector<std::string>& into, const char* help) {
    command->add_option(name, into, help)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  texts("-P", arguments->positive, "A prompt of the wanted kind; may be repeated");
  texts("-N", arguments->negative, "A prompt of the other kind; may be repeated");
  command->add_option("--layer", arguments->layer, "Where to steer (default: the layer in the middle)")
      ->type_name("NUMBER");
  command->add_option("--point", arguments->point, "... and at which point of it (default: resid_post)")
      ->type_name("NAME");
  command->add_option("--row", arguments->row, "What stands for a prompt: its last token (default) or the mean")
      ->check(CLI::IsMember({"last", "mean"}).description(""))
      ->type_name("last|mean");
  command->add_option("--save", arguments->save, "Write the vector, as safetensors")->type_name("FILE");
  command->add_option("--label", arguments->label, "What the vector stands for; saved with it");
  command->add_option("--load", arguments->load, "Use a vector that was saved")->type_name("FILE");
  command->add_option("--sae", arguments->sae, "Use a sparse autoencoder, as SAELens stores it")->type_name("FOLDER");
  command->add_option("--feature", arguments->feature, "... and this feature of it (default: list them for -p)")
      ->check(count_from(0))
      ->type_name("NUMBER");
  command->add_flag("--off", arguments->off, "... taking it away instead of adding it");
  command->add_option("--strength", arguments->strengths, "How far to push; several are tried in turn (default: 1)")
      ->delimiter(',')
      ->type_name("LIST");
  command->add_option("-n,--max-tokens", arguments->max_tokens, "End answers after this many tokens (default: 80)")
      ->check(count_from(1, 1000000))
      ->type_name("COUNT");
  command->add_option("--top", arguments->top, "List so many tokens or features (default: 8)")
      ->check(count_from(1, 1000))
      ->type_name("COUNT");
  command->footer(
      "The vector is the mean over positive prompts minus that over negative ones, and is added at every token. "
      "Answers\n"
      "are the likeliest ones (temperature 0).\n\n"
      "Examples:\n"
      "  wick steer -P \"Tell me a story.\" -N \"What is 2 plus 3?\" --save story.safetensors\n"
      "  wick steer --load story.safetensors --strength 0.5,1 -p \"What is 4 plus 4?\"\n"
      "  wick steer model.gguf --positive kind.txt --negative rude.txt --layer 12 --strength 2 -p \"Hello!\"\n"
      "  wick steer models/gpt2 --sae saes/blocks.8 --feature 1234 --strength 30 -p \"I think\" --raw");
  command->callback([&action, arguments] {
    const bool makes = !arguments->positive.empty() || !arguments->negative.empty() ||
                       !arguments->positive_file.empty() || !arguments->negative_file.empty();
    if (makes && !arguments->load.empty()) throw CLI::ExcludesError("--load", "--positive, --negative, -P and -N");
    if (!arguments->sae.empty() && (makes || !arguments->load.empty())) throw CLI::ExcludesError("--sae", "a vector");
    if (arguments->feature >= 0 && arguments->sae.empty()) throw CLI::RequiresError("--feature", "--sae");
    if (arguments->off && arguments->feature < 0) throw CLI::RequiresError("--off", "--feature");
    action = [arguments] { return steer(*arguments); };
  });
}

}  // namespace wick
