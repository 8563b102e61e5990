#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "engine/text/text_model.h"
#include "support/hybrid_models.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {

// A tokenizer of words "a0", "a1", ...
inline void write_word_tokenizer(const std::filesystem::path& folder, int vocabulary = 192) {
  std::ofstream tokenizer(folder / "tokenizer.json");
  tokenizer << R"({"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"Whitespace"},)"
            << R"("model":{"type":"WordLevel","unk_token":"a0","vocab":{)";
  for (int id = 0; id < vocabulary; ++id) tokenizer << (id ? "," : "") << "\"a" << id << "\":" << id;
  tokenizer << "}}}";
}

// Writes a family's fixture with such a tokenizer, so that engines can run it.
inline void write_tiny_text_model(const std::string& family, const std::filesystem::path& folder,
                                  int vocabulary = 192) {
  copy_model(model_folder(family), folder, "{", "{");
  write_word_tokenizer(folder, vocabulary);
}

inline std::shared_ptr<const TextModel> tiny_text_model(const std::string& family, const LoadOptions& options = {}) {
  const TempFolder folder;
  write_tiny_text_model(family, folder.path());
  return TextModel::load(folder.path(), options);
}

}  // namespace wick
