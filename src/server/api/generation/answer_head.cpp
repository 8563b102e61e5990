#include "server/api/generation/answer_head.h"

#include <chrono>
#include <random>

namespace wick {

std::string make_id(std::string_view prefix) {
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  thread_local std::mt19937_64 numbers{std::random_device{}()};
  std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
  std::string id(prefix);
  for (int i = 0; i < 24; ++i) id += kLetters[letter(numbers)];
  return id;
}

std::string system_fingerprint(std::string_view model) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto mix = [&](std::string_view text) {
    for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  };
  mix(WICK_VERSION);
  mix("\n");
  mix(model);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "fp_";
  for (int shift = 36; shift >= 0; shift -= 4) text += kDigits[(hash >> shift) & 15];
  return text;
}

AnswerHead make_answer_head(std::string_view id_prefix, const std::string& model) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {make_id(id_prefix), std::chrono::duration_cast<std::chrono::seconds>(now).count(), model,
          system_fingerprint(model)};
}

}  // namespace wick
