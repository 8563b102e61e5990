#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wick {

// A model of the hub as a user writes it: Org/Name, Org/Name@revision, Org/Name:Q4_K_M (the GGUF file of that type) or
// Org/Name/file.gguf; the last two take a revision, too: Org/Name@revision:Q4_K_M, Org/Name/file.gguf@revision. A short
// name (short_names.h) stands for Org/Name: qwen3-0.6b, or qwen3:0.6b.
struct ModelName {
  std::string repo;  // "Org/Name"; old models have no owner: "Name"
  std::string revision = "main";
  std::string file;     // empty: the whole model
  std::string variant;  // empty: no type was named

  // As it is written; "main" is left out.
  std::string text() const;
};

// Empty when the text cannot be such a name. What comes back is safe to make paths of: letters, digits and ._- only,
// no part of it is "." or "..", nothing begins with a slash.
std::optional<ModelName> parse_model_name(std::string_view text);

// Whether the path of a file in a repository stays inside a folder: relative, without "..", without empty parts,
// control characters or backslashes, and no longer than file systems take.
bool is_safe_file_name(std::string_view name);

// 40 hexadecimal digits in small letters.
bool is_commit(std::string_view text);
bool is_hex(std::string_view text, size_t digits);

}  // namespace wick
