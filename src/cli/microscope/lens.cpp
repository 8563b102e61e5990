#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/microscope/lens_report.h"
#include "cli/shared_options.h"

namespace wick {
namespace {

struct LensArguments : MicroscopeArguments {
  std::string layers, positions, point, show = "token", tuned, attribution, token, other;
  std::vector<std::string> follow;
  int64_t top = 0, answer_tokens = 0;
  bool norms = false, loss = false;
};

LensShow show_of(const std::string& name) {
  if (name == "probability") return LensShow::kProbability;
  if (name == "entropy") return LensShow::kEntropy;
  return name == "kl" ? LensShow::kKl : LensShow::kToken;
}

// What enters the layers and what leaves the last, or one point of each layer.
std::vector<std::string> points_of(const LensArguments& arguments, int layers) {
  std::vector<std::string> points;
  const bool stream = arguments.point.empty();
  const HookPoint point = stream ? HookPoint::kResidPre : point_named("--point", arguments.point);
  const std::string all = cat("0-", stream ? layers : layers - 1);
  const std::string& asked = arguments.layers.empty() ? all : arguments.layers;
  for (const int layer : int_list("--layers", asked, stream ? layers + 1 : layers)) {
    points.push_back(layer == layers ? hook_name(HookPoint::kResidPost, layers - 1) : hook_name(point, layer));
  }
  return points;
}

AttributionTarget target_of(const LensArguments& arguments, const Microscope& microscope, const LensMap& map) {
  AttributionTarget target;
  target.position = map.positions.back();
  target.token = arguments.token.empty() ? map.at(map.points.size() - 1, map.positions.size() - 1).top.front().token
                                         : microscope.token_named("--token", arguments.token);
  if (!arguments.other.empty()) target.other = microscope.token_named("--other", arguments.other);
  return target;
}

int lens(const LensArguments& arguments) {
  constexpr int64_t kHoverTokens = 5, kLargest = 12;
  const Microscope microscope(arguments);
  const LanguageInterp& model = microscope.interp();
  const std::vector<int32_t> tokens =
      microscope.with_answer(microscope.tokens_of(arguments.prompt, arguments.prefix), arguments.answer_tokens);
  std::unique_ptr<TunedLens> tuned;
  if (!arguments.tuned.empty()) {
    tuned = std::make_unique<TunedLens>(TunedLens::load(arguments.tuned, microscope.layers(), model.facts().hidden));
  }
  LensOptions options;
  options.points = points_of(arguments, microscope.layers());
  options.positions = index_list("--positions", arguments.positions, std::ssize(tokens));
  options.top = arguments.top > 0 ? arguments.top : kHoverTokens;
  options.tuned = tuned.get();
  for (const std::string& text : arguments.follow) options.follow.push_back(microscope.token_named("--follow", text));
  std::optional<SweepBar> bar("reading layers");
  options.progress = bar->progress();
  const LensMap map = logit_lens(model, tokens, options);
  bar.reset();

  MicroscopeReport report = microscope.new_report("Logit lens", tokens);
  add_lens_grid(report, microscope, tokens, map, show_of(arguments.show));
  if (arguments.top > 0) add_lens_ladder(report, microscope, tokens, map, map.positions.size() - 1);
  if (arguments.norms) add_norms(report, microscope, tokens, map.positions);
  if (arguments.loss) add_losses(report, microscope, tokens, map.positions);
  if (!arguments.attribution.empty()) {
    const AttributeBy by = arguments.attribution == "head"     ? AttributeBy::kHead
                           : arguments.attribution == "neuron" ? AttributeBy::kNeuron
                                                               : AttributeBy::kLayer;
    const int64_t largest = arguments.top > 0 ? arguments.top : kLargest;
    add_attribution(report, microscope, tokens, target_of(arguments, microscope, map), by, largest);
  }
  show_report(report, arguments);
  return 0;
}

}  // namespace

void add_lens(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("lens", "Show what a model would say after each of its layers");
  const auto arguments = std::make_shared<LensArguments>();
  arguments->add_options(*command);
  arguments->add_prompt_options(*command, "The text to look at; - reads standard input");
  command->add_option("-n,--answer-tokens", arguments->answer_tokens, "Let the model answer first, so many tokens")
      ->check(count_from(0))
      ->type_name("COUNT");
  command->add_option("--positions", arguments->positions, "Which tokens: 0-3,5,-1 (default: all)")->type_name("LIST");
  command->add_option("--layers", arguments->layers, "Which layers; one more than there are is the model's output")
      ->type_name("LIST");
  command->add_option("--point", arguments->point, "Read resid_mid, resid_post, attn_out or mlp_out of each layer")
      ->type_name("NAME");
  command->add_option("--show", arguments->show, "In each cell: token (default), probability, entropy or kl")
      ->check(CLI::IsMember({"token", "probability", "entropy", "kl"}).description(""))
      ->type_name("WHAT");
  command->add_option("--top", arguments->top, "Also list so many tokens per layer for the last position")
      ->check(count_from(1, 1000))
      ->type_name("COUNT");
  command->add_option("--follow", arguments->follow, "Show the probability and rank of this token in each cell")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TOKEN");
  command->add_option("--tuned", arguments->tuned, "A tuned lens: safetensors with an affine map per layer")
      ->type_name("FILE");
  command->add_flag("--norms", arguments->norms, "Also show the length of the residual stream's vectors");
  command->add_flag("--loss", arguments->loss, "Also show the loss of each token");
  command->add_option("--attribution", arguments->attribution, "What adds to a logit, by layer, head or neuron")
      ->check(CLI::IsMember({"layer", "head", "neuron"}).description(""))
      ->type_name("PARTS");
  command->add_option("--token", arguments->token, "The token of --attribution (default: the likeliest)")
      ->type_name("TOKEN");
  command->add_option("--other", arguments->other, "... above this one")->type_name("TOKEN");
  command->footer(
      "Rows are what enters each layer, read as if it were the end of the model; 'out' is its answer. A TOKEN is text\n"
      "that is one token, with its blank (\" Paris\"), or #NUMBER. · is a blank, ⏎ a line end.\n\n"
      "Examples:\n"
      "  wick lens -p \"What is 7 plus 5?\" -n 8\n"
      "  wick lens -p \"What is 7 plus 5?\" --prefix \"7 + 5 = \" --positions=-1 --top 5\n"
      "  wick lens model.gguf --raw -p \"The capital of France is\" --follow \" Paris\"\n"
      "  wick lens -p \"Who are you?\" --attribution head --norms --loss --html lens.html");
  command->callback([&action, arguments] { action = [arguments] { return lens(*arguments); }; });
}

}  // namespace wick
