#include "tokenizer/stages/normal_form.h"

#include <utf8proc.h>

#include <array>
#include <bitset>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr char32_t kTableSize = 0x10000;

utf8proc_option_t options_of(NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |= form == NormalForm::kNfc || form == NormalForm::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

std::string map_text(std::string_view text, NormalForm form) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped, options_of(form));
  if (size < 0) {
    throw Error(ErrorCode::kInternal, cat("Unicode normalisation failed: ", utf8proc_errmsg(size)));
  }
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  return {reinterpret_cast<const char*>(mapped), static_cast<size_t>(size)};
}

// Starters that join the character before them when composing: the later parts of a canonical decomposition.
const std::bitset<kTableSize>& joins_backward() {
  static const auto table = [] {
    auto joins = std::make_unique<std::bitset<kTableSize>>();
    std::array<utf8proc_int32_t, 32> parts{};
    for (char32_t c = 0xC0; c < kTableSize; ++c) {
      if (c == 0xAC00) c = 0xD7A4;  // Hangul syllables follow a rule, below
      int boundary = UTF8PROC_BOUNDCLASS_START;
      const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(),
                                                 UTF8PROC_DECOMPOSE, &boundary);
      for (utf8proc_ssize_t i = 1; i < count; ++i) {
        if (parts[i] < static_cast<utf8proc_int32_t>(kTableSize)) joins->set(parts[i]);
      }
    }
    for (char32_t vowel = 0x1161; vowel <= 0x1175; ++vowel) joins->set(vowel);
    for (char32_t tail = 0x11A8; tail <= 0x11C2; ++tail) joins->set(tail);
    return joins;
  }();
  return *table;
}

bool compute_inert(char32_t c, NormalForm form) {
  if (c < 0x80) return true;
  const auto value = static_cast<utf8proc_int32_t>(c);
  if (utf8proc_get_property(value)->combining_class != 0 || joins_backward().test(c)) return false;
  std::array<utf8proc_int32_t, 32> parts{};
  int boundary = UTF8PROC_BOUNDCLASS_START;
  const auto options = static_cast<utf8proc_option_t>((options_of(form) & UTF8PROC_COMPAT) | UTF8PROC_DECOMPOSE);
  auto count = utf8proc_decompose_char(value, parts.data(), parts.size(), options, &boundary);
  if (count == 1 && parts[0] == value) return true;
  if (form == NormalForm::kNfd || form == NormalForm::kNfkd || count < 1) return false;
  count = utf8proc_normalize_utf32(parts.data(), count, options_of(form));
  return count == 1 && parts[0] == value;
}

using InertTable = std::bitset<kTableSize>;

template <NormalForm kForm>
const InertTable& inert_table_of() {
  static const auto table = [] {
    auto inert = std::make_unique<InertTable>();
    for (char32_t c = 0; c < kTableSize; ++c) inert->set(c, compute_inert(c, kForm));
    return inert;
  }();
  return *table;
}

const InertTable& inert_table(NormalForm form) {
  switch (form) {
    case NormalForm::kNfc: return inert_table_of<NormalForm::kNfc>();
    case NormalForm::kNfd: return inert_table_of<NormalForm::kNfd>();
    case NormalForm::kNfkc: return inert_table_of<NormalForm::kNfkc>();
    default: return inert_table_of<NormalForm::kNfkd>();
  }
}

// Past the table: pictures and ideographs are inert in every form; the rest is left to utf8proc.
bool is_inert_beyond(char32_t c) { return (c >= 0x1F200 && c < 0x1FBF0) || (c >= 0x20000 && c < 0x2F800); }

// By the first two bytes of a character: whether all that start with them are inert. Spares decoding most of them.
using InertPairs = std::bitset<65536>;

InertPairs make_inert_pairs(NormalForm form) {
  const InertTable& table = inert_table(form);
  InertPairs pairs;
  for (size_t pair = 0; pair < 0x8000; ++pair) pairs.set(pair);  // ASCII, whatever follows it
  const auto all_inert = [&](char32_t first, char32_t count) {
    if (first >= kTableSize) {
      const char32_t last = first + count - 1;
      return is_inert_beyond(first) && is_inert_beyond(last) && (first < 0x20000) == (last < 0x20000);
    }
    for (char32_t c = first; c < first + count; ++c) {
      if (!table.test(c)) return false;
    }
    return true;
  };
  for (size_t second = 0x80; second < 0xC0; ++second) {
    const auto low = static_cast<char32_t>(second & 0x3F);
    for (size_t first = 0xC2; first < 0xE0; ++first) {
      pairs.set(first << 8 | second, all_inert(static_cast<char32_t>(first & 0x1F) << 6 | low, 1));
    }
    for (size_t first = 0xE0; first < 0xF0; ++first) {
      pairs.set(first << 8 | second, all_inert((static_cast<char32_t>(first & 0x0F) << 6 | low) << 6, 64));
    }
    for (size_t first = 0xF0; first < 0xF5; ++first) {
      pairs.set(first << 8 | second, all_inert((static_cast<char32_t>(first & 0x07) << 6 | low) << 12, 4096));
    }
  }
  return pairs;
}

