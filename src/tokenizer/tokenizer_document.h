#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/json.h"
#include "tokenizer/added_tokens.h"

namespace wick {

// A Hugging Face tokenizer.json: its parts, checked to be of the right kind, for whoever runs or converts it. Lists of
// 150,000 entries are looked at where they lie, not copied into values. All functions throw Error(kBadFile) naming the
// field at fault.
class TokenizerDocument {
 public:
  enum class Model : uint8_t { kBpe, kUnigram, kWordPiece, kWordLevel };

  // `source` names the file in messages. Throws Error(kUnsupported) for another kind of model.
  TokenizerDocument(std::string_view json, std::string source);
  static TokenizerDocument load(const std::filesystem::path& path);
  ~TokenizerDocument();
  TokenizerDocument(TokenizerDocument&& other) noexcept;

  const std::string& source() const { return source_; }
  Model model() const { return model_; }
  // The small members of 'model': all but vocabulary and merges.
  const Json& settings() const { return settings_; }
  bool byte_fallback() const { return settings_.get("byte_fallback", false); }  // to bytes <0x00> to <0xFF>
  bool ignore_merges() const { return settings_.get("ignore_merges", false); }  // of a word that is a token

  // The model's pieces in the order of the file. `score` is that of Unigram models, whose ids are the places.
  size_t piece_count() const;
  void each_piece(FunctionRef<void(std::string_view piece, int64_t id, double score)> use) const;
  // The merges of BPE in the order of their ranks; the pieces live as long as the document.
  size_t merge_count() const;
  void each_merge(FunctionRef<void(std::string_view left, std::string_view right)> use) const;
  std::vector<AddedToken> added_tokens() const;
  int64_t vocab_size() const;  // the largest id plus one, added tokens included

  // "normalizer", "pre_tokenizer", ... as a value with the usual checks; null when missing.
  Json part(std::string_view name) const;

 private:
  struct Contents;
  Error bad(std::string_view what) const;
  void read_settings();
  Model read_model() const;

  std::string source_;
  std::unique_ptr<Contents> contents_;
  Json settings_;
  Model model_ = Model::kBpe;
};

std::string_view to_string(TokenizerDocument::Model model);  // "BPE", "Unigram", ... as the files spell it

}  // namespace wick
