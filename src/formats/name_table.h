#pragma once

#include <span>
#include <string_view>

#include "formats/names.h"

namespace wick {

// A line of the table. {layer} and {expert} stand for numbers, a final ".*" for ".weight" or ".bias".
struct NameRule {
  std::string_view gguf, hf;
  ByteChange change = ByteChange::kSame;
};

// Lines that share a prefix on each side.
struct NameGroup {
  std::string_view gguf_prefix, hf_prefix;
  std::span<const NameRule> rules;
};

// The groups of a GGUF architecture in order of preference: what is particular first, what is shared last.
std::span<const NameGroup* const> name_groups(std::string_view gguf_architecture);

}  // namespace wick
