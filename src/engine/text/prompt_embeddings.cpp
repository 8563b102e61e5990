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
    if (given.position < next || given.position > length - rows.dim(0)) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(rows.dim(0), " embeddings at position ", given.position, " of a prompt of ", length,
                      " tokens: they overlap others or the end"));
    }
    next = given.position + rows.dim(0);
  }
}

int32_t name_of(std::span<const float> row) {
  uint64_t hash = 0x9E3779B97F4A7C15u;
  for (const float value : row) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
  }
  return -1 - static_cast<int32_t>(hash >> 33);
}

}  // namespace

void name_embeddings(std::vector<int32_t>& prompt, std::span<const InputEmbeddings> embeddings,
                     const LanguageModel& model) {
  if (embeddings.empty()) return;
  check(prompt, embeddings, model);
  for (const InputEmbeddings& given : embeddings) {
    const Tensor rows = given.rows.to_device(Device::cpu()).contiguous();
    const auto width = static_cast<size_t>(rows.dim(1));
    for (int64_t row = 0; row < rows.dim(0); ++row) {
      prompt[static_cast<size_t>(given.position + row)] = name_of({rows.data<float>() + row * rows.dim(1), width});
    }
  }
}

}  // namespace wick
