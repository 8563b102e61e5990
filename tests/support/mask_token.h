#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "support/sentence_folder.h"

namespace wick {

// The tokenizer's ":" becomes the mask.
inline void add_mask(const TinySentences& folder) {
  std::ifstream in(folder.path() / "tokenizer.json");
  std::string json{std::istreambuf_iterator<char>(in), {}};
  const std::string from = R"(":": 4)", list = R"("added_tokens": [)";
  json.replace(json.find(from), from.size(), R"("[MASK]": 4)");
  json.insert(json.find(list) + list.size(),
              R"({"id": 4, "content": "[MASK]", "special": true, "single_word": false, "lstrip": false, "rstrip": false,
                  "normalized": false},)");
  folder.write("tokenizer.json", json);
}

}  // namespace wick
