#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/text.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {

// The fixture of BERT as a folder of sentence-transformers, with a tokenizer whose words are w5, w6, ... by their ids.
class TinySentences {
 public:
  explicit TinySentences(int words = 200) {
    for (const char* name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(family_folder("bert") / name, path() / name);
    }
    std::string vocabulary = R"("[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, ":": 4)";
    for (int id = 5; id < words; ++id) vocabulary += cat(", \"w", id, "\": ", id);
    write("tokenizer.json", cat(R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [
      {"id": 2, "content": "[CLS]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false},
      {"id": 3, "content": "[SEP]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
      "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"},
      "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
        "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
                 {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
      "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                "vocab": {)",
                                vocabulary, "}}}"));
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << text;
  }
  // modules.json with a pooling, and more modules behind it.
  void pools(const std::string& flag, const std::string& more = "") const {
    write("1_Pooling/config.json", cat(R"({"word_embedding_dimension": 64, "pooling_mode_mean_tokens": false, ")", flag,
                                       R"(": true, "include_prompt": true})"));
    write("modules.json",
          cat(R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})",
              more, "]"));
  }

 private:
  TempFolder folder_;
};

inline constexpr char kNormalizeModule[] =
    R"(, {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})";

}  // namespace wick
