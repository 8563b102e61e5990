#pragma once

#include <cstdint>

namespace wick::grammar {

// Between the bytes of a UTF-8 character, by what must follow.
enum Utf8State : uint8_t { kBoundary, kTail1, kTail2, kTail3, kAfterE0, kAfterEd, kAfterF0, kAfterF4, kBroken };

inline Utf8State utf8_next(Utf8State state, uint8_t byte) {
  const auto within = [&](int first, int last, Utf8State then) {
    return byte >= first && byte <= last ? then : kBroken;
  };
  switch (state) {
    case kTail1: return within(0x80, 0xBF, kBoundary);
    case kTail2: return within(0x80, 0xBF, kTail1);
    case kTail3: return within(0x80, 0xBF, kTail2);
    case kAfterE0: return within(0xA0, 0xBF, kTail1);
    case kAfterEd: return within(0x80, 0x9F, kTail1);
    case kAfterF0: return within(0x90, 0xBF, kTail2);
    case kAfterF4: return within(0x80, 0x8F, kTail2);
    case kBroken: return kBroken;
    case kBoundary: break;
  }
  if (byte < 0x80) return kBoundary;
  if (byte < 0xC2 || byte > 0xF4) return kBroken;
  if (byte < 0xE0) return kTail1;
  if (byte < 0xF0) return byte == 0xE0 ? kAfterE0 : byte == 0xED ? kAfterEd : kTail2;
  return byte == 0xF0 ? kAfterF0 : byte == 0xF4 ? kAfterF4 : kTail3;
}

}  // namespace wick::grammar
