#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/bench/plan_names.h"
#include "formats/quantize/quantize_plan.h"
#include "models/model_options.h"
#include "tensor/dtype.h"

namespace wick {

// Options that mean the same wherever a model is loaded.
inline CLI::Option* add_model_argument(CLI::App& command, std::string& model) {
  return command.add_option(
      "MODEL", model,
      "A Hugging Face folder, a .gguf or a .safetensors file, or Org/Name (see wick pull; default: Ember)");
}
inline CLI::Option* add_quantize_option(CLI::App& command, std::string& type) {
  return command.add_option("--quantize", type, "Pack the weights while loading, e.g. q8_0 or q4_k_m")
      ->transform(CLI::Validator([](std::string& name) { return check_plan_name(name, QuantizePlan::names()); }, ""))
      ->type_name("TYPE");
}
// PATH or PATH=SCALE. Throws Error for a scale that is no number.
LoraChoice lora_named(const std::string& text);
std::vector<LoraChoice> loras_named(const std::vector<std::string>& texts);
inline CLI::Option* add_lora_option(CLI::App& command, std::vector<std::string>& loras) {
  return command.add_option("--lora", loras, "An adapter: a PEFT folder or a .gguf file; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("PATH[=SCALE]");
}
inline CLI::Option* add_threads_option(CLI::App& command, int& threads) {
  return command.add_option("--threads", threads, "Threads to compute with (default: one per CPU)")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("COUNT");
}
// Help shows what it counts and not the limits.
inline CLI::Validator count_from(int64_t least, int64_t most = int64_t{1} << 40) {
  return CLI::Range(least, most).description("");
}
inline CLI::Option* add_context_option(CLI::App& command, int64_t& context) {
  return command.add_option("--context", context, "Tokens of prompt and answers together (default: the model's own)")
      ->check(count_from(1))
      ->type_name("COUNT");
}
inline CLI::Option* add_kv_option(CLI::App& command, std::string& type) {
  return command.add_option("--kv,--kv-type", type, "How keys and values are kept: f16 (default), bf16, f32 or i8")
      ->check(CLI::IsMember({"f16", "bf16", "f32", "i8"}).description(""))
      ->type_name("TYPE");
}
inline DType kv_dtype(const std::string& type) {
  if (type == "f32") return DType::kF32;
  if (type == "bf16") return DType::kBF16;
  return type == "i8" ? DType::kI8 : DType::kF16;
}

// What a person should know, on standard error: ModelOptions::notice of all commands that load models.
inline void warn(const std::string& sentence) { std::cerr << cat("wick: ", sentence, "\n"); }

}  // namespace wick
