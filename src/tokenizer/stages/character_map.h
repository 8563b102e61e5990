#pragma once

#include <array>
#include <cstdint>

#include "tokenizer/stages/aligned_text.h"
#include "tokenizer/stages/code_points.h"

namespace wick {

// What becomes of a character: it stays, goes, or is replaced by up to three others.
struct Mapped {
  bool stays = true;
  uint8_t count = 0;
  std::array<char32_t, 3> characters{};
};
inline constexpr Mapped kStays;

inline Mapped replaced_by(char32_t c) { return {false, 1, {c}}; }
inline Mapped stays_unless(bool goes) { return {!goes}; }

template <typename Map>
void map_characters(AlignedText& aligned, const Map& map) {
  const std::string& text = aligned.text();
  AlignedText::Rewriter out(aligned);
  uint32_t kept = 0;
  for (uint32_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const Mapped mapped = map(c.value);
    if (!mapped.stays) {
      out.keep(kept, at);
      for (size_t i = 0; i < mapped.count; ++i) out.put(mapped.characters[i], at, at + c.bytes);
      kept = at + c.bytes;
    }
    at += c.bytes;
  }
  out.keep(kept, static_cast<uint32_t>(text.size()));
  out.finish();
}

Mapped lower_case(char32_t c);

}  // namespace wick
