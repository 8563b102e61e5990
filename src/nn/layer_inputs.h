#pragma once

#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

// Embeddings of Gemma 3n and 4 that each layer has for itself: every token has a small vector for every layer, of its
// own and of what its embedding is projected to.
struct LayerEmbeddings {
  Tensor table;       // [vocabulary, layers * size], as the file holds it
  Tensor rows;        // i64 [tokens, 1]: the table's row of each token; undefined: the token itself
  Linear projection;  // [layers * size, hidden]
  Norm norm;          // over `size`
  int64_t size = 0;
  float table_scale = 1, projection_scale = 1;

  bool present() const { return projection.defined(); }
  // For tokens `ids` (i64) with embeddings x [tokens, hidden]: [tokens, layers * size].
  Tensor operator()(const Tensor& ids, const Tensor& x) const;
};

// What a layer makes of its part: norm(out(activate(gate(x)) * part)).
struct LayerInput {
  Linear gate, out;  // [size, hidden] and back
  Norm norm;
  Activation activation = Activation::kGeluTanh;

  bool present() const { return gate.defined(); }
  // `inputs` [tokens, layers * size], the part is that of `layer`.
  Tensor operator()(const Tensor& x, const Tensor& inputs, int layer) const;
};

// Learned augmented residual layer: x + norm(right(left(x))), which a layer adds beside its attention.
struct Laurel {
  Linear left, right;  // [rank, hidden] and back
  Norm norm;

  bool present() const { return left.defined(); }
  Tensor operator()(const Tensor& x) const;
};

}  // namespace wick
