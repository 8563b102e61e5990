#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/chat/prompt_lines.h"
#include "cli/commands.h"
#include "cli/microscope/patch_report.h"
#include "cli/shared_options.h"
#include "interp/ablation.h"
#include "interp/knockout.h"
#include "interp/patching.h"
#include "interp/path_patching.h"
#include "interp/probes/vocab_row.h"

namespace wick {
namespace {

struct PatchArguments : MicroscopeArguments {
  std::string corrupted, corrupted_prefix, answer, wrong, metric, ablate, reference, path, layers, heads, positions,
      from;
  std::vector<std::string> points;
  int64_t window = 1;
  bool by_head = false, knockout = false, through_mlps = false;
};

struct Texts {
  std::vector<int32_t> clean, corrupted;  // corrupted may be empty
};

// From where the texts differ, some tokens each.
std::string difference(const Microscope& microscope, const Texts& texts) {
  constexpr size_t kShown = 12;
  const auto [mine, other] =
      std::mismatch(texts.clean.begin(), texts.clean.end(), texts.corrupted.begin(), texts.corrupted.end());
  const size_t begin = static_cast<size_t>(mine - texts.clean.begin());
  const auto part = [&](const std::vector<int32_t>& tokens) {
    const std::span rest = std::span(tokens).subspan(begin);
    return cat(microscope.spelled(rest.first(std::min(kShown, rest.size()))), rest.size() > kShown ? "|…" : "");
  };
  return cat("from token ", begin, " on, one is ", part(texts.clean), " and the other ", part(texts.corrupted));
}

Texts read_texts(const PatchArguments& arguments, const Microscope& microscope) {
  Texts texts;
  texts.clean = microscope.tokens_of(arguments.prompt, arguments.prefix);
  if (arguments.corrupted.empty()) return texts;
  const bool own = !arguments.corrupted_prefix.empty();
  texts.corrupted = microscope.tokens_of(arguments.corrupted, own ? arguments.corrupted_prefix : arguments.prefix);
  if (texts.clean.size() == texts.corrupted.size()) return texts;
  throw Error(ErrorCode::kInvalidArgument,
              cat("the clean prompt has ", texts.clean.size(), " tokens and the corrupted one ", texts.corrupted.size(),
                  ", but patching puts one in the place of the other; ", difference(microscope, texts)));
}

int32_t likeliest(const LanguageInterp& model, std::span<const int32_t> tokens) {
  return VocabRow(last_logits(model, tokens)).best(1).front();
}

Metric metric_of(const PatchArguments& arguments, const Microscope& microscope, const Texts& texts) {
  const LanguageInterp& model = microscope.interp();
  Metric metric;
  metric.token =
      arguments.answer.empty() ? likeliest(model, texts.clean) : microscope.token_named("--answer", arguments.answer);
  const bool has_other = !arguments.wrong.empty() || !texts.corrupted.empty();
  const std::string kind = !arguments.metric.empty() ? arguments.metric : has_other ? "difference" : "logit";
  if (kind == "difference") {
    if (!has_other) throw Error(ErrorCode::kInvalidArgument, "--metric difference needs --wrong");
    metric.other = arguments.wrong.empty() ? likeliest(model, texts.corrupted)
                                           : microscope.token_named("--wrong", arguments.wrong);
    if (metric.other == metric.token) {
      throw Error(ErrorCode::kInvalidArgument, cat("both prompts are answered with ", microscope.label(metric.token),
                                                   "; name the tokens to compare with --answer and --wrong"));
    }
  }
  metric.kind = kind == "difference"    ? Metric::Kind::kLogitDifference
                : kind == "probability" ? Metric::Kind::kProbability
                : kind == "log"         ? Metric::Kind::kLogProbability
                : kind == "kl"          ? Metric::Kind::kKl
                                        : Metric::Kind::kLogit;
  return metric;
}

class Patching {
 public:
  Patching(const PatchArguments& arguments, const Microscope& microscope)
      : arguments_(arguments),
        microscope_(microscope),
        model_(microscope.interp()),
        texts_(read_texts(arguments, microscope)),
        metric_(metric_of(arguments, microscope, texts_)),
        report_(microscope.new_report("Patching", texts_.clean)) {
    const std::string metric = metric_text(microscope, metric_);
    if (!texts_.corrupted.empty()) {
      report_.facts.emplace_back("corrupted", microscope.spelled(texts_.corrupted));
      report_.json["corrupted_tokens"] = microscope.tokens_json(texts_.corrupted);
    }
    report_.facts.emplace_back("metric", metric);
    report_.json["metric"] = metric;
    report_.json["answer"] = microscope.token_json(metric_.token);
    if (metric_.kind == Metric::Kind::kLogitDifference) report_.json["wrong"] = microscope.token_json(metric_.other);
  }

