// wick rerank and wick classify: encoders with heads.
#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/embed/embed_texts.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "embed/labelled.h"

namespace wick {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kWidest = 100;      // columns of a text that is shown
constexpr size_t kMostShown = 5;  // labels

struct JudgeArguments : TextsArguments {
  std::string model, query, instruction, quantize = "auto", device = "cpu", pattern = ZeroShotOptions().pattern;
  std::vector<std::string> labels;
  int64_t top = 0;
  int threads = 0;
  bool several = false, json = false;
};

std::shared_ptr<const Classifier> load(const JudgeArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  ModelOptions options;
  options.quantize = arguments.quantize;
  options.device = device_named(arguments.device);
  options.notice = warn;
  return Classifier::load(model_path(arguments.model), options);
}

void print_json(const OrderedJson& json) {
  std::cout << json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

int rerank(const JudgeArguments& arguments) {
  const auto classifier = load(arguments);
  const std::vector<std::string> documents = texts_of(arguments);
  std::vector<double> scores;
  {
    ProgressBar bar(std::ssize(documents), ProgressUnit::kRuns, ProgressBar::kQuiet);
    scores = relevance(
        *classifier, arguments.query, documents, arguments.truncate, [&](int64_t done) { bar.show(done, "documents"); },
        arguments.instruction);
  }
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  if (arguments.top > 0 && arguments.top < std::ssize(order)) order.resize(static_cast<size_t>(arguments.top));
  for (const size_t at : order) {
    if (arguments.json) {
      print_json({{"index", at}, {"score", scores[at]}, {"text", documents[at]}});
    } else {
      fmt::print("{:.4f}  {:>3}  {}\n", scores[at], at + 1, printable(documents[at], kWidest));
    }
  }
  return 0;
}

OrderedJson labels_json(const std::vector<Labelled>& labels) {
  OrderedJson list = OrderedJson::array();
  for (const Labelled& one : labels) list.push_back({{"label", one.label}, {"probability", one.probability}});
  return list;
}

void print_labels(const std::string& text, const std::vector<Labelled>& labels, bool json) {
  if (json) return print_json({{"text", text}, {"labels", labels_json(labels)}});
  fmt::print("{}\n", printable(text, kWidest));
  for (size_t i = 0; i < labels.size() && i < kMostShown; ++i) {
    fmt::print("  {:5.1f} %  {}\n", 100 * labels[i].probability, printable(labels[i].label, kWidest));
  }
}

void print_names(const Classifier& classifier, const std::string& text, const JudgeArguments& arguments) {
  const std::vector<NamedSpan> spans = named_spans(classifier, text, arguments.truncate);
  OrderedJson list = OrderedJson::array();
  if (!arguments.json) fmt::print("{}\n", printable(text, kWidest));
  for (const NamedSpan& span : spans) {
    const std::string part = text.substr(span.place.begin, span.place.size());
    if (arguments.json) {
      list.push_back({{"label", span.label},
                      {"text", part},
                      {"begin", span.place.begin},
                      {"end", span.place.end},
                      {"probability", span.probability}});
    } else {
      fmt::print("  {:5.1f} %  {}  {}\n", 100 * span.probability, printable(span.label, kWidest),
                 printable(part, kWidest));
    }
  }
  if (arguments.json) print_json({{"text", text}, {"entities", list}});
}

int classify(const JudgeArguments& arguments) {
  const auto classifier = load(arguments);
  const std::vector<std::string> texts = texts_of(arguments);
  if (classifier->kind() == Classifier::Kind::kTokens) {
    if (!arguments.labels.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(classifier->name(), " gives labels to tokens: --labels is for texts"));
    }
    for (const std::string& text : texts) print_names(*classifier, text, arguments);
    return 0;
  }
  if (!arguments.labels.empty()) {
    const ZeroShotOptions options{arguments.pattern, !arguments.several, arguments.truncate};
    for (const std::string& text : texts) {
      print_labels(text, zero_shot(*classifier, text, arguments.labels, options), arguments.json);
    }
    return 0;
  }
  std::vector<EncoderInput> inputs;
  for (size_t i = 0; i < texts.size(); ++i) {
    inputs.push_back(
        read_text_at(i, texts.size(), arguments, [&] { return classifier->read({texts[i]}, arguments.truncate); }));
  }
  Tensor logits;
  {
    ProgressBar bar(std::ssize(texts), ProgressUnit::kRuns, ProgressBar::kQuiet);
    logits = classifier->logits(inputs, [&](int64_t done) { bar.show(done, "texts"); });
  }
  const auto width = static_cast<size_t>(logits.dim(1));
  for (size_t i = 0; i < texts.size(); ++i) {
    print_labels(texts[i], ranked_labels(*classifier, {logits.data<float>() + i * width, width}), arguments.json);
  }
  return 0;
}

// What both commands have in common.
void add_judge_options(CLI::App& command, JudgeArguments& arguments, const char* name, const char* what) {
  add_texts_options(command, arguments, name, what);
  add_quantize_option(command, arguments.quantize);
  add_threads_option(command, arguments.threads);
  add_device_option(command, arguments.device);
  command.add_flag("--json", arguments.json, "Print one JSON object per text");
}

}  // namespace

void add_rerank(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("rerank", "Sort texts by how relevant they are to a query");
  const auto arguments = std::make_shared<JudgeArguments>();
  command
      ->add_option("MODEL", arguments->model,
                   "A Hugging Face folder or Org/Name of a cross-encoder or a Qwen3-Reranker")
      ->required();
  command->add_option("QUERY", arguments->query, "What is looked for")->required();
  add_judge_options(*command, *arguments, "DOCUMENT", "The texts that are sorted");
  command->add_option("--top", arguments->top, "Print only so many")->check(count_from(1))->type_name("COUNT");
  command->add_option("--instruction", arguments->instruction, "What relevance means, for models that are told (Qwen3)")
      ->type_name("TEXT");
  command->footer(
      "Example:\n"
      "  wick rerank models/bge-reranker-base \"How do birds fly?\" \"Wings give lift.\" \"Shares fell.\"");
  command->callback([&action, arguments] {
    check_has_texts(*arguments, "DOCUMENT");
    action = [arguments] { return rerank(*arguments); };
  });
}

void add_classify(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("classify", "Give labels to texts, or find the names in them");
  const auto arguments = std::make_shared<JudgeArguments>();
  command
      ->add_option("MODEL", arguments->model,
                   "A Hugging Face folder or Org/Name of an encoder for classes of texts or of tokens")
      ->required();
  add_judge_options(*command, *arguments, "TEXT", "The texts");
  CLI::Option* labels =
      command->add_option("--labels", arguments->labels, "Labels of your own, by a model of entailment")
          ->type_name("A,B,...")
          ->delimiter(',')
          ->allow_extra_args(false);
  command->add_option("--pattern", arguments->pattern, "What a label claims; {} stands for it")
      ->type_name("TEXT")
      ->needs(labels);
  command->add_flag("--several", arguments->several, "More than one label may hold")->needs(labels);
  command->footer(
      "Examples:\n"
      "  wick classify models/distilbert-sst2 \"What a lovely day.\"\n"
      "  wick classify models/bert-ner \"Ada Lovelace was born in London.\"\n"
      "  wick classify models/roberta-large-mnli \"Shares fell.\" --labels sport,economy");
  command->callback([&action, arguments] {
    check_has_texts(*arguments, "TEXT");
    action = [arguments] { return classify(*arguments); };
  });
}

}  // namespace wick
