#include "interp/hook_part.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "tensor/create.h"

namespace wick {
namespace {

bool is_map(HookPoint point) { return point == HookPoint::kAttnScores || point == HookPoint::kAttnPattern; }

}  // namespace

bool has_heads(HookPoint point) {
  return is_map(point) || point == HookPoint::kAttnQ || point == HookPoint::kAttnK || point == HookPoint::kAttnV ||
         point == HookPoint::kAttnZ;
}

int64_t head_count(HookPoint point, const Tensor& values) {
  return has_heads(point) ? values.dim(is_map(point) ? 0 : 1) : 1;
}

Tensor part_of(HookPoint point, const Tensor& values, const HookPart& part) {
  const Tensor host = values.contiguous();
  const int64_t rows = host.dim(is_map(point) ? 1 : 0), all = head_count(point, host);
  const int64_t length = host.numel() / std::max<int64_t>(rows * all, 1);
  std::vector<int64_t> every(static_cast<size_t>(rows));
  std::iota(every.begin(), every.end(), 0);
  if (!is_map(point) && part.heads.empty() && part.positions == every) return host;  // shared, not copied
  std::vector<int> heads = part.heads;
  if (heads.empty()) {
    heads.resize(static_cast<size_t>(all));
    std::iota(heads.begin(), heads.end(), 0);
  }
  const int64_t row_stride = is_map(point) ? length : all * length,
                head_stride = is_map(point) ? rows * length : length;
  const Tensor out = empty({static_cast<int64_t>(part.positions.size()), static_cast<int64_t>(heads.size()), length});
  float* to = out.mutable_data<float>();
  for (const int64_t position : part.positions) {
    for (const int head : heads) {
      if (position < 0 || position >= rows || head < 0 || head >= all) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat("position ", position, " and head ", head, " are asked for, there are ", rows,
                        " positions and ", all, " heads"));
      }
      std::memcpy(to, host.data<float>() + position * row_stride + head * head_stride,
                  static_cast<size_t>(length) * sizeof(float));
      to += length;
    }
  }
  return out;
}

}  // namespace wick
