// wick embed: texts to vectors.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/embed/embed_texts.h"
#include "cli/embed/vectors_so_far.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "embed/embedder.h"
#include "embed/token_outputs.h"
#include "formats/npy_writer.h"
#include "formats/safetensors/safetensors_writer.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr int64_t kMostCompared = 12;  // texts in a table of similarities

struct EmbedArguments : TextsArguments {
  std::string model, output, prompt, prefix, quantize = "auto", device = "cpu";
  int64_t dimensions = 0;
  int threads = 0;
  bool chunk = false, sparse = false, multi_vector = false, json = false;
};

struct Embedded {
  std::vector<std::string> texts;
  std::vector<int64_t> tokens;
  Tensor vectors;
  int64_t cut = 0;  // texts that were truncated
  double seconds = 0;
  std::unique_ptr<VectorsSoFar> so_far;  // of an output
};

std::span<const float> row_of(const Tensor& vectors, int64_t row) {
  return {vectors.data<float>() + row * vectors.dim(1), static_cast<size_t>(vectors.dim(1))};
}

// All that vectors depend on: the model, and the texts.
uint64_t key_of(const EmbedArguments& arguments, const fs::path& model, const EmbedOptions& options,
                const std::vector<std::string>& texts) {
  uint64_t key = model_key(model, arguments.quantize, arguments.device);
  key = add_to_key(key, options.prompt);
  key = add_to_key(key, options.is_long_cut());
  for (const std::string& text : texts) key = add_to_key(key, text);
  return key;
}

// So many at a time, which are kept from then on.
Tensor embed_and_keep(const Embedder& embedder, std::span<const std::vector<EncoderInput>> inputs, VectorsSoFar& so_far,
                      ProgressBar& bar) {
  constexpr int64_t kPart = 512;
  const auto total = std::ssize(inputs);
  while (so_far.count() < total) {
    const int64_t begin = so_far.count(), count = std::min(kPart, total - begin);
    so_far.add(embedder.embed_parts(inputs.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
                                    [&](int64_t done) { bar.show(begin + std::min(done, count), "texts"); }));
  }
  return so_far.all();
}

Embedded embed_all(const Embedder& embedder, const EmbedArguments& arguments, const fs::path& model) {
  Embedded made;
  made.texts = texts_of(arguments);
  EmbedOptions options;
  options.prompt = arguments.prompt.empty() ? arguments.prefix : embedder.prompt(arguments.prompt);
  options.truncates = arguments.truncate;
  options.in_parts = arguments.chunk;
  std::vector<std::vector<EncoderInput>> inputs;
  for (size_t i = 0; i < made.texts.size(); ++i) {
    inputs.push_back(
        read_text_at(i, made.texts.size(), arguments, [&] { return embedder.read_parts(made.texts[i], options); }));
    made.cut += inputs.back().front().is_cut;
    made.tokens.push_back(0);
    for (const EncoderInput& part : inputs.back()) made.tokens.back() += std::ssize(part.tokens);
  }
  const auto start = std::chrono::steady_clock::now();
  {
    ProgressBar bar(std::ssize(inputs), ProgressUnit::kRuns, ProgressBar::kQuiet);
    if (arguments.output.empty()) {
      made.vectors =
          embedder.embed_parts(inputs, [&](int64_t done) { bar.show(std::min(done, std::ssize(inputs)), "texts"); });
    } else {
      made.so_far = std::make_unique<VectorsSoFar>(arguments.output, key_of(arguments, model, options, made.texts),
                                                   embedder.dimensions(), std::ssize(inputs));
      if (const int64_t there = made.so_far->count(); there > 0) {
        warn(cat(there, " of ", inputs.size(), " vectors are there from a run that was interrupted"));
      }
      made.vectors = embed_and_keep(embedder, inputs, *made.so_far, bar);
    }
  }
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (arguments.dimensions > 0) made.vectors = shortened(made.vectors, arguments.dimensions);
  return made;
}

OrderedJson numbers(std::span<const float> values) {
  OrderedJson list = OrderedJson::array();
  for (const float value : values) list.push_back(value);
  return list;
}

