#include "hooks/hook_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

Tensor on_host(const Tensor& x) { return x.device() == Device::cpu() ? x : x.to_device(Device::cpu()).contiguous(); }

// [heads, rows, context] chunks joined along rows and filled up along the context.
Tensor join_contexts(const std::vector<Tensor>& chunks, float filler) {
  int64_t rows = 0, context = 0;
  const int64_t heads = chunks.front().dim(0);
  for (const Tensor& chunk : chunks) {
    rows += chunk.dim(1);
    context = std::max(context, chunk.dim(2));
  }
  Tensor out = full({heads, rows, context}, filler);
  float* to = out.mutable_data<float>();
  int64_t row = 0;
  for (const Tensor& chunk : chunks) {
    const float* from = chunk.data<float>();
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t i = 0; i < chunk.dim(1); ++i) {
        std::memcpy(to + (head * rows + row + i) * context, from + (head * chunk.dim(1) + i) * chunk.dim(2),
                    static_cast<size_t>(chunk.dim(2)) * sizeof(float));
      }
    }
    row += chunk.dim(1);
  }
  return out;
}

Tensor join_rows(const std::vector<Tensor>& chunks) {
  int64_t rows = 0;
  for (const Tensor& chunk : chunks) rows += chunk.dim(0);
  Tensor out = empty(chunks.front().shape().with(0, rows), chunks.front().dtype());
  std::byte* to = out.raw();
  for (const Tensor& chunk : chunks) {
    const auto bytes = static_cast<size_t>(bytes_of(chunk.dtype(), chunk.numel()));
    std::memcpy(to, chunk.raw(), bytes);
    to += bytes;
  }
  return out;
}

}  // namespace

std::vector<std::string> HookCache::names() const {
  std::vector<std::string> names;
  for (const auto& [name, captured] : chunks_) names.push_back(name);
  return names;
}

void HookCache::add(const std::string& name, HookPoint point, const Tensor& rows) {
  const ArenaPause keep;
  Captured& captured = chunks_[name];
  captured.point = point;
  if (point == HookPoint::kState) captured.chunks.clear();
  captured.chunks.push_back(rows.device().is_host() ? rows.clone() : kept_on_device(rows));
}

// A copy on the device, or on the host where there is no room.
Tensor HookCache::kept_on_device(const Tensor& rows) {
  const int64_t bytes = bytes_of(rows.dtype(), rows.numel());
  if (device_bytes_ + bytes > kDeviceBytes) return on_host(rows);
  try {
    Tensor copy = rows.clone();
    device_bytes_ += bytes;
    return copy;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    return on_host(rows);
  }
}

void HookCache::clear() {
  chunks_.clear();
  device_bytes_ = 0;
}

Tensor HookCache::at(std::string_view name) const {
  const auto found = chunks_.find(name);
  if (found == chunks_.end()) {
    std::string have;
    for (const auto& [known, captured] : chunks_) have += cat(have.empty() ? "" : ", ", known);
    throw Error(ErrorCode::kInvalidArgument,
                cat("'", name, "' was not captured; there is ", have.empty() ? "nothing" : have));
  }
  const Captured& captured = found->second;
  const ArenaPause keep;
  std::vector<Tensor> chunks;
  for (const Tensor& chunk : captured.chunks) chunks.push_back(on_host(chunk));
  if (chunks.size() == 1) return chunks.front();
  if (captured.point == HookPoint::kAttnPattern) return join_contexts(chunks, 0);
  if (captured.point == HookPoint::kAttnScores) {
    return join_contexts(chunks, -std::numeric_limits<float>::infinity());
  }
  return join_rows(chunks);
}

}  // namespace wick