const InertPairs& inert_pairs(NormalForm form) {
  switch (form) {
    case NormalForm::kNfc: static const InertPairs nfc = make_inert_pairs(form); return nfc;
    case NormalForm::kNfd: static const InertPairs nfd = make_inert_pairs(form); return nfd;
    case NormalForm::kNfkc: static const InertPairs nfkc = make_inert_pairs(form); return nfkc;
    default: static const InertPairs nfkd = make_inert_pairs(form); return nfkd;
  }
}

// Calls seen(begin, end, inert) for each character.
template <typename Seen>
void each_character(std::string_view text, NormalForm form, const Seen& seen) {
  const InertTable& table = inert_table(form);
  const InertPairs& pairs = inert_pairs(form);
  const auto byte = [&](size_t at) -> size_t { return static_cast<unsigned char>(text[at]); };
  for (uint32_t at = 0; at < text.size();) {
    const size_t first = byte(at);
    uint32_t bytes = 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0);
    bool inert = pairs.test(first << 8 | byte(at + (bytes > 1)));  // the second byte, or again the first
    if (!inert) {
      const CodePoint c = code_point_at(text, at);
      inert = c.value < kTableSize ? table.test(c.value) : is_inert_beyond(c.value);
      bytes = c.bytes;
    }
    if (!seen(at, at + bytes, inert)) return;
    at += bytes;
  }
}

// Puts `normal` for bytes [begin, end); characters common to both at the ends keep their own place.
void put_changed(AlignedText::Rewriter& out, const std::string& text, uint32_t begin, uint32_t end,
                 std::string_view normal) {
  const std::string_view old(text.data() + begin, end - begin);
  size_t head = 0;
  while (head < old.size() && head < normal.size() && old[head] == normal[head]) ++head;
  while (head > 0 &&
         ((head < old.size() && !is_utf8_start(old[head])) || (head < normal.size() && !is_utf8_start(normal[head])))) {
    --head;
  }
  size_t tail = 0;
  while (tail < old.size() - head && tail < normal.size() - head &&
         old[old.size() - 1 - tail] == normal[normal.size() - 1 - tail]) {
    ++tail;
  }
  while (tail > 0 && !is_utf8_start(old[old.size() - tail])) --tail;
  out.keep(begin, begin + head);
  const std::string_view middle = normal.substr(head, normal.size() - head - tail);
  if (!middle.empty()) out.put(middle, begin + head, end - tail);
  out.keep(end - tail, end);
}

// When nothing was joined or reordered, each character keeps its own place.
bool put_by_character(AlignedText::Rewriter& out, const std::string& text, uint32_t begin, uint32_t end,
                      std::string_view normal, NormalForm form) {
  std::vector<std::string> parts;
  size_t done = 0;
  for (uint32_t at = begin; at < end;) {
    const uint32_t bytes = code_point_at(text, at).bytes;
    parts.push_back(map_text(std::string_view(text).substr(at, bytes), form));
    if (normal.substr(done, parts.back().size()) != parts.back()) return false;
    done += parts.back().size();
    at += bytes;
  }
  if (done != normal.size()) return false;
  uint32_t at = begin;
  for (const std::string& part : parts) {
    const uint32_t bytes = code_point_at(text, at).bytes;
    out.put(part, at, at + bytes);
    at += bytes;
  }
  return true;
}

}  // namespace

bool is_plainly_normal(std::string_view text, NormalForm form) {
  // Every character before U+00A0 is inert in all forms; before U+0300 when composing canonically.
  const unsigned char limit = form == NormalForm::kNfc ? 0xCC : 0x80;
  size_t at = 0;
  while (at < text.size() && static_cast<unsigned char>(text[at]) < limit) ++at;
  if (at == text.size()) return true;
  while (at > 0 && !is_utf8_start(text[at])) --at;
  bool normal = true;
  each_character(text.substr(at), form, [&](uint32_t, uint32_t, bool inert) { return normal = inert; });
  return normal;
}

void normalize(AlignedText& aligned, NormalForm form) {
  if (is_plainly_normal(aligned.text(), form)) return;
  const std::string& text = aligned.text();
  AlignedText::Rewriter out(aligned);
  uint32_t kept = 0;   // everything before is written
  uint32_t start = 0;  // of the last inert character, which the ones after it may join
  bool changing = false;
  const auto flush = [&](uint32_t end) {
    const std::string normal = map_text(std::string_view(text).substr(start, end - start), form);
    out.keep(kept, start);
    if (!aligned.tracked() || !put_by_character(out, text, start, end, normal, form)) {
      put_changed(out, text, start, end, normal);
    }
    kept = end;
    changing = false;
  };
  each_character(text, form, [&](uint32_t begin, uint32_t, bool inert) {
    if (inert) {
      if (changing) flush(begin);
      start = begin;
    } else {
      changing = true;
    }
    return true;
  });
  const auto size = static_cast<uint32_t>(text.size());
  if (changing) flush(size);
  out.keep(kept, size);
  out.finish();
}

}  // namespace wick