std::string dumped(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// One object per line.
std::string json_lines(const Embedded& made) {
  std::string lines;
  for (size_t i = 0; i < made.texts.size(); ++i) {
    lines += dumped({{"text", made.texts[i]},
                     {"tokens", made.tokens[i]},
                     {"embedding", numbers(row_of(made.vectors, static_cast<int64_t>(i)))}});
  }
  return lines;
}

void save(const std::string& path, const Embedded& made) {
  std::string bytes;
  if (path.ends_with(".npy")) {
    bytes = npy_bytes(made.vectors);
  } else if (path.ends_with(".safetensors")) {
    const NamedTensor tensor{"embeddings", made.vectors};
    bytes = safetensors_bytes({&tensor, 1});
  } else {
    bytes = json_lines(made);
  }
  OutputFile file(path);
  file.write_at(0, std::as_bytes(std::span(bytes)));
  file.finish();
}

// How alike they are, each with each.
void print_similarities(const Embedded& made) {
  const int64_t count = made.vectors.dim(0);
  fmt::print("{:>2}", "");
  for (int64_t i = 0; i < count; ++i) fmt::print("  {:>5}", i + 1);
  fmt::print("\n");
  for (int64_t i = 0; i < count; ++i) {
    fmt::print("{:>2}", i + 1);
    for (int64_t j = 0; j < count; ++j)
      fmt::print("  {:5.2f}", cosine(row_of(made.vectors, i), row_of(made.vectors, j)));
    fmt::print("  {}\n", printable(made.texts[static_cast<size_t>(i)], 40));
  }
}

void print(const Embedded& made) {
  const int64_t count = made.vectors.dim(0);
  if (count == 1) {
    std::string line;
    for (const float value : row_of(made.vectors, 0)) line += fmt::format("{}{:.4f}", line.empty() ? "" : " ", value);
    fmt::print("{}\n", line);
  } else if (count <= kMostCompared) {
    print_similarities(made);
  }
}

// BGE-M3's other outputs: an object per text.
int embed_tokens(const EmbedArguments& arguments, const fs::path& model,
                 const std::shared_ptr<const Embedder>& embedder) {
  const TokenOutputs outputs(model, embedder);
  const std::vector<std::string> texts = texts_of(arguments);
  EmbedOptions options;
  options.prompt = arguments.prompt.empty() ? arguments.prefix : embedder->prompt(arguments.prompt);
  options.truncates = arguments.truncate;
  std::vector<EncoderInput> inputs;
  for (size_t i = 0; i < texts.size(); ++i) {
    inputs.push_back(read_text_at(i, texts.size(), arguments, [&] { return embedder->read(texts[i], options); }));
  }
  std::string lines;
  ProgressBar bar(std::ssize(inputs), ProgressUnit::kRuns, ProgressBar::kQuiet);
  const auto done = [&](int64_t count) { bar.show(count, "texts"); };
  if (arguments.sparse) {
    const auto weights = outputs.weights(inputs, done);
    for (size_t i = 0; i < texts.size(); ++i) {
      OrderedJson list = OrderedJson::array();
      for (const TokenWeight& one : weights[i]) {
        list.push_back({{"token", one.token},
                        {"text", std::string(embedder->tokenizer().piece(one.token))},
                        {"weight", one.weight}});
      }
      lines += dumped({{"text", texts[i]}, {"weights", list}});
    }
  } else {
    const auto vectors = outputs.vectors(inputs, done);
    for (size_t i = 0; i < texts.size(); ++i) {
      OrderedJson list = OrderedJson::array();
      for (int64_t row = 0; row < vectors[i].dim(0); ++row) list.push_back(numbers(row_of(vectors[i], row)));
      lines += dumped({{"text", texts[i]}, {"embeddings", list}});
    }
  }
  if (arguments.output.empty()) {
    std::cout << lines;
    return 0;
  }
  if (!arguments.output.ends_with(".jsonl")) {
    throw Error(ErrorCode::kInvalidArgument, "texts have different numbers of these: --output takes a .jsonl");
  }
  OutputFile file(arguments.output);
  file.write_at(0, std::as_bytes(std::span(lines)));
  file.finish();
  return 0;
}

int embed(const EmbedArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  ModelOptions load;
  load.quantize = arguments.quantize;
  load.device = device_named(arguments.device);
  load.notice = warn;
  const fs::path model = model_path(arguments.model);
  const auto embedder = Embedder::load(model, load);
  if (arguments.sparse || arguments.multi_vector) return embed_tokens(arguments, model, embedder);
  const Embedded made = embed_all(*embedder, arguments, model);
  if (made.cut > 0) {
    warn(cat(made.cut, made.cut == 1 ? " text was" : " texts were", " cut to ", embedder->most_tokens(), " tokens"));
  }
  if (!arguments.output.empty()) {
    save(arguments.output, made);
    made.so_far->remove();
    fmt::print(stderr, "{}: {} vectors of {} numbers, {:.1f} texts/s\n", arguments.output, made.vectors.dim(0),
               made.vectors.dim(1), static_cast<double>(made.vectors.dim(0)) / std::max(made.seconds, 1e-9));
  } else if (arguments.json) {
    std::cout << json_lines(made);
  } else if (made.vectors.dim(0) > kMostCompared) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("there are ", made.vectors.dim(0), " vectors to write: name a file with --output, or use --json"));
  } else {
    print(made);
  }
  return 0;
}

}  // namespace

