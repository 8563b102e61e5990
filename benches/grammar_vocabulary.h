#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/json.h"

namespace wick {

// Byte-level tokenizers write bytes as printable characters: those that are printable stand for themselves, the others
// for U+0100 and up, in order.
inline std::array<int, 512> byte_of_codepoint() {
  std::array<int, 512> table{};
  table.fill(-1);
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    table[static_cast<size_t>(is_plain ? byte : next++)] = byte;
  }
  return table;
}

inline std::string token_bytes(const std::string& text) {
  static const std::array<int, 512> kTable = byte_of_codepoint();
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    auto codepoint = static_cast<unsigned>(static_cast<uint8_t>(text[i]));
    if (codepoint >= 0xC0 && i + 1 < text.size())
      codepoint = (codepoint & 0x1F) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3F);
    if (codepoint < 512 && kTable[codepoint] >= 0) bytes += static_cast<char>(kTable[codepoint]);
  }
  return bytes;
}

inline std::vector<std::string> real_vocabulary(const std::filesystem::path& file) {
  std::string text;
  FILE* pipe = popen(("xz -dc '" + file.string() + "' 2>/dev/null").c_str(), "r");
  if (!pipe) return {};
  std::array<char, 65536> buffer{};
  for (size_t count = 0; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), count);
  if (pclose(pipe) != 0 || text.empty()) return {};
  const Json json = Json::parse(text, file.string());
  std::vector<std::string> tokens;
  for (const auto& [token, id] : json.at("model").at("vocab").as_object()) {
    tokens.resize(std::max(tokens.size(), static_cast<size_t>(id.as_int()) + 1));
    tokens[static_cast<size_t>(id.as_int())] = token_bytes(token);
  }
  return tokens;
}

// Bytes, runs of blanks, punctuation, and 150,000 made-up words, half of them with a space before.
inline std::vector<std::string> synthetic_vocabulary() {
  std::vector<std::string> tokens;
  std::set<std::string> known;
  const auto add = [&](const std::string& token) {
    if (known.insert(token).second) tokens.push_back(token);
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (size_t length = 2; length < 80; ++length) add(std::string(length, ' '));
  for (const char* marks :
       {"\", \"", "\":", "\": \"", "\",", "\"}", "{\"", "},{", "[{", "}]", "\\n", "...", "();", "=\""})
    add(marks);
  std::mt19937 random(1);
  const std::string letters = "etaoinshrdlucmfwypvbgkjqxzETAOINSHRDLUCMFWYPVBGKJQXZ0123456789_-.,:;/'\"()";
  const std::vector<std::string> others = {"é", "ü", "я", "中", "日", "の", "한", "😀", "α", "ع"};
  while (tokens.size() < 150000) {
    std::string word = random() % 2 ? " " : "";
    const size_t length = 1 + std::min(random() % 8, random() % 14);
    const bool is_other = random() % 5 == 0;
    for (size_t i = 0; i < length; ++i) {
      const size_t limit = random() % 8 ? 26 : letters.size();
      word += is_other ? others[random() % others.size()]
                       : std::string(1, letters[std::min(random() % limit, random() % limit)]);
    }
    add(word);
  }
  return tokens;
}

inline std::vector<std::string> bench_vocabulary() {
  const std::string roots = env_text("WICK_EXTRA_FIXTURES").value_or("");
  for (size_t start = 0; start < roots.size();) {
    const size_t end = std::min(roots.find(':', start), roots.size());
    const auto file =
        std::filesystem::path(roots.substr(start, end - start)) / "tokenizers" / "qwen3.tokenizer.json.xz";
    if (std::filesystem::exists(file)) {
      if (auto tokens = real_vocabulary(file); !tokens.empty()) return tokens;
    }
    start = end + 1;
  }
  return synthetic_vocabulary();
}

}  // namespace wick
