#include "models/codecs/quantizer.h"

#include "base/error.h"
#include "base/text.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr double kLeastUsage = 1e-5;  // of the training's running averages

Tensor load_vectors(WeightLoader& loader, BookNames names, const std::string& prefix, int64_t index, int64_t entries,
                    int64_t width) {
  if (names == BookNames::kEncodec)
    return loader.vector(cat(prefix, "layers.", index, ".codebook.embed"), {entries, width});
  const bool moshi = names == BookNames::kMoshi;
  const std::string stem = cat(prefix, moshi ? "vq.layers." : "layers.", index, moshi ? "._codebook." : ".codebook.");
  const Tensor sums = loader.vector(stem + (moshi ? "embedding_sum" : "embed_sum"), {entries, width});
  const Tensor usage = loader.vector(stem + "cluster_usage", {entries, 1});
  if (!sums.defined()) return {};
  return div(sums, maximum(usage, kLeastUsage));
}

}  // namespace

ResidualQuantizer::ResidualQuantizer(WeightLoader& loader, BookNames names, const std::string& prefix, int64_t books,
                                     int64_t entries, int64_t width, int64_t outer, bool encodes)
    : width_(width), device_(loader.device()) {
  const ArenaPause keep;
  for (int64_t i = 0; i < books; ++i) {
    Book book;
    book.vectors = load_vectors(loader, names, prefix, i, entries, width);
    if (book.vectors.defined() && encodes) book.halves = mul(reshape(sum(sqr(book.vectors), {1}), {1, entries}), 0.5);
    books_.push_back(std::move(book));
  }
  if (outer == 0) return;
  const auto projection = [&](const char* name, int64_t to, int64_t from) {
    Linear linear;
    const Tensor weight = loader.vector(cat(prefix, name, ".weight"), {to, from, 1});
    if (weight.defined()) linear.weight = reshape(weight, {to, from});
    return linear;
  };
  if (encodes) in_ = projection("input_proj", width, outer);
  out_ = projection("output_proj", outer, width);
}

Tensor ResidualQuantizer::decode(std::span<const int32_t> codes, int64_t stride, int64_t first, int64_t count) const {
  const auto frames = static_cast<int64_t>(codes.size()) / stride;
  Tensor total;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> ids(static_cast<size_t>(frames));
    for (int64_t t = 0; t < frames; ++t) {
      ids[static_cast<size_t>(t)] = codes[static_cast<size_t>(t * stride + first + i)];
    }
    const Tensor rows = take_rows(books_[static_cast<size_t>(i)].vectors, from_vector(ids, {frames}, device_));
    total = total.defined() ? add(total, rows) : rows;
  }
  return out_.defined() ? out_(total) : total;
}

void ResidualQuantizer::encode(const Tensor& rows, std::span<int32_t> codes, int64_t stride, int64_t first,
                               int64_t count) const {
  Tensor rest = in_.defined() ? in_(rows) : rows;
  for (int64_t i = 0; i < count; ++i) {
    const Book& book = books_[static_cast<size_t>(i)];
    // The nearest has the largest product with the row less half of its own square.
    const Tensor chosen = argmax(sub(matmul(rest, transpose(book.vectors, 0, 1)), book.halves), 1);
    rest = sub(rest, take_rows(book.vectors, chosen));
    const std::vector<int64_t> ids = chosen.to_vector<int64_t>();
    for (size_t t = 0; t < ids.size(); ++t) {
      codes[t * static_cast<size_t>(stride) + static_cast<size_t>(first + i)] = static_cast<int32_t>(ids[t]);
    }
  }
}

void check_codes(std::span<const int32_t> codes, int64_t books, int64_t entries) {
  if (codes.size() % static_cast<size_t>(books) != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(codes.size(), " codes are no whole number of frames of ", books, " codes each"));
  }
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] >= 0 && codes[i] < entries) continue;
    throw Error(ErrorCode::kInvalidArgument,
                cat("code ", i % static_cast<size_t>(books), " of frame ", i / static_cast<size_t>(books), " is ",
                    codes[i], ", expected 0 to ", entries - 1));
  }
}

}  // namespace wick