  MicroscopeReport run() {
    if (arguments_.knockout) knock_out();
    if (!arguments_.ablate.empty()) ablate();
    if (!arguments_.path.empty()) patch_paths();
    if (!arguments_.knockout && arguments_.ablate.empty() && arguments_.path.empty()) patch();
    return std::move(report_);
  }

 private:
  std::vector<HookPoint> points() const {
    std::vector<HookPoint> out;
    for (const std::string& name : arguments_.points) out.push_back(point_named("--point", name));
    if (out.empty()) out.push_back(arguments_.by_head ? HookPoint::kAttnZ : HookPoint::kResidPre);
    return out;
  }

  SweepCells cells() {
    SweepCells cells;
    cells.layers = int_list("--layers", arguments_.layers, microscope_.layers());
    cells.positions = index_list("--positions", arguments_.positions, std::ssize(texts_.clean));
    cells.heads = int_list("--heads", arguments_.heads, model_.facts().heads);
    cells.by_head = arguments_.by_head || !arguments_.heads.empty();
    cells.by_position = !cells.by_head || !arguments_.positions.empty();
    cells.progress = bar_.progress();
    return cells;
  }

  void need_corrupted(std::string_view why) const {
    if (texts_.corrupted.empty())
      throw Error(ErrorCode::kInvalidArgument, cat(why, " needs a corrupted prompt: -c TEXT"));
  }

  void patch() {
    need_corrupted("patching");
    for (const HookPoint point : points()) {
      const SweepMap map = patch_sweep(model_, texts_.clean, texts_.corrupted, point, cells(), metric_);
      add(cat("Clean ", short_name(point), " put into the corrupted run"), map, SweepShow::kRestored);
    }
  }

  void knock_out() {
    KnockoutSweep sweep;
    sweep.layers = int_list("--layers", arguments_.layers, microscope_.layers());
    sweep.keys = index_list("--positions", arguments_.positions, std::ssize(texts_.clean));
    sweep.queries = index_list("--from", arguments_.from, std::ssize(texts_.clean));
    sweep.window = static_cast<int>(arguments_.window);
    sweep.progress = bar_.progress();
    add(cat("Tokens hidden from ", sweep.queries.empty() ? "all behind them" : cat("position ", arguments_.from),
            arguments_.window > 1 ? cat(", in ", arguments_.window, " layers around each") : ""),
        knockout_sweep(model_, texts_.clean, sweep, metric_), SweepShow::kChange);
  }

  void ablate() {
    const Ablation kind = arguments_.ablate == "mean"       ? Ablation::kMean
                          : arguments_.ablate == "resample" ? Ablation::kResample
                                                            : Ablation::kZero;
    std::vector<std::vector<int32_t>> references;
    if (!arguments_.reference.empty()) {
      for (const std::string& line : read_lines(arguments_.reference)) {
        references.push_back(microscope_.tokens_of(line, arguments_.prefix));
      }
    } else if (!texts_.corrupted.empty()) {
      references.push_back(texts_.corrupted);
    } else if (kind != Ablation::kZero) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("--ablate ", arguments_.ablate, " needs other texts: --reference FILE or -c TEXT"));
    }
    for (const HookPoint point : points()) {
      const AblationValues values(model_, point, kind, references);
      add(cat(short_name(point), " replaced, by ", to_string(kind)),
          ablation_sweep(model_, texts_.clean, values, cells(), metric_), SweepShow::kChange);
    }
  }

  // Receivers are "out" (the end of the model: direct effects), or a point of layers.
  void patch_paths() {
    need_corrupted("path patching");
    std::vector<PathNode> receivers;
    if (arguments_.path == "out") {
      receivers.push_back({HookPoint::kResidPost, microscope_.layers() - 1, {{-1}, {}}});
    } else {
      const HookPoint point = point_named("--path", arguments_.path);
      std::vector<int> layers = int_list("--layers", arguments_.layers, microscope_.layers());
      if (layers.empty()) layers = model_.facts().attention_layers;
      const HookPart part{index_list("--positions", arguments_.positions, std::ssize(texts_.clean)),
                          int_list("--heads", arguments_.heads, model_.facts().heads)};
      for (const int layer : layers) receivers.push_back({point, layer, part});
    }
    PathOptions options;
    options.through_mlps = arguments_.through_mlps;
    options.progress = bar_.progress();
    add(cat("Corrupted heads, seen by ", arguments_.path == "out" ? "the output" : arguments_.path, " alone"),
        path_patch_heads(model_, texts_.clean, texts_.corrupted, receivers, metric_, options), SweepShow::kBroken);
  }

