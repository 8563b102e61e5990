#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/machine.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/bench/model_bench.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/terminal/known_name.h"
#include "formats/gguf/gguf_tokenizer.h"
#include "models/load_model.h"
#include "models/random_model.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

struct BenchArguments {
  std::string model, random, type, tokenizer, save, kv = "f16", device = "cpu";
  std::vector<int64_t> prompts = {128, 512}, generated = {32, 128}, depths = {0};
  std::vector<std::string> pairs;  // "512,128"
  std::vector<int> threads;
  int repetitions = 5;
  bool json = false, force = false, cold = false;
};

// "512,128" or "512,128;1024,64" as cases.
std::vector<SpeedCase> parse_pairs(const std::vector<std::string>& texts) {
  std::vector<SpeedCase> cases;
  for (const std::string& text : texts) {
    SpeedCase pair;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%ld,%ld%c", &pair.prompt, &pair.generate, &rest) != 2 || pair.prompt < 1 ||
        pair.generate < 1 || pair.tokens() > int64_t{1} << 32) {
      throw CLI::ValidationError(
          "--pg", cat("'", text, "': expected two numbers, prompt tokens and generated tokens: 512,128"));
    }
    cases.push_back(pair);
  }
  return cases;
}

std::vector<SpeedCase> list_cases(const BenchArguments& arguments) {
  std::vector<SpeedCase> plain;
  for (const int64_t prompt : arguments.prompts) plain.push_back({prompt, 0, 0});
  for (const int64_t generate : arguments.generated) plain.push_back({0, generate, 0});
  for (const SpeedCase& pair : parse_pairs(arguments.pairs)) plain.push_back(pair);
  std::vector<SpeedCase> cases;
  for (const int64_t depth : arguments.depths) {
    for (SpeedCase what : plain) {
      what.depth = depth;
      if (what.tokens() > 0) cases.push_back(what);
    }
  }
  if (cases.empty()) throw CLI::ValidationError("bench", "there is nothing to measure: -p, -n and --pg are all 0");
  return cases;
}

// The keys "tokenizer.*" of a GGUF file or of the tokenizer in a folder.
Metadata read_tokenizer(const fs::path& path, const ModelShape& shape) {
  const Json config = shape.config();
  if (fs::is_directory(path)) return gguf_tokenizer(path, config);
  if (path.filename() == "tokenizer.json") return gguf_tokenizer(path.parent_path(), config);
  Metadata metadata = Checkpoint::open(path).metadata();
  const auto count = metadata.array("tokenizer.ggml.tokens").count;
  if (count != shape.vocabulary) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(path, ": has ", count, " tokens, ", shape.name, " has ", shape.vocabulary));
  }
  return metadata;
}

Checkpoint random_checkpoint(const BenchArguments& arguments) {
  const ModelShape& shape = model_shape(arguments.random);
  const Metadata tokenizer = arguments.tokenizer.empty() ? Metadata() : read_tokenizer(arguments.tokenizer, shape);
  std::error_code ignored;
  if (!arguments.save.empty() && !arguments.force && fs::exists(arguments.save, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, cat(arguments.save, ": exists already; --force replaces it"));
  }
  const std::string type = arguments.type.empty() ? "q4_k_m" : arguments.type;
  const auto file = random_gguf(shape, QuantizePlan::named(type), tokenizer);
  if (!arguments.save.empty()) {
    OutputFile out(arguments.save);
    out.reserve(static_cast<int64_t>(file->bytes().size()));
    out.write_at(0, file->bytes());
    out.finish();
    std::cerr << "wick: wrote " << arguments.save << " (" << bytes_text(static_cast<int64_t>(file->bytes().size()))
              << ")\n";
  }
  return Checkpoint::parse(file);
}

// What GGUF files call their mix of types; else the type of most bytes.
std::string type_of(const Checkpoint& checkpoint) {
  const MetaValue* code = checkpoint.metadata().find("general.file_type");
  for (const std::string_view name : QuantizePlan::names()) {
    const int known = QuantizePlan::named(name).gguf_file_type();
    if (code && known >= 0 && name != "int4" && checkpoint.metadata().integer("general.file_type") == known) {
      return std::string(name);
    }
  }
  std::vector<std::pair<std::string, int64_t>> types;
  for (const TensorEntry& entry : checkpoint.entries()) {
    const std::string name = entry.dtype ? std::string(to_string(*entry.dtype)) : entry.type;
    const auto known = std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.first == name; });
    (known == types.end() ? types.emplace_back(name, 0) : *known).second += entry.bytes;
  }
  const auto most =
      std::max_element(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == types.end() ? "?" : most->first;
}

void show_progress(const SpeedRow& row, int repetition, int repetitions) {
  if (!isatty(STDERR_FILENO)) return;
  const std::string at = repetition < 0 ? "warming up" : cat(repetition + 1, " of ", repetitions);
  std::cerr << "\r" << row.what.name() << ", " << row.threads << " threads: " << at << "\033[K" << std::flush;
}

