#include "hub/model_name.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "hub/short_names.h"

namespace wick {
namespace {

constexpr size_t kMaxRepo = 96;  // the hub's own limit
constexpr size_t kMaxPart = 255, kMaxPath = 1024, kMaxDepth = 32;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c); });
}

// "--" stands for the slash in the cache's folder names, so no name of the hub holds it.
bool is_repo_part(std::string_view part) {
  const auto is_edge = [](char c) { return c == '-' || c == '.'; };
  return is_plain(part) && !is_edge(part.front()) && !is_edge(part.back()) && part.find("--") == std::string::npos &&
         part.find("..") == std::string::npos;
}

template <typename Check>
bool every_part(std::string_view path, const Check& check) {
  for (size_t begin = 0, depth = 0;; ++depth) {
    const size_t slash = path.find('/', begin);
    const std::string_view part = path.substr(begin, slash - begin);
    if (depth == kMaxDepth || part.empty() || part == "." || part == ".." || !check(part)) return false;
    if (slash == std::string::npos) return true;
    begin = slash + 1;
  }
}

bool is_revision(std::string_view text) {
  return text.size() <= kMaxPart && every_part(text, [](std::string_view part) { return is_plain(part); });
}

}  // namespace

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_commit(std::string_view text) { return is_hex(text, 40); }

bool is_safe_file_name(std::string_view name) {
  return name.size() <= kMaxPath && is_utf8(name) && every_part(name, [](std::string_view part) {
           return part.size() <= kMaxPart && std::none_of(part.begin(), part.end(), [](char c) {
                    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\';
                  });
         });
}

std::string ModelName::text() const {
  std::string text = repo;
  if (!file.empty()) text += cat("/", file);
  if (revision != "main") text += cat("@", revision);
  if (!variant.empty()) text += cat(":", variant);
  return text;
}

std::optional<ModelName> parse_model_name(std::string_view text) {
  ModelName name;
  if (const size_t colon = text.find(':'); colon != std::string::npos) {
    name.variant = text.substr(colon + 1);
    if (!is_plain(name.variant)) return std::nullopt;
    text = text.substr(0, colon);
  }
  if (const size_t at = text.find('@'); at != std::string::npos) {
    name.revision = text.substr(at + 1);
    if (!is_revision(name.revision)) return std::nullopt;
    text = text.substr(0, at);
  }
  const size_t first = text.find('/');
  const size_t second = first == std::string::npos ? first : text.find('/', first + 1);
  if (second != std::string::npos) {
    name.file = text.substr(second + 1);
    if (!is_safe_file_name(name.file) || !name.variant.empty()) return std::nullopt;
    text = text.substr(0, second);
  }
  name.repo = text;
  if (text.size() > kMaxRepo || !every_part(text, is_repo_part)) return std::nullopt;
  if (const auto repo = repo_of_short_name(text); !repo.empty()) {
    name.repo = repo;
  } else if (const auto sized = repo_of_short_name(cat(text, "-", name.variant)); !sized.empty()) {
    name.repo = sized;  // qwen3:0.6b
    name.variant.clear();
  }
  return name;
}

}  // namespace wick
