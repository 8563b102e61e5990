#include "engine/text/perplexity.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/inspect/inspect_values.h"
#include "cli/models/named_model.h"
#include "cli/read_text.h"
#include "cli/shared_options.h"
#include "cli/terminal/progress_bar.h"

namespace wick {
namespace {

constexpr int64_t kUsualContext = 512;  // what perplexities in model cards of GGUF files are measured with

struct PerplexityArguments {
  std::string model, file, quantize = "auto", device = "cpu", kv = "f16";
  int64_t context = 0, stride = 0, windows = 0;
  int threads = 0;
  bool json = false;
};

// The token that the tokenizer puts in front of every text; -1 when it puts none.
int32_t first_token(const Tokenizer& tokenizer) {
  const std::vector<int> alone = tokenizer.encode("");
  const auto bos = tokenizer.special_ids().bos;
  return bos && !alone.empty() && alone.front() == *bos ? *bos : -1;
}

int perplexity(const PerplexityArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  const std::string text = read_text(arguments.file);
  LoadOptions load;
  load.quantize = arguments.quantize;
  load.device = device_named(arguments.device);
  load.notice = warn;
  const auto model = load_named_model(arguments.model, load);
  const std::vector<int32_t> tokens = model->tokenizer().encode(text);
  const auto count = static_cast<int64_t>(tokens.size());
  const int64_t most = model->model().facts().max_context;
  int64_t context = arguments.context, stride = arguments.stride;
  if (context == 0) {
    context = std::max<int64_t>(2, std::min(kUsualContext, count));
    if (most > 0) context = std::min(context, most);
    stride = std::min(stride, context);
  }
  std::vector<ScoreWindow> windows = score_windows(count, context, stride);
  if (arguments.windows > 0 && arguments.windows < static_cast<int64_t>(windows.size())) {
    windows.resize(static_cast<size_t>(arguments.windows));
  }

  GeneratorOptions options;
  options.context = context;
  options.kv_dtype = *dtype_named(arguments.kv);
  Generator generator(model, options);
  int64_t total = 0, done = 0;
  for (const ScoreWindow& window : windows) total += window.count;
  const auto start = std::chrono::steady_clock::now();
  Perplexity result;
  {
    ProgressBar bar(total, ProgressUnit::kTokens);
    bar.show(0, "");
    result =
        measure_perplexity(generator, tokens, windows, first_token(model->tokenizer()), [&](const Perplexity& now) {
          done += windows[static_cast<size_t>(now.windows - 1)].count;
          bar.show(done, fmt::format("{:.4f} ± {:.4f}", now.value(), now.error()));
        });
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double rate = static_cast<double>(total) / std::max(seconds, 1e-9);
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"model", model->name()},
                                        {"file", arguments.file},
                                        {"perplexity", result.value()},
                                        {"error", result.error()},
                                        {"mean_nll", result.mean()},
                                        {"tokens", count},
                                        {"scored_tokens", result.tokens},
                                        {"windows", result.windows},
                                        {"context", context},
                                        {"stride", stride},
                                        {"kv", arguments.kv},
                                        {"seconds", seconds},
                                        {"tokens_per_second", rate}}
                     .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << fmt::format(
        "perplexity {:.4f} ± {:.4f}\n{} of {} tokens scored in {} window{} of {}, {:.0f} tokens/s\n", result.value(),
        result.error(), grouped_digits(result.tokens), grouped_digits(count), result.windows,
        result.windows == 1 ? "" : "s", context, rate);
  }
  return 0;
}

}  // namespace

void add_perplexity(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("perplexity", "Measure how well a model predicts a text");
  const auto arguments = std::make_shared<PerplexityArguments>();
  command
      ->add_option("MODEL", arguments->model,
                   "A Hugging Face folder, a .safetensors or a .gguf file, Org/Name, or 'ember' for the one built in")
      ->required();
  command->add_option("FILE", arguments->file, "The text; - for standard input")->required();
  command->add_option("--context", arguments->context, "Tokens of a window (default: 512, or all of a shorter text)")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 32));
  command->add_option("--stride", arguments->stride, "Begin a window every so many tokens and score what is new in it")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  command->add_option("--windows", arguments->windows, "Read only so many windows")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  add_quantize_option(*command, arguments->quantize);
  command->add_option("--kv", arguments->kv, "Type of keys and values: f32, f16, bf16 or i8 (default: f16)")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "i8"}));
  add_threads_option(*command, arguments->threads);
  add_device_option(*command, arguments->device);
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "The text is cut into windows of --context tokens, each read with nothing before it. Without --stride, the "
      "second\n"
      "half of each window is scored, as llama.cpp does it, so that its numbers can be compared. With --stride, "
      "windows\n"
      "overlap and every token but the first is scored once.\n\n"
      "Examples:\n"
      "  wick perplexity qwen3-0.6b-q4_k_m.gguf wiki.test.raw\n"
      "  wick perplexity models/Qwen3-0.6B wiki.test.raw --context 2048 --stride 1024\n"
      "  wick perplexity ember README.md --json");
  command->callback([&action, arguments] {
    if (arguments->context > 0 && arguments->stride > arguments->context) {
      throw CLI::ValidationError("--stride", "is larger than --context, so that tokens between windows would be lost");
    }
    action = [arguments] { return perplexity(*arguments); };
  });
}

}  // namespace wick
