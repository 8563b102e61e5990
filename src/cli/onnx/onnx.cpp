#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>

#include "base/output_file.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/onnx/onnx_report.h"
#include "cli/shared_options.h"
#include "formats/npy_reader.h"
#include "graph/operators.h"
#include "graph/value_file.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using graph::GraphModel;
using graph::NamedValues;
using graph::Value;

struct OnnxArguments {
  std::string model, output, trace;
  std::vector<std::string> inputs, random, compare, watch;
  uint64_t memory = uint64_t{8} << 30;
  double relative = 1e-3, absolute = 1e-5;
  int threads = 0, repeat = 1;
  uint64_t seed = 0;
  bool nodes = false, profile = false, by_node = false, plain = false;
};

int inspect(const OnnxArguments& arguments) {
  const OnnxModel model = OnnxModel::open(arguments.model);
  graph::Imported imported = graph::import_onnx(model);
  std::vector<std::string> problems;
  bind_operators(imported.graph, problems);
  std::cout << describe_model(model, imported, problems, arguments.nodes);
  return 0;
}

int check(const OnnxArguments& arguments) {
  const auto problems = graph::check_model(OnnxModel::open(arguments.model));
  for (const std::string& problem : problems) std::cout << problem << "\n";
  if (problems.empty()) std::cout << arguments.model << ": Wick can run it\n";
  return problems.empty() ? 0 : 1;
}

// NAME=REST; the name may be left out where `names` has one.
std::pair<std::string, std::string> named(const std::string& text, const std::vector<graph::Port>& ports,
                                          const char* option) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos) return {text.substr(0, equals), text.substr(equals + 1)};
  if (ports.size() == 1) return {ports[0].name, text};
  throw Error(ErrorCode::kInvalidArgument,
              cat(option, " ", in_quotes(text), ": the graph has ", ports.size(), " of them; write NAME=", text));
}

const graph::Port& port_named(const std::vector<graph::Port>& ports, const std::string& name) {
  for (const graph::Port& port : ports) {
    if (port.name == name) return port;
  }
  std::string names;
  for (const graph::Port& port : ports) names += cat(names.empty() ? "" : ", ", in_quotes(port.name));
  throw Error(ErrorCode::kInvalidArgument, cat("the graph has no ", in_quotes(name), "; it has ", names));
}

void read_values(const std::vector<std::string>& texts, const std::vector<graph::Port>& ports, const char* option,
                 NamedValues& to) {
  for (const std::string& text : texts) {
    if (fs::path(text).extension() == ".npz" && text.find('=') == std::string::npos) {
      to.merge(graph::read_value_files(text));
      continue;
    }
    const auto [name, path] = named(text, ports, option);
    to[name] = graph::read_value_file(path, port_named(ports, name).type);
  }
}

// 2x3x4 as numbers drawn for an input.
Value random_value(const std::string& text, const graph::Port& port, uint64_t seed) {
  std::vector<int64_t> sizes;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    int64_t size = 0;
    const auto [end, problem] = std::from_chars(at, text.data() + text.size(), size);
    if (problem != std::errc() || (end < text.data() + text.size() && *end != 'x')) {
      throw Error(ErrorCode::kInvalidArgument, cat("--random ", in_quotes(text), ": a shape is written as 2x3x4"));
    }
    sizes.push_back(size);
    at = end + 1;
  }
  const Shape shape{std::span<const int64_t>(sizes)};
  const graph::ElementType type = port.type.known ? port.type.element : graph::ElementType::kF32;
  if (is_float(type)) return {randn(shape, seed).to_dtype(storage_of(type)), type};
  return {ones(shape, storage_of(type)), type};
}

void write_file(const fs::path& path, const std::string& bytes) {
  OutputFile file(path);
  file.write_at(0, std::as_bytes(std::span(bytes)));
  file.finish();
}

void write_outputs(const std::string& path, const NamedValues& outputs) {
  if (fs::path(path).extension() == ".npz") {
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& entry : outputs) files.emplace_back(entry.first + ".npy", graph::value_bytes(entry.second));
    return write_file(path, npz_bytes(files));
  }
  if (outputs.size() != 1 || fs::path(path).extension() != ".npy") {
    throw Error(ErrorCode::kInvalidArgument,
                cat("--output ", in_quotes(path), ": ", outputs.size(), " outputs go to an .npz file"));
  }
  write_file(path, graph::value_bytes(outputs.begin()->second));
}

