#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/philox.h"
#include "base/text.h"
#include "cli/bench/model_bench.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/terminal/known_name.h"
#include "engine/engine.h"
#include "engine/text/drafter.h"
#include "engine/text/greedy_task.h"
#include "models/load_model.h"
#include "models/random_model.h"

namespace wick {
namespace {

constexpr int64_t kPromptTokens = 16;

struct DraftArguments {
  std::string target, draft, type = "q4_k_m", device = "cpu";
  std::vector<int64_t> batches = {1, 4}, acceptances = {60, 80, 90};
  int64_t generate = 64, draft_tokens = 4;
  int repetitions = 3;
  bool json = false;
};

using Texts = std::vector<std::vector<int32_t>>;

// Lets another draft for what that costs, and puts in the right tokens, as many of a hundred as it is told.
class ForcedDrafter final : public Drafter {
 public:
  // `texts`: prompts and what comes behind them.
  ForcedDrafter(Drafter* inner, const Texts& texts, int64_t percent, int64_t vocabulary)
      : inner_(inner), texts_(texts), percent_(percent), vocabulary_(vocabulary) {}

  void propose(std::span<Draft> drafts) override {
    if (inner_) inner_->propose(drafts);
    for (Draft& draft : drafts) {
      const auto text = std::find_if(texts_.begin(), texts_.end(), [&](const auto& each) {
        return std::equal(each.begin(), each.begin() + kPromptTokens, draft.text.begin());
      });
      draft.tokens.clear();
      for (size_t at = draft.text.size(); std::ssize(draft.tokens) < draft.most && at < text->size(); ++at) {
        const uint32_t random = philox_block(static_cast<uint64_t>(text - texts_.begin()), at)[0] % 100;
        const auto right = (*text)[at];
        draft.tokens.push_back(
            random < static_cast<uint32_t>(percent_) ? right : static_cast<int32_t>((right + 1) % vocabulary_));
      }
    }
  }

