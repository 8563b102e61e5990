#include "tokenizer/stages/byte_tokens.h"

#include "base/text.h"

namespace wick {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string byte_token(unsigned char byte) { return cat("<0x", kDigits[byte >> 4], kDigits[byte & 15], ">"); }

std::optional<unsigned char> byte_of_token(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return std::nullopt;
  const int high = hex_value(piece[3]), low = hex_value(piece[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<unsigned char>(high << 4 | low);
}

std::array<int, 256> byte_token_ids(const Vocabulary& vocabulary) {
  std::array<int, 256> ids{};
  for (int byte = 0; byte < 256; ++byte) ids[byte] = vocabulary.find(byte_token(static_cast<unsigned char>(byte)));
  return ids;
}

}  // namespace wick