  void add(const std::string& title, const SweepMap& map, SweepShow show) {
    bar_ = SweepBar();
    const auto text = report_.facts.back().second;
    add_sweep(report_, microscope_, texts_.clean, cat(title, ": ", text), map, show);
  }

  const PatchArguments& arguments_;
  const Microscope& microscope_;
  const LanguageInterp& model_;
  Texts texts_;
  Metric metric_;
  MicroscopeReport report_;
  SweepBar bar_;
};

}  // namespace

void add_patch(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("patch", "Find which part of a model an answer depends on");
  const auto arguments = std::make_shared<PatchArguments>();
  arguments->add_options(*command);
  arguments->add_prompt_options(*command, "The clean prompt");
  command->add_option("-c,--corrupted", arguments->corrupted, "A prompt of as many tokens with another answer");
  command->add_option("--corrupted-prefix", arguments->corrupted_prefix, "Its --prefix, when it is another");
  command->add_option("--answer", arguments->answer, "The right token (default: the likeliest of the clean run)")
      ->type_name("TOKEN");
  command->add_option("--wrong", arguments->wrong, "The other token (default: the likeliest of the corrupted run)")
      ->type_name("TOKEN");
  command->add_option("--metric", arguments->metric, "difference (of logits), logit, probability, log or kl")
      ->check(CLI::IsMember({"difference", "logit", "probability", "log", "kl"}).description(""))
      ->type_name("NAME");
  command->add_option("--point", arguments->points, "resid_pre (default), attn_out, mlp_out, z, ...; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME");
  command->add_option("--layers", arguments->layers, "Which layers (default: all)")->type_name("LIST");
  command->add_option("--positions", arguments->positions, "Which positions (default: all)")->type_name("LIST");
  command->add_flag("--by-head", arguments->by_head, "Each head alone, at all positions or each of --positions");
  command->add_option("--heads", arguments->heads, "Which heads")->type_name("LIST");
  command
      ->add_option("--ablate", arguments->ablate, "Switch cells of the clean run off instead: zero, mean or resample")
      ->check(CLI::IsMember({"zero", "mean", "resample"}).description(""))
      ->type_name("HOW");
  command->add_option("--reference", arguments->reference, "Prompts for mean and resample, one per line (default: -c)")
      ->type_name("FILE");
  command->add_flag("--knockout", arguments->knockout, "Hide tokens of the clean run from attention instead");
  command->add_option("--from", arguments->from, "... from these positions only")->type_name("LIST");
  command->add_option("--window", arguments->window, "... in so many layers at once")
      ->check(count_from(1, 100000))
      ->type_name("COUNT");
  command->add_option("--path", arguments->path, "Path patching: what heads send to 'out', or to a point of --layers")
      ->type_name("POINT");
  command->add_flag("--through-mlps", arguments->through_mlps, "... also by way of MLPs");
  command->footer(
      "Each cell is one run with one thing changed; the map shows what that does to the metric. Both prompts must "
      "have\n"
      "the same number of tokens. A TOKEN is text that is one token, with its blank (\" Paris\"), or #NUMBER.\n\n"
      "Examples:\n"
      "  wick patch -p \"What is 2 plus 3?\" -c \"What is 2 plus 6?\" --prefix \"2 + \"\n"
      "  wick patch -p \"What is 2 plus 3?\" -c \"What is 2 plus 6?\" --prefix \"2 + \" --by-head\n"
      "  wick patch -p \"What is 2 plus 3?\" --prefix \"2 + \" --knockout --from=-1\n"
      "  wick patch -p \"What is 2 plus 3?\" --prefix \"2 + \" --ablate zero --point attn_out --point mlp_out");
  command->callback([&action, arguments] {
    if (!arguments->from.empty() && !arguments->knockout) throw CLI::RequiresError("--from", "--knockout");
    action = [arguments] {
      const Microscope microscope(*arguments);
      show_report(Patching(*arguments, microscope).run(), *arguments);
      return 0;
    };
  });
}

}  // namespace wick
