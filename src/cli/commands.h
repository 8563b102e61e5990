#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace wick {

// A subcommand adds its options to the app and sets what to run when it was chosen. What runs returns the exit code.
using Action = std::function<int()>;

void add_run(CLI::App& app, Action& action);
void add_chat(CLI::App& app, Action& action);
void add_transcribe(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_pull(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_bench_ops(CLI::App& bench, Action& action);     // `wick bench ops`
void add_bench_drafts(CLI::App& bench, Action& action);  // `wick bench drafts`
void add_template(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_perplexity(CLI::App& app, Action& action);
void add_lens(CLI::App& app, Action& action);
void add_attn(CLI::App& app, Action& action);
void add_patch(CLI::App& app, Action& action);
void add_steer(CLI::App& app, Action& action);
void add_probe(CLI::App& app, Action& action);
void add_models(CLI::App& app, Action& action);

}  // namespace wick
