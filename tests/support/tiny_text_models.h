#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "engine/text_model.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {

// A family's fixture with a tokenizer of words "a0", "a1", ... so that engines can run it. Nothing ends its texts.
inline std::shared_ptr<const TextModel> tiny_text_model(const std::string& family, int vocabulary = 192) {
  const TempFolder folder;
  copy_model(family_folder(family), folder.path(), "{", "{");
  std::ofstream tokenizer(folder.path() / "tokenizer.json");
  tokenizer << R"({"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"Whitespace"},)"
            << R"("model":{"type":"WordLevel","unk_token":"a0","vocab":{)";
  for (int id = 0; id < vocabulary; ++id) tokenizer << (id ? "," : "") << "\"a" << id << "\":" << id;
  tokenizer << "}}}";
  tokenizer.close();
  return TextModel::load(folder.path());
}

}  // namespace wick
