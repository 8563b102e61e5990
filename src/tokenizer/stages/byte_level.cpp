#include "tokenizer/stages/byte_level.h"

#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<char32_t, 256> kLetterOfByte = [] {
  std::array<char32_t, 256> letters{};
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) letters[byte] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  return letters;
}();

constexpr std::array<int16_t, 512> kByteOfLetter = [] {
  std::array<int16_t, 512> bytes{};
  for (auto& byte : bytes) byte = -1;
  for (int byte = 0; byte < 256; ++byte) bytes[kLetterOfByte[byte]] = static_cast<int16_t>(byte);
  return bytes;
}();

}  // namespace

const std::array<char32_t, 256>& byte_letters() { return kLetterOfByte; }

std::optional<uint8_t> byte_of_letter(char32_t letter) {
  if (letter >= kByteOfLetter.size() || kByteOfLetter[letter] < 0) return std::nullopt;
  return static_cast<uint8_t>(kByteOfLetter[letter]);
}

std::string bytes_to_letters(std::string_view bytes) {
  std::string letters;
  letters.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(letters, kLetterOfByte[static_cast<unsigned char>(byte)]);
  return letters;
}

void bytes_to_letters(AlignedText& aligned) {
  const std::string& text = aligned.text();
  AlignedText::Rewriter out(aligned);
  for (uint32_t at = 0; at < text.size(); ++at) {
    out.put(kLetterOfByte[static_cast<unsigned char>(text[at])], at, at + 1);
  }
  out.finish();
}

std::optional<std::string> letters_to_bytes(std::string_view letters) {
  std::string bytes;
  bytes.reserve(letters.size());
  for (size_t at = 0; at < letters.size();) {
    const CodePoint c = code_point_at(letters, at);
    const auto byte = byte_of_letter(c.value);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    at += c.bytes;
  }
  return bytes;
}

}  // namespace wick
