#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/stages/normalizers.h"

namespace wick {

// SentencePiece's compiled table of replacements: a double array trie from text to an offset into a list of
// zero-terminated replacements.
// bytes 0-3: size of the trie in bytes, little endian | the trie, 4 bytes a unit | the replacements
class Charsmap {
 public:
  // Throws Error(kBadFile) naming `place`.
  static Charsmap from_bytes(std::string_view bytes, const std::string& place);
  static Charsmap from_base64(std::string_view text, const std::string& place);

  struct Found {
    std::string_view replacement;
    uint32_t bytes = 0;  // of the text that it replaces
  };
  std::optional<Found> shortest(std::string_view text) const;  // that the text starts with
  std::optional<Found> longest(std::string_view text) const;

 private:
  template <typename Seen>
  void walk(std::string_view text, const Seen& seen) const;
  std::string_view replacement_at(uint32_t offset) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

// The two ways the table is read. SentencePiece replaces the longest text that fits; the tokenizers library looks up
// each grapheme, then each of its characters, and takes the shortest.
enum class CharsmapReading : uint8_t { kSentencePiece, kTokenizers };
NormalizerPtr charsmap_normalizer(Charsmap map, CharsmapReading reading);

}  // namespace wick
