#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/stages/decoders.h"
#include "tokenizer/stages/normalizers.h"

namespace wick {

// How SentencePiece treats text before it is cut.
struct SentencePieceSettings {
  std::string charsmap;                   // the compiled table of replacements; empty: none
  bool add_dummy_prefix = true;           // a blank before the text
  bool remove_extra_whitespaces = false;  // one blank for many, none at the ends
};
// Throws Error(kBadFile) naming `place`.
NormalizerPtr sentencepiece_normalizer(const SentencePieceSettings& settings, const std::string& place);
// Only the marks: "a b" becomes "▁a▁b".
NormalizerPtr marking_normalizer(bool add_prefix);
// Back to text: marks become blanks, byte tokens bytes; the first blank goes when it was added.
std::vector<DecoderPtr> marked_decoders(bool prefix_was_added);

// Places by score, highest first, then by id. NaN gives MergeTable::kNoRank.
std::vector<uint32_t> ranks_of_scores(const std::vector<double>& scores);

}  // namespace wick
