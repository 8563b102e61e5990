#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/forward_batch.h"
#include "models/language_model.h"

namespace wick {

// Sound stands in a prompt as rows of an encoder's output. Where texts are compared (to share keys and values,
// to answer equal requests once) a row is known by a hash of its contents, a number below 0.

// Puts those hashes into the prompt where rows are given. Throws Error(kInvalidArgument) for a model that takes none,
// and for rows of another shape, out of order or outside the prompt.
void name_embeddings(std::vector<int32_t>& prompt, std::span<const InputEmbeddings> embeddings,
                     const LanguageModel& model);

// A token for the forward pass: any, where a row takes its place.
inline int32_t token_or_place(int32_t token) { return token < 0 ? 0 : token; }

}  // namespace wick