int run(const OnnxArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  const auto begin = std::chrono::steady_clock::now();
  graph::GraphOptions options;
  options.memory_limit = static_cast<int64_t>(std::min<uint64_t>(arguments.memory, INT64_MAX));
  options.optimize = !arguments.plain;
  options.keep.insert(arguments.watch.begin(), arguments.watch.end());
  const auto model = GraphModel::open(arguments.model, options);
  const double load = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  NamedValues inputs;
  read_values(arguments.inputs, model->inputs(), "--input", inputs);
  uint64_t seed = arguments.seed;
  for (const std::string& text : arguments.random) {
    const auto [name, shape] = named(text, model->inputs(), "--random");
    inputs[name] = random_value(shape, port_named(model->inputs(), name), seed++);
  }
  std::map<const graph::Node*, graph::NodeTime> times;
  graph::RunOptions run_options;
  run_options.seed = arguments.seed;
  NamedValues watched;
  if (!arguments.watch.empty()) {
    run_options.hook = [&](const std::string& name, Value& value) {
      if (options.keep.contains(name))
        watched[name] = value.kind() == Value::Kind::kTensor ? Value(value.tensor().clone(), value.type()) : value;
    };
  }
  NamedValues outputs;
  double best = INFINITY, total = 0;
  for (int i = 0; i < arguments.repeat; ++i) {
    // The first run makes what later ones find: it is not part of the table when there are others.
    run_options.profile = arguments.profile && (i > 0 || arguments.repeat == 1) ? &times : nullptr;
    const auto start = std::chrono::steady_clock::now();
    outputs = model->run(inputs, run_options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  for (const auto& entry : watched) {
    std::cout << entry.first << "  " << summary(entry.second) << "\n";
    outputs[entry.first] = entry.second;
  }
  for (const graph::Port& port : model->outputs())
    std::cout << port.name << "  " << summary(outputs.at(port.name)) << "\n";
  if (!arguments.output.empty()) write_outputs(arguments.output, outputs);
  if (arguments.profile || arguments.repeat > 1) {
    std::cout << fmt::format(
        "\nload {:.1f} ms, run {:.3f} ms (best of {}: {:.3f} ms), most memory of values {:.1f} MB\n", load * 1e3,
        total * 1e3 / arguments.repeat, arguments.repeat, best * 1e3, static_cast<double>(model->most_bytes()) / 1e6);
  }
  if (arguments.profile)
    std::cout << "\n" << profile_table(times, std::max(arguments.repeat - 1, 1), arguments.by_node);
  if (!arguments.trace.empty()) write_file(arguments.trace, profile_trace(times));
  if (arguments.compare.empty()) return 0;
  NamedValues expected;
  read_values(arguments.compare, model->outputs(), "--compare", expected);
  bool equal = true;
  for (const auto& entry : expected) {
    const auto got = outputs.find(entry.first);
    if (got == outputs.end())
      throw Error(ErrorCode::kInvalidArgument, cat("there is no output ", in_quotes(entry.first), " to compare"));
    const std::string text = difference(got->second, entry.second, {arguments.relative, arguments.absolute});
    std::cout << "compare " << entry.first << ": " << (text.empty() ? "equal within the tolerance" : text) << "\n";
    equal = equal && text.empty();
  }
  return equal ? 0 : 1;
}

CLI::App* add_part(CLI::App& command, const std::shared_ptr<OnnxArguments>& arguments, const char* name,
                   const char* about, Action& action, int (*function)(const OnnxArguments&)) {
  CLI::App* part = command.add_subcommand(name, about);
  part->add_option("MODEL", arguments->model, "An .onnx file")->required();
  part->callback([&action, arguments, function] { action = [arguments, function] { return function(*arguments); }; });
  return part;
}

}  // namespace

void add_onnx(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("onnx", "Look at, check and run ONNX graphs");
  command->require_subcommand(1);
  const auto arguments = std::make_shared<OnnxArguments>();
  CLI::App* inspects =
      add_part(*command, arguments, "inspect", "Show inputs, outputs, operators and constants", action, inspect);
  inspects->add_flag("--nodes", arguments->nodes, "List every node");
  inspects->footer("Example:\n  wick onnx inspect model.onnx --nodes");
  CLI::App* checks =
      add_part(*command, arguments, "check", "Say whether Wick can run it, and which nodes it cannot", action, check);
  checks->footer(
      "Exits with 1 when a node has no operator, or an attribute that is not known.\n\nExample:\n  wick onnx check "
      "model.onnx");
  CLI::App* runs = add_part(*command, arguments, "run", "Run it", action, run);
  runs->add_option("--input", arguments->inputs,
                   "A .npy or .pb file for an input, or an .npz with several; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("[NAME=]FILE");
  runs->add_option("--random", arguments->random,
                   "Random numbers for an input, e.g. image=1x3x224x224; whole ones are 1")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("[NAME=]SHAPE");
  runs->add_option("--output", arguments->output, "Write the outputs to an .npz file, or the only one to .npy")
      ->type_name("FILE");
  runs->add_option("--compare", arguments->compare, "Expected outputs, in files as for --input")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("[NAME=]FILE");
  runs->add_option("--rtol", arguments->relative, "Tolerance of --compare, relative (default: 1e-3)");
  runs->add_option("--atol", arguments->absolute, "The same, absolute (default: 1e-5)");
  runs->add_option("--watch", arguments->watch,
                   "Show a value inside the graph, too, and write it to --output; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME");
  runs->add_option("--memory", arguments->memory, "The most bytes of all values at one time, e.g. 2G (default: 8G)")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
  runs->add_option("--repeat", arguments->repeat, "Run it this often, to measure")
      ->check(count_from(1, 1 << 20))
      ->type_name("COUNT");
  runs->add_flag("--profile", arguments->profile, "Show what each operator cost");
  runs->add_flag("--by-node", arguments->by_node, "With --profile: each node");
  runs->add_option("--trace", arguments->trace, "With --profile: write a trace for chrome://tracing")
      ->type_name("FILE");
  runs->add_option("--seed", arguments->seed, "Of nodes that draw numbers, and of --random")->type_name("NUMBER");
  runs->add_flag("--plain", arguments->plain, "Run the graph as it is, without the passes that make it faster");
  add_threads_option(*runs, arguments->threads);
  runs->footer(
      "Shows each output: its type and shape, and its numbers if they are few, else the least, the most and the mean.\n"
      "Exits with 1 when --compare finds a difference.\n\n"
      "Examples:\n"
      "  wick onnx run model.onnx --input x.npy --output y.npy\n"
      "  wick onnx run model.onnx --input inputs.npz --compare outputs.npz --rtol 1e-4\n"
      "  wick onnx run model.onnx --random image=1x3x224x224 --repeat 10 --profile");
}

}  // namespace wick