 private:
  Drafter* inner_;
  const Texts& texts_;
  int64_t percent_, vocabulary_;
};

struct Measured {
  double seconds = 0;
  Texts texts;
  EngineCounters counters;
};

Measured measure(const LanguageModel& model, const EngineOptions& options, const Texts& prompts, int64_t generate,
                 Drafter* drafter) {
  Engine engine(model, options, options.context);
  std::vector<std::shared_ptr<GreedyTask>> tasks;
  for (const auto& prompt : prompts) {
    tasks.push_back(std::make_shared<GreedyTask>(prompt, generate, drafter, options.draft_tokens));
    engine.submit(tasks.back());
  }
  const auto start = EngineClock::now();
  while (engine.step()) {
  }
  Measured measured{std::chrono::duration<double>(EngineClock::now() - start).count(), prompts,
                    engine.snapshot().counters};
  for (size_t i = 0; i < tasks.size(); ++i) {
    measured.texts[i].insert(measured.texts[i].end(), tasks[i]->tokens().begin(), tasks[i]->tokens().end());
  }
  return measured;
}

std::shared_ptr<const LanguageModel> random_model(const std::string& shape, const DraftArguments& arguments,
                                                  int64_t context) {
  ModelOptions options;
  options.context = context;
  options.device = device_named(arguments.device);
  struct Loaded {
    Checkpoint checkpoint;  // whose bytes the model computes from
    std::shared_ptr<const LanguageModel> model;
  };
  const auto loaded = std::make_shared<Loaded>();
  loaded->checkpoint = Checkpoint::parse(random_gguf(model_shape(shape), QuantizePlan::named(arguments.type)));
  loaded->model = load_model(WeightSource(loaded->checkpoint), options);
  return {loaded, loaded->model.get()};
}

int bench_drafts(const DraftArguments& arguments) {
  EngineOptions options;
  options.context = kPromptTokens + arguments.generate;
  options.max_running = *std::max_element(arguments.batches.begin(), arguments.batches.end());
  options.first_token_seconds = options.next_token_seconds = 0;
  options.draft_tokens = arguments.draft_tokens;
  const auto target = random_model(arguments.target, arguments, options.context);
  const int64_t vocabulary = target->facts().vocabulary;
  std::unique_ptr<ModelDrafter> drafter;
  if (!arguments.draft.empty()) {
    const auto draft = random_model(arguments.draft, arguments, options.context);
    if (draft->facts().vocabulary != vocabulary) {
      throw Error(ErrorCode::kInvalidArgument, cat(arguments.draft, " has ", draft->facts().vocabulary, " tokens, ",
                                                   arguments.target, " has ", vocabulary));
    }
    drafter = std::make_unique<ModelDrafter>(draft, options);
  }
  auto rows = nlohmann::ordered_json::array();
  if (!arguments.json) {
    std::cout << fmt::format("{:>5} {:>11} {:>10} {:>10} {:>7} {:>7} {:>9}\n", "batch", "acceptance", "without", "with",
                             "ratio", "passes", "accepted");
  }
  for (const int64_t batch : arguments.batches) {
    Texts prompts(static_cast<size_t>(batch));
    for (size_t i = 0; i < prompts.size(); ++i) {
      for (uint64_t at = 0; at < kPromptTokens; ++at) {
        prompts[i].push_back(static_cast<int32_t>(philox_block(i, at, 1)[0] % static_cast<uint64_t>(vocabulary)));
      }
    }
    measure(*target, options, prompts, 2, nullptr);  // warms up
    for (const int64_t percent : arguments.acceptances) {
      Measured plain, drafted;
      std::vector<double> without, with;  // tokens per second
      const auto tokens = static_cast<double>(batch * arguments.generate);
      for (int i = 0; i < arguments.repetitions; ++i) {
        plain = measure(*target, options, prompts, arguments.generate, nullptr);
        ForcedDrafter forced(drafter.get(), plain.texts, percent, vocabulary);
        drafted = measure(*target, options, prompts, arguments.generate, &forced);
        if (drafted.texts != plain.texts) throw Error(ErrorCode::kInternal, "drafts have changed what is generated");
        without.push_back(tokens / plain.seconds);
        with.push_back(tokens / drafted.seconds);
      }
      const double slow = speed_stats(without).median, fast = speed_stats(with).median;
      const double accepted = static_cast<double>(drafted.counters.accepted_tokens) /
                              static_cast<double>(std::max<int64_t>(drafted.counters.drafted_tokens, 1));
      if (arguments.json) {
        rows.push_back({{"batch", batch},
                        {"acceptance", percent},
                        {"without", slow},
                        {"with", fast},
                        {"passes", drafted.counters.steps},
                        {"accepted", accepted}});
      } else {
        std::cout << fmt::format("{:>5} {:>9} % {:>10.1f} {:>10.1f} {:>7.2f} {:>7} {:>7.0f} %\n", batch, percent, slow,
                                 fast, fast / slow, drafted.counters.steps, 100 * accepted)
                  << std::flush;
      }
    }
  }
  if (arguments.json) std::cout << rows.dump(2) << "\n";
  return 0;
}

}  // namespace

void add_bench_drafts(CLI::App& bench, Action& action) {
  CLI::App* drafts = bench.add_subcommand("drafts", "Measure what drafting by a smaller model gains");
  const auto arguments = std::make_shared<DraftArguments>();
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 20);
  drafts->add_option("TARGET", arguments->target, "The shape of the model that is drafted for")
      ->required()
      ->check(known_name(model_shape, "SHAPE"));
  drafts->add_option("--draft", arguments->draft, "The shape of the model that drafts; without it, drafts cost nothing")
      ->check(known_name(model_shape, "SHAPE"));
  drafts->add_option("--type", arguments->type, "The type of the random weights (default: q4_k_m)")
      ->check(named_plan());
  drafts->add_option("-b,--batch", arguments->batches, "Texts at once, several with commas (default: 1,4)")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{256}));
  drafts
      ->add_option("-a,--acceptance", arguments->acceptances,
                   "Drafted tokens of a hundred that are right (default: 60,80,90)")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{0}, int64_t{100}));
  drafts->add_option("-k,--tokens", arguments->draft_tokens, "Tokens drafted at a time (default: 4)")->check(positive);
  drafts->add_option("-n,--generate", arguments->generate, "Tokens of each text (default: 64)")->check(positive);
  drafts
      ->add_option("-r,--repetitions", arguments->repetitions,
                   "Times to measure each, of which the median counts (default: 3)")
      ->check(CLI::Range(1, 10000));
  add_device_option(*drafts, arguments->device);
  drafts->add_flag("--json", arguments->json, "Print one JSON object");
  drafts->footer(
      "Weights are random, so drafts would never be right: they are made for what that costs, and then replaced by "
      "the\n"
      "right tokens, or wrong ones, as often as --acceptance says. A token behind a wrong one counts as wrong.\n\n"
      "Examples:\n"
      "  wick bench drafts qwen3-4b --draft qwen3-0.6b -a 80 -k 6\n"
      "  wick bench drafts qwen3-0.6b -b 1,8,32 --json");
  drafts->callback([&action, arguments] { action = [arguments] { return bench_drafts(*arguments); }; });
}

}  // namespace wick
