#include "tokenizer/stages/charsmap.h"

#include <utf8proc.h>

#include <cstring>

#include "base/base64.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr size_t kLongestGrapheme = 6;  // bytes; longer ones are looked up character by character

class CharsmapNormalizer : public Normalizer {
 public:
  CharsmapNormalizer(Charsmap map, CharsmapReading reading) : map_(std::move(map)), reading_(reading) {}

  void apply(AlignedText& aligned) const override {
    if (reading_ == CharsmapReading::kSentencePiece) {
      apply_longest(aligned);
    } else {
      apply_graphemes(aligned);
    }
  }

 private:
  void apply_longest(AlignedText& aligned) const {
    const std::string_view text = aligned.text();
    AlignedText::Rewriter out(aligned);
    for (uint32_t at = 0; at < text.size();) {
      const auto found = map_.longest(text.substr(at));
      const uint32_t bytes = found ? found->bytes : code_point_at(text, at).bytes;
      if (found) {
        out.put(found->replacement, at, at + bytes);
      } else {
        out.keep(at, at + bytes);
      }
      at += bytes;
      while (at < text.size() && !is_utf8_start(text[at])) ++at;  // a table of broken characters
    }
    out.finish();
  }

  void apply_graphemes(AlignedText& aligned) const {
    const std::string_view text = aligned.text();
    AlignedText::Rewriter out(aligned);
    for (uint32_t at = 0; at < text.size();) {
      const uint32_t end = grapheme_end(text, at);
      if (end - at < kLongestGrapheme && replace(out, text, at, end)) {
        at = end;
        continue;
      }
      while (at < end) {
        const uint32_t next = at + code_point_at(text, at).bytes;
        if (!replace(out, text, at, next)) out.keep(at, next);
        at = next;
      }
    }
    out.finish();
  }

  bool replace(AlignedText::Rewriter& out, std::string_view text, uint32_t begin, uint32_t end) const {
    const auto found = map_.shortest(text.substr(begin, end - begin));
    if (found) out.put(found->replacement, begin, end);
    return found.has_value();
  }

  static uint32_t grapheme_end(std::string_view text, uint32_t at) {
    CodePoint c = code_point_at(text, at);
    utf8proc_int32_t state = 0;
    while (true) {
      at += c.bytes;
      if (at >= text.size()) return at;
      const CodePoint next = code_point_at(text, at);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.value),
                                           static_cast<utf8proc_int32_t>(next.value), &state)) {
        return at;
      }
      c = next;
    }
  }

  Charsmap map_;
  CharsmapReading reading_;
};

}  // namespace

Charsmap Charsmap::from_bytes(std::string_view bytes, const std::string& place) {
  const auto bad = [&](std::string_view what) { return Error(ErrorCode::kBadFile, cat(place, ": ", what)); };
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof(trie_bytes)) throw bad("the table of replacements is cut off");
  std::memcpy(&trie_bytes, bytes.data(), sizeof(trie_bytes));
  bytes.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes > bytes.size() || trie_bytes % 4 != 0 || trie_bytes == 0) {
    throw bad(
        cat("the table of replacements says its trie has ", trie_bytes, " bytes, but ", bytes.size(), " bytes follow"));
  }
  Charsmap map;
  map.units_.resize(trie_bytes / 4);
  std::memcpy(map.units_.data(), bytes.data(), trie_bytes);
  map.replacements_ = bytes.substr(trie_bytes);
  if (find_invalid_utf8(map.replacements_) != std::string::npos) throw bad("a replacement is not valid UTF-8");
  return map;
}

Charsmap Charsmap::from_base64(std::string_view text, const std::string& place) {
  const auto bytes = decode_base64(text);
  if (!bytes) throw Error(ErrorCode::kBadFile, cat(place, ": is not base64"));
  return from_bytes(*bytes, place);
}

// A unit: bits 0-7 the byte that leads here, bit 8 "a value follows", bits 10-30 the offset of the children (times 256
// when bit 9 is set); a value has bit 31 set and may have any byte.
template <typename Seen>
void Charsmap::walk(std::string_view text, const Seen& seen) const {
  const auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); };
  uint32_t node = offset(units_[0]);
  for (uint32_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) return;
    node ^= byte;
    if (node >= units_.size()) return;
    const uint32_t unit = units_[node];
    if ((unit & ((1U << 31) | 0xFF)) != byte) return;
    node ^= offset(unit);
    if (node >= units_.size()) return;
    if ((unit >> 8) & 1) {
      if (!seen(units_[node] & 0x7FFFFFFF, i + 1)) return;
    }
  }
}

std::string_view Charsmap::replacement_at(uint32_t offset) const {
  if (offset >= replacements_.size()) return {};
  // An offset into the middle of a character gives nothing.
  if (!is_utf8_start(replacements_[offset])) return {};
  const std::string_view rest = std::string_view(replacements_).substr(offset);
  return rest.substr(0, rest.find('\0'));
}

std::optional<Charsmap::Found> Charsmap::shortest(std::string_view text) const {
  std::optional<Found> found;
  walk(text, [&](uint32_t offset, uint32_t bytes) {
    found = {replacement_at(offset), bytes};
    return false;
  });
  return found;
}

std::optional<Charsmap::Found> Charsmap::longest(std::string_view text) const {
  std::optional<Found> found;
  walk(text, [&](uint32_t offset, uint32_t bytes) {
    found = {replacement_at(offset), bytes};
    return true;
  });
  return found;
}

NormalizerPtr charsmap_normalizer(Charsmap map, CharsmapReading reading) {
  return std::make_unique<CharsmapNormalizer>(std::move(map), reading);
}

}  // namespace wick