void add_embed(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("embed", "Turn texts into vectors, for search and comparison");
  const auto arguments = std::make_shared<EmbedArguments>();
  command
      ->add_option("MODEL", arguments->model,
                   "A Hugging Face folder, a .gguf file or Org/Name of an encoder (BERT, ...)")
      ->required();
  add_texts_options(*command, *arguments, "TEXT", "The texts");
  command->add_option("-o,--output", arguments->output, "Where vectors go: .npy, .safetensors or .jsonl")
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string& path) {
            const bool is_known = path.ends_with(".npy") || path.ends_with(".safetensors") || path.ends_with(".jsonl");
            return is_known ? std::string() : cat("'", path, "' ends in none of .npy, .safetensors and .jsonl");
          },
          ""));
  command
      ->add_flag("--chunk", arguments->chunk,
                 "Take texts that are longer than the model reads in parts, and the mean of their vectors")
      ->excludes("--truncate");
  CLI::Option* prompt =
      command->add_option("--prompt", arguments->prompt, "One of the model's own prompts, such as query or passage");
  prompt->type_name("NAME");
  command->add_option("--prefix", arguments->prefix, "A text of your own before each")
      ->type_name("TEXT")
      ->excludes(prompt);
  command->add_option("--dimensions", arguments->dimensions, "Only so many numbers, normalised again (Matryoshka)")
      ->check(count_from(1))
      ->type_name("COUNT");
  CLI::Option* sparse = command->add_flag("--sparse", arguments->sparse, "A weight for each token instead (BGE-M3)");
  command->add_flag("--multi-vector", arguments->multi_vector, "A vector for each token instead (BGE-M3)")
      ->excludes(sparse);
  add_quantize_option(*command, arguments->quantize);
  add_threads_option(*command, arguments->threads);
  add_device_option(*command, arguments->device);
  command->add_flag("--json", arguments->json, "Print one JSON object per text");
  command->footer(
      "A few texts are compared with each other; more need --output or --json. What was computed for an output before "
      "an\n"
      "interruption is kept in OUTPUT.part, and the same command goes on from there. Folders of sentence-transformers "
      "are\n"
      "read as they say: pooling, normalisation, prompts, length. Without modules.json it is the mean, normalised.\n\n"
      "Examples:\n"
      "  wick embed models/all-MiniLM-L6-v2 \"A cat sat down.\" \"A kitten rested.\" \"Shares fell.\"\n"
      "  wick embed models/bge-base-en-v1.5 -f lines.txt -o vectors.npy --truncate");
  command->callback([&action, arguments] {
    check_has_texts(*arguments, "TEXT");
    action = [arguments] { return embed(*arguments); };
  });
}

}  // namespace wick
