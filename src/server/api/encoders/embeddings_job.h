#pragma once

#include <memory>
#include <span>
#include <string>

#include "embed/embedder.h"
#include "server/api/encoders/embeddings_request.h"
#include "server/http/exchange.h"

namespace wick {

struct EmbeddedTexts {
  Tensor vectors;  // f32 [texts, dimensions]
  int64_t tokens = 0;
};
// Throws RequestError before anything is computed. What it costs is spent; ends early when the client goes.
EmbeddedTexts embed_all(const EmbeddingsRequest& wanted, const Embedder& embedder, const Caller& caller,
                        const std::shared_ptr<HttpExchange>& exchange);

// JSON: a list of numbers, or their bytes as text.
void append_vector(std::string& out, std::span<const float> vector, bool as_base64 = false);
std::span<const float> vector_of(const Tensor& vectors, int64_t text);

}  // namespace wick
