#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/microscope/attn_report.h"
#include "cli/shared_options.h"
#include "interp/run_with_cache.h"

namespace wick {
namespace {

struct AttnArguments : MicroscopeArguments {
  std::string layers, heads, positions, query;
  int64_t top = 10, answer_tokens = 0, random = 0, seed = 1;
  bool scores = false, skip_first = false;
};

std::vector<int> all_heads(const InterpFacts& facts) {
  std::vector<int> heads(static_cast<size_t>(facts.heads));
  std::iota(heads.begin(), heads.end(), 0);
  return heads;
}

// Ordinary tokens: control tokens mean something even in random text.
std::vector<int32_t> random_text(const AttnArguments& arguments, const Microscope& microscope) {
  const Tokenizer& tokenizer = microscope.text_model().tokenizer();
  const auto most =
      static_cast<int32_t>(std::min<int64_t>(microscope.interp().facts().vocabulary, tokenizer.vocab_size()));
  int32_t first = 0, last = most;
  while (first < most && (tokenizer.is_special(first) || tokenizer.bytes(first).size() < 2)) ++first;
  for (int32_t id = first; id < most && last == most; ++id) {
    if (tokenizer.is_special(id)) last = id;
  }
  std::vector<int32_t> begin;
  if (const auto bos = tokenizer.special_ids().bos) begin.push_back(*bos);
  return repeated_tokens(first, last, arguments.random, static_cast<uint64_t>(arguments.seed), begin);
}

std::vector<int64_t> sorted_unique(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// The patterns of these positions alone.
std::vector<AttentionOfLayer> patterns_of(const LanguageInterp& model, std::span<const int32_t> tokens,
                                          std::span<const int> layers, const std::vector<int64_t>& positions) {
  CaptureOptions capture;
  for (const int layer : layers) capture.points.push_back(hook_name(HookPoint::kAttnPattern, layer));
  capture.positions = positions;
  capture.logits = LogitRows::kNone;
  const int64_t bytes = std::ssize(layers) * model.facts().heads * std::ssize(positions) * std::ssize(tokens) * 4;
  if (bytes > capture.most_bytes) {
    throw Error(ErrorCode::kOutOfMemory,
                cat("the patterns of ", layers.size(), " layers and ", positions.size(), " of ", tokens.size(),
                    " tokens are more than 1 GiB; name fewer with --layer or --positions"));
  }
  const ActivationCache cache = run_with_cache(model, tokens, capture).cache;
  std::vector<int64_t> rows(tokens.size(), -1);
  for (size_t i = 0; i < positions.size(); ++i) rows[static_cast<size_t>(positions[i])] = static_cast<int64_t>(i);
  std::vector<AttentionOfLayer> out;
  for (const int layer : layers) {
    const Tensor pattern = cache.at(hook_name(HookPoint::kAttnPattern, layer));
    out.push_back({layer, pattern.to_dtype(DType::kF32).contiguous(), rows});
  }
  return out;
}

int attn(const AttnArguments& arguments) {
  const Microscope microscope(arguments);
  const LanguageInterp& model = microscope.interp();
  const InterpFacts& facts = model.facts();
  if (facts.heads == 0) throw Error(ErrorCode::kUnsupported, cat(facts.family, " models have no attention heads"));
  const std::vector<int32_t> tokens =
      arguments.random > 0
          ? random_text(arguments, microscope)
          : microscope.with_answer(microscope.tokens_of(arguments.prompt, arguments.prefix), arguments.answer_tokens);
  MicroscopeReport report = microscope.new_report("Attention", tokens);
  if (arguments.scores) {
    add_scores(report, microscope, head_scores(model, tokens), std::min<int64_t>(arguments.top, 5));
    show_report(report, arguments);
    return 0;
  }
  const bool one_layer = !arguments.layers.empty();
  std::vector<int> layers = int_list("--layer", arguments.layers, facts.layers);
  for (const int layer : layers) {
    const auto& with = facts.attention_layers;
    if (std::find(with.begin(), with.end(), layer) == with.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("--layer: layer ", layer, " of this ", facts.family, " has no attention heads"));
    }
  }
  if (layers.empty()) layers = facts.attention_layers;
  std::vector<int> heads = int_list("--head", arguments.heads, facts.heads);
  const bool some_heads = !heads.empty();
  if (heads.empty()) heads = all_heads(facts);
  std::vector<int64_t> positions = index_list("--positions", arguments.positions, std::ssize(tokens));
  if (positions.empty()) positions = check_positions({}, tokens.size());
  const std::vector<int64_t> queries = arguments.query.empty()
                                           ? std::vector<int64_t>{std::ssize(tokens) - 1}
                                           : index_list("--from", arguments.query, std::ssize(tokens));

  const std::vector<int64_t>& from = one_layer && arguments.query.empty() ? positions : queries;
  std::vector<int64_t> wanted = from;
  if (one_layer) wanted.insert(wanted.end(), positions.begin(), positions.end());
  const std::vector<AttentionOfLayer> patterns = patterns_of(model, tokens, layers, sorted_unique(std::move(wanted)));
  if (!one_layer) {
    for (const int64_t query : queries) {
      add_overview(report, microscope, tokens, patterns, heads, query, arguments.skip_first);
    }
  }
  for (const AttentionOfLayer& layer : patterns) {
    if (!one_layer) break;
    if (!some_heads) {
      add_matrix(report, microscope, tokens, layer, heads, positions);
      continue;
    }
    for (const int& head : heads) add_matrix(report, microscope, tokens, layer, std::span(&head, 1), positions);
  }
  add_edges(report, microscope, tokens, strongest_edges(patterns, heads, from, arguments.top, arguments.skip_first));
  show_report(report, arguments);
  return 0;
}

}  // namespace

void add_attn(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("attn", "Show where attention heads look");
  const auto arguments = std::make_shared<AttnArguments>();
  arguments->add_options(*command);
  arguments->add_prompt_options(*command, "The text to look at; - reads standard input");
  command->add_option("-n,--answer-tokens", arguments->answer_tokens, "Let the model answer first, so many tokens")
      ->check(count_from(0))
      ->type_name("COUNT");
  command->add_option("--layer,--layers", arguments->layers, "Show these layers' matrices: 3 or 0-2,5")
      ->type_name("LIST");
  command->add_option("--head,--heads", arguments->heads, "... of these heads (default: the mean of all)")
      ->type_name("LIST");
  command->add_option("--positions", arguments->positions, "Which tokens of the matrix (default: all)")
      ->type_name("LIST");
  command->add_option("--from", arguments->query, "Look from this position (default: the last)")->type_name("LIST");
  command->add_option("--top", arguments->top, "List so many of the strongest edges (default: 10)")
      ->check(count_from(1, 100000))
      ->type_name("COUNT");
  command->add_flag("--skip-first", arguments->skip_first,
                    "Leave out the first token, where heads look that have nothing to do");
  command->add_flag("--scores", arguments->scores, "Score all heads: previous token, duplicate token, induction");
  command->add_option("--random", arguments->random, "Instead of a prompt: so many random tokens, twice in a row")
      ->check(count_from(1, 4096))
      ->type_name("COUNT");
  command->add_option("--seed", arguments->seed, "Of --random (default: 1)")->check(count_from(0))->type_name("NUMBER");
  command->footer(
      "Without --layer, every head is shown with the token that it looks at most. Positions count from 0, those below\n"
      "zero from the end (--from=-2).\n\n"
      "Examples:\n"
      "  wick attn -p \"My name is Tom. What is my name?\" --prefix \"Your name is\"\n"
      "  wick attn -p \"My name is Tom. What is my name?\" --layer 3 --head 1\n"
      "  wick attn --random 24 --scores\n"
      "  wick attn -p \"Who are you?\" --layer 0-7 --html attention.html");
  command->callback([&action, arguments] {
    if (arguments->random > 0 && !arguments->prompt.empty()) throw CLI::ExcludesError("--random", "--prompt");
    action = [arguments] { return attn(*arguments); };
  });
}

}  // namespace wick
