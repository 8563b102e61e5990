#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/text_model.h"

namespace wick {

// One setting of SamplingParams, as an option of a command and as a name of /set.
struct SamplingSetting {
  const char* name;   // "top-p"
  const char* flags;  // "--top-p"
  const char* kind;   // "NUMBER"
  const char* help;
  void (*set)(SamplingParams& params, const std::string& text);  // throws Error(kInvalidArgument)
  std::string (*get)(const SamplingParams& params);
};

std::span<const SamplingSetting> sampling_settings();

// What the user asked for. Settings that are not mentioned are the model's own recommendation, else temperature 0.8 and
// top-p 0.95; the seed is a random one.
class SamplingChoice {
 public:
  // Adds an option per setting to the command. The choice must outlive it.
  void add_options(CLI::App& command);
  // One setting by name. Throws Error(kInvalidArgument) for a name that is none or a value out of range.
  void set(std::string_view name, const std::string& text);

  // `draws`: false where tokens are searched for, and nothing is recommended. Throws Error(kInvalidArgument) for what
  // does not fit the model, e.g. a bias for a token it has not.
  SamplingParams params_for(const TextModel& model, bool draws = true);

 private:
  std::vector<std::pair<const SamplingSetting*, std::string>> chosen_;
  std::optional<uint64_t> random_seed_;  // chosen when it is first needed
};

}  // namespace wick
