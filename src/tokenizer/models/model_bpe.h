#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// Byte-pair encoding: starts from single characters (or bytes) and joins the pair of lowest rank, leftmost first, until
// no pair is left.
class BpeModel : public TokenModel {
 public:
  struct Options {
    int unknown_id = Vocabulary::kNone;  // kNone: characters without a token are left out
    bool fuse_unknown = false;
    bool byte_fallback = false;      // characters without a token become "<0xNN>" tokens
    bool ignore_merges = false;      // a piece that is a token as a whole is not taken apart
    bool byte_letters = false;       // the vocabulary writes bytes as letters, the text has bytes
    bool raw_bytes = false;          // the vocabulary holds bytes
    std::string continuing_prefix;   // of tokens that do not start a word
    std::string end_of_word_suffix;  // of tokens that end a word
  };
  BpeModel(std::shared_ptr<const Vocabulary> vocabulary, MergeTable merges, Options options);
  void encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const override;

 private:
  struct Symbol {
    int id;
    uint32_t bytes;
  };
  struct Work;  // buffers that a call reuses from piece to piece

  void add_one_or_two(std::string_view bytes, uint32_t at, TokenSink& sink) const;
  void encode_uncached(std::string_view piece, Work& work) const;
  void encode_at_word_marks(std::string_view piece, Work& work) const;
  void encode_long(std::string_view word, Work& work) const;
  bool stay_apart(std::string_view bytes, size_t left, Work& work) const;
  void encode_word(std::string_view word, Work& work) const;
  void split_bytes(std::string_view word, Work& work) const;
  void split_characters(std::string_view word, Work& work) const;
  bool add_fallback_bytes(std::string_view text, Work& work) const;
  int id_of_whole(std::string_view piece, Work& work) const;
  void merge_few(Work& work, size_t first) const;
  void merge_by_heap(Work& work, size_t first) const;
  bool merge_in_passes(Work& work, size_t first) const;
  void merge_by_rank(Work& work, size_t first) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  MergeTable merges_;
  Options options_;
  std::array<int, 256> byte_ids_{};      // the token of each byte, when the text is read as bytes
  std::array<int, 256> fallback_ids_{};  // "<0xNN>"
  std::vector<uint32_t> byte_ranks_;     // of each pair of bytes, when the text is read as bytes
  bool reads_bytes_ = false;
  bool cuts_at_word_marks_ = false;
  uint32_t owner_ = 0;
};

}  // namespace wick
