#include "engine/gguf_tokenizer.h"

#include "base/text.h"

namespace wick {

GgufVocabulary gguf_vocabulary_of(const Metadata& metadata, const std::string& source) {
  const auto key = [](std::string_view name) { return cat("tokenizer.ggml.", name); };
  const auto has = [&](std::string_view name) { return metadata.find(key(name)) != nullptr; };
  const auto integer = [&](std::string_view name) -> std::optional<int64_t> {
    return has(name) ? std::optional<int64_t>(metadata.integer(key(name))) : std::nullopt;
  };
  const auto boolean = [&](std::string_view name) -> std::optional<bool> {
    return has(name) ? std::optional<bool>(metadata.boolean(key(name))) : std::nullopt;
  };
  GgufVocabulary vocabulary;
  vocabulary.source = source;
  vocabulary.model = metadata.text(key("model"));
  if (has("pre")) vocabulary.pre = metadata.text(key("pre"));
  vocabulary.tokens = metadata.array(key("tokens")).texts(key("tokens"));
  if (has("scores")) {
    for (const double score : metadata.array(key("scores")).numbers(key("scores"))) {
      vocabulary.scores.push_back(static_cast<float>(score));
    }
  }
  if (has("token_type")) {
    for (const int64_t type : metadata.array(key("token_type")).integers(key("token_type"))) {
      vocabulary.token_types.push_back(static_cast<int32_t>(type));
    }
  }
  if (has("merges")) vocabulary.merges = metadata.array(key("merges")).texts(key("merges"));
  if (has("precompiled_charsmap")) {
    for (const int64_t byte : metadata.array(key("precompiled_charsmap")).integers(key("precompiled_charsmap"))) {
      vocabulary.precompiled_charsmap += static_cast<char>(byte);
    }
  }
  vocabulary.bos_id = integer("bos_token_id");
  vocabulary.eos_id = integer("eos_token_id");
  vocabulary.unk_id = integer("unknown_token_id");
  vocabulary.sep_id = integer("seperator_token_id");  // as the format spells it
  vocabulary.pad_id = integer("padding_token_id");
  vocabulary.add_bos = boolean("add_bos_token");
  vocabulary.add_eos = boolean("add_eos_token");
  vocabulary.add_sep = boolean("add_sep_token");
  vocabulary.add_space_prefix = boolean("add_space_prefix");
  vocabulary.remove_extra_whitespaces = boolean("remove_extra_whitespaces");
  return vocabulary;
}

}  // namespace wick
