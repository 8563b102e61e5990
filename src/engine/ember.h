#pragma once

#include <string_view>

namespace wick {

// A model's files as they lie in the program.
struct BuiltInModel {
  std::string_view name;
  std::string_view model, config, generation_config, tokenizer, tokenizer_config;
};

// models/ember, which talks, and models/ember-asr, which listens. Throw Error(kUnsupported) when the program was built
// without them.
BuiltInModel ember_files();
BuiltInModel ember_asr_files();
// Whether it was built with them.
bool has_ember();

}  // namespace wick