int bench(const BenchArguments& arguments, const std::vector<SpeedCase>& cases) {
  int64_t most = 1;
  for (const SpeedCase& what : cases) most = std::max(most, what.depth + what.tokens());
  ModelOptions options;
  options.context = most;
  options.device = device_named(arguments.device);
  options.notice = warn;
  const bool random = !arguments.random.empty();
  if (!random && !arguments.type.empty()) options.quantize = arguments.type;
  const Checkpoint checkpoint = random ? random_checkpoint(arguments) : Checkpoint::open(model_path(arguments.model));
  const auto start = std::chrono::steady_clock::now();
  const WeightSource source(checkpoint);
  const auto model = load_model(source, options);
  const double load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // What is measured is how fast a model is once it has run for a while.
  for (const auto& file : checkpoint.files()) {
    if (options.quantize == "auto" && options.device == Device::cpu()) file->use_large_pages();
  }

  const MachineInfo machine = machine_info();
  const ModelFacts& facts = model->facts();
  SpeedReport report;
  report.version = WICK_VERSION;
  report.cpu = machine.cpu;
  report.cpus = machine.cpus_allowed;
  report.kv = arguments.kv;
  report.model.name = random ? cat(arguments.random, " (random weights)") : arguments.model;
  report.model.family = facts.family;
  report.model.type = options.quantize == "auto" ? type_of(checkpoint) : options.quantize;
  report.model.parameters = facts.parameters;
  report.model.bytes = facts.weight_bytes;
  report.model.load_seconds = load_seconds;
  const Terminal terminal = Terminal::of_stdout();
  if (!arguments.json) std::cout << heading_text(report, terminal) << std::flush;

  SpeedBench speed(*model, *dtype_named(arguments.kv), most);
  const std::vector<int> threads =
      arguments.threads.empty() ? std::vector<int>{ThreadPool::instance().size()} : arguments.threads;
  for (const int count : threads) {
    ThreadPool::instance().resize(count);
    for (const SpeedCase& what : cases) {
      SpeedRow row{what, count, {}};
      row.rates = speed.run(what, arguments.repetitions, !arguments.cold,
                            [&](int i) { show_progress(row, i, arguments.repetitions); });
      if (isatty(STDERR_FILENO)) std::cerr << "\r\033[K" << std::flush;
      if (!arguments.json) std::cout << row_text(row, terminal) << std::flush;
      report.rows.push_back(std::move(row));
    }
  }
  if (arguments.json) std::cout << to_json(report).dump(2) << "\n";
  return 0;
}

std::string shape_names() {
  std::string text;
  for (const ModelShape& shape : model_shapes()) text += cat(text.empty() ? "" : " ", shape.name);
  return text;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure prefill and decode in tokens per second");
  const auto arguments = std::make_shared<BenchArguments>();
  const auto lengths = CLI::Range(int64_t{0}, int64_t{1} << 30);
  command->add_option("MODEL", arguments->model, "A Hugging Face folder, a .safetensors or a .gguf file, or Org/Name");
  command->add_option("--random", arguments->random, "A model of this shape with random weights instead of MODEL")
      ->check(known_name(model_shape, "SHAPE"));
  command
      ->add_option("--type", arguments->type,
                   "The type of the weights: random ones get it (default: q4_k_m), those of MODEL are quantised")
      ->check(named_plan());
  command->add_option("-p,--prompt", arguments->prompts, "Tokens of prefill, several with commas (default: 128,512)")
      ->delimiter(',')
      ->check(lengths);
  command->add_option("-n,--generate", arguments->generated, "Tokens of decode (default: 32,128)")
      ->delimiter(',')
      ->check(lengths);
  command->add_option("--pg", arguments->pairs, "Prefill and then decode, timed together: 512,128");
  command->add_option("-d,--depth", arguments->depths, "Tokens in the context already (default: 0)")
      ->delimiter(',')
      ->check(lengths);
  command->add_option("-t,--threads", arguments->threads, "Numbers of threads (default: one per CPU)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command->add_option("-r,--repetitions", arguments->repetitions, "Times to measure each case (default: 5)")
      ->check(CLI::Range(1, 10000));
  command->add_flag("--no-warmup", arguments->cold, "Measure from the first run on");
  command->add_option("--kv", arguments->kv, "Type of keys and values: f32, f16, bf16 or i8 (default: f16)")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "i8"}));
  add_device_option(*command, arguments->device);
  command->add_option("--save", arguments->save, "Write the random model as a GGUF file, which llama.cpp reads, too");
  command->add_option("--tokenizer", arguments->tokenizer,
                      "A folder or GGUF file whose tokenizer goes into the saved file (default: bytes)");
  command->add_flag("--force", arguments->force, "Replace the file of --save when it exists");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "pp512 is prefill of 512 tokens in one go, tg128 decode of 128 tokens; '@ d4096' is the same behind 4,096 "
      "tokens.\n"
      "Each case warms up, then runs -r times; tokens are random and nothing is sampled, as in llama-bench.\n\n"
      "Shapes: " +
      shape_names() +
      "\n\nExamples:\n"
      "  wick bench qwen3-0.6b-q4_k_m.gguf -t 1,2\n"
      "  wick bench models/Qwen3-0.6B --type q8_0 -p 512 -n 128 --depth 0,4096\n"
      "  wick bench --random qwen3-0.6b --type q4_k_m --pg 512,128\n"
      "  wick bench --random llama3.2-1b --save llama.gguf -p 0 -n 16 -r 1\n"
      "  wick bench ops --quick\n"
      "  wick bench drafts qwen3-0.6b");
  add_bench_ops(*command, action);
  add_bench_drafts(*command, action);
  command->callback([command, &action, arguments] {
    if (!command->get_subcommands().empty()) return;
    if (arguments->model.empty() == arguments->random.empty()) {
      throw CLI::ValidationError("bench", "give either MODEL or --random SHAPE");
    }
    if (arguments->random.empty() && !(arguments->save.empty() && arguments->tokenizer.empty())) {
      throw CLI::ValidationError("bench", "--save and --tokenizer go with --random");
    }
    action = [arguments, cases = list_cases(*arguments)] { return bench(*arguments, cases); };
  });
}

}  // namespace wick
