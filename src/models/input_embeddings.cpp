#include "models/input_embeddings.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {

Tensor place_embeddings(const ForwardBatch& batch, const Tensor& x) {
  std::vector<Tensor> parts;    // x, then what is given for rows of this batch
  std::vector<int64_t> source;  // where in those each row comes from
  int64_t begin = 0;
  for (const SequenceRows& rows : batch.sequences) {
    for (const InputEmbeddings& given : rows.embeddings) {
      const int64_t first = std::max(rows.position, given.position);
      const int64_t count = std::min(rows.position + rows.tokens, given.position + given.rows.dim(0)) - first;
      if (count <= 0) continue;
      if (parts.empty()) {
        parts.push_back(x);
        source.resize(static_cast<size_t>(x.dim(0)));
        std::iota(source.begin(), source.end(), int64_t{0});
      }
      int64_t behind = 0;
      for (const Tensor& part : parts) behind += part.dim(0);
      parts.push_back(narrow(given.rows, 0, first - given.position, count));
      const auto place = source.begin() + (begin + first - rows.position);
      std::iota(place, place + count, behind);
    }
    begin += rows.tokens;
  }
  if (parts.empty()) return x;
  const Tensor index = from_vector(source, {x.dim(0)}).to_device(x.device());
  return index_select(concat(parts, 0), 0, index);
}

void check_all_given(const ForwardBatch& batch) {
  for (const SequenceRows& rows : batch.sequences) {
    int64_t given = 0;
    for (const InputEmbeddings& each : rows.embeddings) {
      const int64_t end = std::min(rows.position + rows.tokens, each.position + each.rows.dim(0));
      given += std::max<int64_t>(0, end - std::max(rows.position, each.position));
    }
    if (given == rows.tokens) continue;
    throw Error(ErrorCode::kInvalidArgument, cat("forward: a sequence brings ", given, " rows for ", rows.tokens,
                                                 " positions of a model that has no embeddings of its own"));
  }
}

}  // namespace wick
