#include "engine/text/prompt_embeddings.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

void check(const std::vector<int32_t>& prompt, std::span<const InputEmbeddings> embeddings,
           const LanguageModel& model) {
  const ModelFacts& facts = model.facts();
  if (!facts.takes_embeddings) {
    throw Error(ErrorCode::kInvalidArgument, cat("a model of the family ", facts.family, " takes no embeddings"));
  }
  const auto length = static_cast<int64_t>(prompt.size());
  int64_t next = 0;
  for (const InputEmbeddings& given : embeddings) {
    const Tensor& rows = given.rows;
    if (rows.dtype() != DType::kF32 || rows.rank() != 2 || rows.dim(1) != facts.hidden || rows.dim(0) < 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("embeddings are ", rows.dtype(), " ", rows.shape(), ", expected f32 rows of ", facts.hidden));
    }
    for (const Tensor& deep : given.deep) {
      if (deep.defined() && deep.dtype() == DType::kF32 && deep.shape() == rows.shape()) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  cat("what embeddings bring for layers is other than f32 ", rows.shape()));
    }
    if (given.position < next || given.position > length - rows.dim(0)) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(rows.dim(0), " embeddings at position ", given.position, " of a prompt of ", length,
                      " tokens: they overlap others or the end"));
    }
    next = given.position + rows.dim(0);
  }
}

// Grows by all that a row's keys and values depend on.
class RowHash {
 public:
  void add(uint64_t bits) {
    hash_ = (hash_ ^ bits) * 0xD6E8FEB86659FD93u;
    hash_ ^= hash_ >> 32;
  }
  void add(const Tensor& rows, int64_t row) {
    const float* values = rows.data<float>() + row * rows.dim(1);
    for (int64_t i = 0; i < rows.dim(1); ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, values + i, sizeof bits);
      add(bits);
    }
  }
  int32_t name() const { return -1 - static_cast<int32_t>(hash_ >> 33); }

 private:
  uint64_t hash_ = 0x9E3779B97F4A7C15u;
};

}  // namespace

void name_embeddings(std::vector<int32_t>& prompt, std::span<const InputEmbeddings> embeddings,
                     const LanguageModel& model) {
  if (embeddings.empty()) return;
  check(prompt, embeddings, model);
  for (const InputEmbeddings& given : embeddings) {
    const auto on_host = [](const Tensor& x) { return x.to_device(Device::cpu()).contiguous(); };
    const Tensor rows = on_host(given.rows);
    std::vector<Tensor> deep;
    for (const Tensor& more : given.deep) deep.push_back(on_host(more));
    RowHash all;  // of rows that see each other, each depends on all
    for (int64_t row = 0; given.is_whole && row < rows.dim(0); ++row) all.add(rows, row);
    for (int64_t row = 0; row < rows.dim(0); ++row) {
      RowHash hash = all;
      hash.add(rows, row);
      for (const Tensor& more : deep) hash.add(more, row);
      if (given.lies_in_grid()) {
        for (const int64_t size : given.grid) hash.add(static_cast<uint64_t>(size));
      }
      prompt[static_cast<size_t>(given.position + row)] = hash.name();
    }
  }
}

}  // namespace wick
