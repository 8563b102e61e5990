#pragma once

#include <string_view>

namespace wick {

// The files of models/ember as they lie in the program. Throws Error(kUnsupported) when it was built without them.
struct EmberFiles {
  std::string_view model, config, generation_config, tokenizer, tokenizer_config;
};
EmberFiles ember_files();
// Whether it was built with them.
bool has_ember();

}  // namespace wick
