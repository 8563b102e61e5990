#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/checkpoint.h"

namespace wick {

// How the rows of a text become one vector.
enum class Pooling : uint8_t { kCls, kMean, kMax, kMeanSqrt, kWeightedMean, kLast };
std::string_view to_string(Pooling pooling);  // as sentence-transformers spells it: "cls", "mean", ...
std::optional<Pooling> pooling_named(std::string_view name);
std::optional<int64_t> gguf_pooling(Pooling pooling);  // pooling_type; empty: GGUF has none for it

// A linear behind the pooling.
struct DenseModule {
  std::filesystem::path folder;
  int64_t inputs = 0, outputs = 0;
  bool has_bias = true, has_tanh = false;
  std::string tensor = {};  // in a GGUF file, which `folder` then is; empty: "linear" of the folder
};

// What a folder of sentence-transformers says beside the encoder itself: modules.json and the files it names.
struct SentenceFolder {
  Pooling pooling = Pooling::kMean;
  std::vector<DenseModule> dense;
  bool normalizes = true;
  std::optional<int64_t> most_tokens;          // sentence_bert_config.json
  std::map<std::string, std::string> prompts;  // config_sentence_transformers.json
  std::string default_prompt;                  // its text; empty: none
  bool is_plain = true;  // there is no modules.json: the usual way is taken, the mean of all rows, normalised

  // Throws Error(kBadFile) naming the field at fault, Error(kUnsupported) for modules and poolings that are not known.
  static SentenceFolder read(const std::filesystem::path& folder);
  // The same of a GGUF file, which says no more than the pooling; vectors are normalised.
  static SentenceFolder of_gguf(const Checkpoint& gguf);
};

}  // namespace wick
