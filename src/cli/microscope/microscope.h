#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/microscope/heat_table.h"
#include "cli/microscope/microscope_report.h"
#include "cli/terminal/progress_bar.h"
#include "engine/text/text_model.h"
#include "interp/language_interp.h"
#include "interp/sweep_map.h"

namespace wick {

// What the commands that look inside a model have in common.
struct MicroscopeArguments {
  std::string model, quantize = "auto", device = "cpu", chat_template;
  std::string prompt, prefix, html;
  int threads = 0;
  bool raw = false, json = false, open = false;

  void add_options(CLI::App& command);
  void add_prompt_options(CLI::App& command, const std::string& prompt_help);
};

// A model on the table, with the way in (text to tokens) and the way out (labels).
class Microscope {
 public:
  explicit Microscope(const MicroscopeArguments& arguments);

  const TextModel& text_model() const { return *text_; }
  const std::shared_ptr<const TextModel>& shared_text_model() const { return text_; }
  const LanguageInterp& interp() const { return interp_; }
  int layers() const { return interp_.facts().layers; }

  // As `wick run` gives it to the model: through its chat template, if it has one, unless --raw. `prefix` is what the
  // answer begins with. Throws Error(kInvalidArgument) when there are no tokens or more than the context.
  std::vector<int32_t> tokens_of(std::string_view prompt, std::string_view prefix = {}) const;
  // The prompt's tokens and those of the answer that the model likes best, at most so many.
  std::vector<int32_t> with_answer(std::vector<int32_t> tokens, int64_t answer_tokens) const;
  // A TOKEN of the command line: text that is one token, or #NUMBER. Throws Error(kInvalidArgument) that shows the
  // tokens when it is several.
  int32_t token_named(std::string_view option, std::string_view text) const;

  std::string label(int32_t token) const;  // "·the"
  std::vector<std::string> labels(std::span<const int32_t> tokens) const;
  // The tokens with a stroke between them.
  std::string spelled(std::span<const int32_t> tokens) const;
  HeatAxis position_axis(std::span<const int32_t> tokens, std::span<const int64_t> positions) const;
  nlohmann::ordered_json token_json(int32_t token) const;  // {"id": 5, "text": " the"}
  nlohmann::ordered_json tokens_json(std::span<const int32_t> tokens) const;

  // A report that says which model saw which text.
  MicroscopeReport new_report(std::string title, std::span<const int32_t> tokens) const;

 private:
  std::shared_ptr<const TextModel> text_;
  LanguageInterp interp_;
  bool chats_;
};

// "blocks.5.attn.hook_z", "hook_z" of a layer, "attn_z" or "z". Throws Error(kInvalidArgument) with the nearest name.
HookPoint point_named(std::string_view option, std::string_view name);
std::string short_name(HookPoint point);  // "resid_pre"

// What is asked for: "0-3,5,-1"; below zero counts from the end of `count`. Empty text: nothing. Throws
// Error(kInvalidArgument) naming the option and how many there are.
std::vector<int64_t> index_list(std::string_view option, std::string_view text, int64_t count);
std::vector<int> int_list(std::string_view option, std::string_view text, int64_t count);

// A bar for work that takes long.
class SweepBar {
 public:
  explicit SweepBar(std::string what = "trying cells") : what_(std::move(what)) {}
  SweepProgress progress();

 private:
  std::string what_;
  std::unique_ptr<ProgressBar> bar_;
};

std::vector<std::string> numbers_text(std::span<const int> numbers);

}  // namespace wick
