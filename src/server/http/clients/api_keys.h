#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/clients/caller.h"

namespace wick {

// The keys that clients may show as "Authorization: Bearer <key>". Only their digests are kept.
class ApiKeys {
 public:
  // One key per line, or "name: key"; blank lines and lines that begin with # do not count. A key without a name is
  // called "key-1" by its place among the keys. Behind it may stand what it may have, "connections=8 weight=2"; a line
  // that begins with "*" says it for all keys behind that line. Throws Error(kBadFile) naming the line, never the key.
  static ApiKeys load(const std::filesystem::path& path);
  static ApiKeys parse(std::string_view text, std::string_view source);

  struct Known {
    std::string name;
    KeyLimits limits;
  };
  // Null when it is none of them. How long this takes depends on the length of `key` and on nothing else: every stored
  // digest is compared to its end.
  const Known* find(std::string_view key) const;
  size_t size() const { return keys_.size(); }

 private:
  using Digest = std::array<unsigned char, 32>;  // SHA-256
  struct Key {
    Known known;
    Digest digest;
  };
  static Digest digest_of(std::string_view key);

  std::vector<Key> keys_;
};

// What stands behind "Bearer " in an Authorization field; empty when it is of another kind.
std::string_view bearer_token(std::string_view authorization);

}  // namespace wick
