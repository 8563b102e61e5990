#include "server/http/clients/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

// Characters that can stand in a header field as they are.
bool is_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

constexpr std::string_view kPriorities = " low normal high critical ";

// "requests=60"; false: it is nothing that a key may have.
bool set_limit(KeyLimits& limits, std::string_view name, const std::string& value) {
  if (name == "priority") {
    limits.priority = value;
    return !value.empty() && kPriorities.find(cat(" ", value, " ")) != std::string_view::npos;
  }
  if (name == "cache") {
    limits.shares_cache = value == "shared";
    return limits.shares_cache || value == "own";
  }
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != 0 || !(number > 0) || number > 1e12) return false;
  if (name == "connections") {
    limits.connections = static_cast<int64_t>(number);
    return number == std::floor(number);
  }
  double* const field = name == "requests" ? &limits.requests_per_minute
                        : name == "tokens" ? &limits.tokens_per_minute
                        : name == "weight" ? &limits.weight
                                           : nullptr;
  if (field) *field = number;
  return field != nullptr;
}

Error bad_line(std::string_view source, int number, std::string_view what) {
  return Error(ErrorCode::kBadFile, cat(source, ": line ", number, ": ", what));
}

}  // namespace

namespace {

KeyLimits read_limits(KeyLimits limits, std::string_view text, std::string_view source, int number) {
  while (!(text = trimmed(text)).empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    const size_t equals = word.find('=');
    const bool is_good = equals != std::string_view::npos &&
                         set_limit(limits, word.substr(0, equals), std::string(word.substr(equals + 1)));
    if (is_good) continue;
    // It may be a part of a key, which nobody is to read.
    throw bad_line(source, number,
                   "behind the key stands something else than connections=N, requests=N, tokens=N, weight=X, "
                   "priority=low|normal|high|critical or cache=own|shared");
  }
  return limits;
}

}  // namespace

ApiKeys ApiKeys::load(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::kIo, cat(path, ": cannot be opened for reading"));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) throw Error(ErrorCode::kIo, cat(path, ": cannot be read"));
  return parse(text, path.string());
}

ApiKeys ApiKeys::parse(std::string_view text, std::string_view source) {
  ApiKeys result;
  KeyLimits usual;
  int number = 0;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    ++number;
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('*')) {
      usual = read_limits(usual, line.substr(1), source, number);
      continue;
    }
    const size_t colon = line.find(':');
    const bool named = colon != std::string_view::npos;
    std::string name = named ? std::string(trimmed(line.substr(0, colon))) : cat("key-", result.keys_.size() + 1);
    const std::string_view rest = named ? trimmed(line.substr(colon + 1)) : line;
    const std::string_view key = rest.substr(0, rest.find_first_of(" \t"));
    if (name.empty() || !is_utf8(name)) throw bad_line(source, number, "the name before ':' is empty or not UTF-8");
    if (key.empty()) throw bad_line(source, number, cat("no key follows the name ", in_quotes(name)));
    if (!is_key(key)) throw bad_line(source, number, "a key holds visible ASCII characters only, and no blanks");
    const Digest digest = digest_of(key);
    for (const Key& other : result.keys_) {
      if (other.digest == digest) throw bad_line(source, number, cat("the same key as ", in_quotes(other.known.name)));
      if (other.known.name == name)
        throw bad_line(source, number, cat("the name ", in_quotes(name), " is there twice"));
    }
    KeyLimits limits = read_limits(usual, rest.substr(key.size()), source, number);
    result.keys_.push_back({{std::move(name), std::move(limits)}, digest});
  }
  if (result.keys_.empty()) throw Error(ErrorCode::kBadFile, cat(source, ": there is no key in it"));
  return result;
}

ApiKeys::Digest ApiKeys::digest_of(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

const ApiKeys::Known* ApiKeys::find(std::string_view key) const {
  const Digest digest = digest_of(key);
  size_t found = 0;  // 1 + index; the sum has one term at most, and no branch tells which
  for (size_t i = 0; i < keys_.size(); ++i) {
    const int differs = CRYPTO_memcmp(digest.data(), keys_[i].digest.data(), digest.size());
    found += (i + 1) * static_cast<size_t>(differs == 0);
  }
  return found == 0 ? nullptr : &keys_[found - 1].known;
}

std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kBearer = "bearer ";
  if (authorization.size() <= kBearer.size()) return {};
  const bool is_bearer = std::equal(kBearer.begin(), kBearer.end(), authorization.begin(),
                                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  return is_bearer ? trimmed(authorization.substr(kBearer.size())) : std::string_view();
}

}  // namespace wick
