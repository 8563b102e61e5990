#include "interp/head_scores.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "tensor/create.h"

namespace wick {
namespace {

// For each row, the keys of one kind.
using Targets = std::vector<std::vector<int64_t>>;

// The mean over rows with targets of the attention that goes to them.
float mean_attention(const float* pattern, int64_t context, const Targets& targets) {
  double sum = 0;
  int64_t rows = 0;
  for (size_t row = 0; row < targets.size(); ++row) {
    if (targets[row].empty()) continue;
    ++rows;
    for (const int64_t key : targets[row]) sum += pattern[static_cast<int64_t>(row) * context + key];
  }
  return rows == 0 ? 0 : static_cast<float>(sum / static_cast<double>(rows));
}

}  // namespace

HeadScores head_scores(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks) {
  const InterpFacts& facts = model.facts();
  if (facts.heads == 0) throw Error(ErrorCode::kUnsupported, cat(facts.family, " models have no attention heads"));
  Targets previous(tokens.size()), duplicate(tokens.size()), induction(tokens.size());
  std::map<int32_t, std::vector<int64_t>> seen;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto position = static_cast<int64_t>(i);
    if (i > 0) previous[i] = {position - 1};
    std::vector<int64_t>& before = seen[tokens[i]];
    duplicate[i] = before;
    for (const int64_t earlier : before) induction[i].push_back(earlier + 1);
    // In "a a" the token behind the earlier a is the row itself, which shows nothing.
    std::erase(induction[i], position);
    before.push_back(position);
  }
  HeadScores scores;
  for (Tensor* tensor : {&scores.previous, &scores.duplicate, &scores.induction}) {
    *tensor = zeros({facts.layers, facts.heads});
  }
  HookSpec spec = hooks;
  spec.call(hook_name(HookPoint::kAttnPattern, HookSite::kEveryLayer),
            [&](const Tensor& values, const HookMoment& moment) {
              const Tensor host = values.to_device(Device::cpu()).contiguous();  // [heads, tokens, tokens]
              const int64_t context = host.dim(2);
              for (int64_t head = 0; head < host.dim(0); ++head) {
                const float* pattern = host.data<float>() + head * host.dim(1) * context;
                const int64_t at = moment.layer * facts.heads + head;
                scores.previous.mutable_data<float>()[at] = mean_attention(pattern, context, previous);
                scores.duplicate.mutable_data<float>()[at] = mean_attention(pattern, context, duplicate);
                scores.induction.mutable_data<float>()[at] = mean_attention(pattern, context, induction);
              }
              return values;
            });
  model.run(tokens, spec, LogitRows::kNone);
  return scores;
}

std::vector<int32_t> repeated_tokens(int32_t first, int32_t last, int64_t length, uint64_t seed,
                                     std::span<const int32_t> begin) {
  if (first < 0 || length < 1 || length > static_cast<int64_t>(last) - first) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(length, " different tokens of those from ", first, " to ", last, " are asked for"));
  }
  std::vector<int32_t> pool(static_cast<size_t>(last - first));
  std::iota(pool.begin(), pool.end(), first);
  // Shuffled by sorting random keys, which are the same on every machine.
  const std::vector<double> keys = rand({last - first}, seed, DType::kF64).to_vector<double>();
  std::sort(pool.begin(), pool.end(), [&](int32_t a, int32_t b) {
    const double x = keys[static_cast<size_t>(a - first)], y = keys[static_cast<size_t>(b - first)];
    return x != y ? x < y : a < b;
  });
  pool.resize(static_cast<size_t>(length));
  std::vector<int32_t> tokens(begin.begin(), begin.end());
  for (int turn = 0; turn < 2; ++turn) tokens.insert(tokens.end(), pool.begin(), pool.end());
  return tokens;
}

}  // namespace wick
