#include "engine/ember.h"

#include "base/error.h"
#include "base/text.h"

#ifdef WICK_EMBER_DIR

// The assembler puts each file into the read-only data of the program, where its pages are mapped like those of a file.
#define WICK_EMBED(symbol, file)                    \
  asm(".section .rodata\n"                          \
      ".balign 4096\n"                              \
      ".globl " #symbol "\n" #symbol                \
      ":\n"                                         \
      ".incbin \"" WICK_EMBER_DIR "/" file          \
      "\"\n"                                        \
      ".globl " #symbol "_end\n" #symbol            \
      "_end:\n"                                     \
      ".byte 0\n"                                   \
      ".previous\n");                               \
  extern "C" const char symbol[];      /* NOLINT */ \
  extern "C" const char symbol##_end[] /* NOLINT */

#define WICK_EMBED_MODEL(symbol, folder)                                    \
  WICK_EMBED(symbol##_model, folder "/model.safetensors");                  \
  WICK_EMBED(symbol##_config, folder "/config.json");                       \
  WICK_EMBED(symbol##_generation_config, folder "/generation_config.json"); \
  WICK_EMBED(symbol##_tokenizer, folder "/tokenizer.json");                 \
  WICK_EMBED(symbol##_tokenizer_config, folder "/tokenizer_config.json")

#define WICK_EMBEDDED(symbol) std::string_view(symbol, static_cast<size_t>(symbol##_end - symbol))
#define WICK_BUILT_IN(symbol, name)                                                                                 \
  BuiltInModel {                                                                                                    \
    name, WICK_EMBEDDED(symbol##_model), WICK_EMBEDDED(symbol##_config), WICK_EMBEDDED(symbol##_generation_config), \
        WICK_EMBEDDED(symbol##_tokenizer), WICK_EMBEDDED(symbol##_tokenizer_config)                                 \
  }

WICK_EMBED_MODEL(wick_ember, "ember");
WICK_EMBED_MODEL(wick_ember_asr, "ember-asr");

namespace wick {

bool has_ember() { return true; }
BuiltInModel ember_files() { return WICK_BUILT_IN(wick_ember, "Ember"); }
BuiltInModel ember_asr_files() { return WICK_BUILT_IN(wick_ember_asr, "Ember-ASR"); }

}  // namespace wick

#else

namespace wick {
namespace {

Error not_here(const char* name) {
  return {ErrorCode::kUnsupported, cat("this program was built without ", name, " (WICK_EMBER=OFF); name a model")};
}

}  // namespace

bool has_ember() { return false; }
BuiltInModel ember_files() { throw not_here("Ember"); }
BuiltInModel ember_asr_files() { throw not_here("Ember-ASR"); }

}  // namespace wick

#endif
