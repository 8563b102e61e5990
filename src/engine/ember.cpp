#include "engine/ember.h"

#include "base/error.h"

#ifdef WICK_EMBER_DIR

// The assembler puts each file into the read-only data of the program, where its pages are mapped like those of a file.
#define WICK_EMBED(symbol, file)                                 \
  asm(".section .rodata\n"                                       \
      ".balign 4096\n"                                           \
      ".globl wick_ember_" #symbol                               \
      "\n"                                                       \
      "wick_ember_" #symbol                                      \
      ":\n"                                                      \
      ".incbin \"" WICK_EMBER_DIR "/" file                       \
      "\"\n"                                                     \
      ".globl wick_ember_" #symbol                               \
      "_end\n"                                                   \
      "wick_ember_" #symbol                                      \
      "_end:\n"                                                  \
      ".byte 0\n"                                                \
      ".previous\n");                                            \
  extern "C" const char wick_ember_##symbol[];      /* NOLINT */ \
  extern "C" const char wick_ember_##symbol##_end[] /* NOLINT */

WICK_EMBED(model, "model.safetensors");
WICK_EMBED(config, "config.json");
WICK_EMBED(generation_config, "generation_config.json");
WICK_EMBED(tokenizer, "tokenizer.json");
WICK_EMBED(tokenizer_config, "tokenizer_config.json");

namespace wick {

bool has_ember() { return true; }

EmberFiles ember_files() {
  const auto file = [](const char* begin, const char* end) {
    return std::string_view(begin, static_cast<size_t>(end - begin));
  };
  return {file(wick_ember_model, wick_ember_model_end), file(wick_ember_config, wick_ember_config_end),
          file(wick_ember_generation_config, wick_ember_generation_config_end),
          file(wick_ember_tokenizer, wick_ember_tokenizer_end),
          file(wick_ember_tokenizer_config, wick_ember_tokenizer_config_end)};
}

}  // namespace wick

#else

namespace wick {

bool has_ember() { return false; }

EmberFiles ember_files() {
  throw Error(ErrorCode::kUnsupported, "this program was built without Ember (WICK_EMBER=OFF); name a model");
}

}  // namespace wick

#endif
