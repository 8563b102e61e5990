#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace wick {

// A subcommand adds its options to the app and sets what to run when it was chosen. What runs returns the exit code.
using Action = std::function<int()>;

void add_run(CLI::App& app, Action& action);
void add_chat(CLI::App& app, Action& action);
void add_transcribe(CLI::App& app, Action& action);
void add_speak(CLI::App& app, Action& action);
void add_voices(CLI::App& app, Action& action);
void add_codec(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_mcp(CLI::App& app, Action& action);
void add_pull(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_rm(CLI::App& app, Action& action);
void add_ps(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_merge(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_bench_ops(CLI::App& bench, Action& action);     // `wick bench ops`
void add_bench_drafts(CLI::App& bench, Action& action);  // `wick bench drafts`
void add_template(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_perplexity(CLI::App& app, Action& action);
void add_see(CLI::App& app, Action& action);
void add_embed(CLI::App& app, Action& action);
void add_rerank(CLI::App& app, Action& action);
void add_classify(CLI::App& app, Action& action);
void add_fill(CLI::App& app, Action& action);
void add_search(CLI::App& app, Action& action);
void add_lens(CLI::App& app, Action& action);
void add_attn(CLI::App& app, Action& action);
void add_patch(CLI::App& app, Action& action);
void add_steer(CLI::App& app, Action& action);
void add_probe(CLI::App& app, Action& action);
void add_models(CLI::App& app, Action& action);
void add_onnx(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);  // hidden: what installs the command calls it

}  // namespace wick
