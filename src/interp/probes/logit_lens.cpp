#include "interp/probes/logit_lens.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "interp/probes/vocab_row.h"
#include "interp/run_with_cache.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kMostLogits = int64_t{1} << 23;  // of one point at a time

Tensor some_rows(const Tensor& rows, int64_t begin, int64_t count) {
  return rows.with_layout(rows.layout().narrow(0, begin, count));
}

std::span<float> row_of(const Tensor& logits, int64_t row) {
  return {logits.mutable_data<float>() + row * logits.dim(1), static_cast<size_t>(logits.dim(1))};
}

LensToken look_at(const VocabRow& row, int32_t token, int64_t rank) {
  return {token, row.logits()[static_cast<size_t>(token)], row.probability(token), rank};
}

class Lens {
 public:
  Lens(const InterpModel& model, std::span<const int32_t> tokens, const LensOptions& options)
      : model_(model), options_(options) {
    for (const int32_t token : options.follow) check_token(model, token);
    if (options.top < 0)
      throw Error(ErrorCode::kInvalidArgument, cat("the best ", options.top, " tokens are asked for"));
    const int last = model.facts().layers - 1;
    if (options.points.empty()) {
      for (int layer = 0; layer <= last; ++layer) add_point(hook_name(HookPoint::kResidPre, layer));
      add_point(hook_name(HookPoint::kResidPost, last));
    } else {
      for (const std::string& point : options.points) add_points(point);
    }
    CaptureOptions capture;
    capture.points = map_.points;
    capture.points.push_back(answer_);
    capture.positions = options.positions;
    capture.logits = LogitRows::kNone;
    capture.most_bytes = options.most_bytes;
    const InterpText text{tokens, &options.hooks};
    cache_ = run_with_cache(model, std::span(&text, 1), capture).cache;
    map_.positions = cache_.positions();
    map_.cells.resize(map_.points.size() * map_.positions.size());
    for (const std::string& point : map_.points) check_rows(point);
  }

  LensMap read() {
    const auto rows = static_cast<int64_t>(map_.positions.size());
    const int64_t chunk = std::max<int64_t>(1, kMostLogits / model_.facts().vocabulary);
    for (int64_t begin = 0; begin < rows; begin += chunk) read_rows(begin, std::min(chunk, rows - begin));
    return std::move(map_);
  }

 private:
  void add_point(const std::string& name) { map_.points.push_back(name); }

  void add_points(const std::string& name) {
    const HookSite site = HookSite::parse(name);
    if (!is_per_layer(site.point) || site.layer != HookSite::kEveryLayer) return add_point(name);
    for (int layer = 0; layer < model_.facts().layers; ++layer) add_point(hook_name(site.point, layer));
  }

  void check_rows(const std::string& point) const {
    const Tensor rows = cache_.at(point);
    if (rows.rank() == 2 && rows.dim(1) == model_.facts().hidden) return;
    throw Error(ErrorCode::kInvalidArgument,
                cat("'", point, "' gives ", rows.shape(), ", the lens reads [positions, ", model_.facts().hidden, "]"));
  }

  Tensor logits_at(const std::string& point, int64_t begin, int64_t count) const {
    Tensor rows = some_rows(cache_.at(point), begin, count);
    const HookSite site = HookSite::parse(point);
    if (options_.tuned && site.point == HookPoint::kResidPre) rows = (*options_.tuned)(site.layer, rows);
    return model_.project_to_vocab(rows, site.point != HookPoint::kFinalNorm);
  }

  void read_rows(int64_t begin, int64_t count) {
    const Tensor answer = logits_at(answer_, begin, count), shares = empty_like(answer);
    std::vector<std::optional<VocabRow>> last(static_cast<size_t>(count));
    parallel_for(count, 1, [&](int64_t from, int64_t to) {
      for (int64_t row = from; row < to; ++row) {
        last[static_cast<size_t>(row)].emplace(row_of(answer, row)).write_probabilities(row_of(shares, row));
      }
    });
    for (size_t point = 0; point < map_.points.size(); ++point) {
      const auto done = begin * std::ssize(map_.points) + static_cast<int64_t>(point) * count;
      if (options_.progress) options_.progress(done, std::ssize(map_.cells));
      const Tensor logits = logits_at(map_.points[point], begin, count);
      parallel_for(count, 1, [&](int64_t from, int64_t to) {
        for (int64_t row = from; row < to; ++row) {
          const VocabRow own(row_of(logits, row));
          LensCell& cell = map_.cells[point * map_.positions.size() + static_cast<size_t>(begin + row)];
          fill(cell, own);
          cell.kl = kl_divergence(*last[static_cast<size_t>(row)], row_of(shares, row), own);
        }
      });
    }
  }

  void fill(LensCell& cell, const VocabRow& row) const {
    for (const int32_t token : row.best(options_.top)) {
      cell.top.push_back(look_at(row, token, static_cast<int64_t>(cell.top.size())));
    }
    for (const int32_t token : options_.follow) cell.follow.push_back(look_at(row, token, row.rank(token)));
    cell.entropy = row.entropy();
  }

  const InterpModel& model_;
  const LensOptions& options_;
  const std::string answer_ = hook_name(HookPoint::kFinalNorm, -1);
  ActivationCache cache_;
  LensMap map_;
};

}  // namespace

LensMap logit_lens(const InterpModel& model, std::span<const int32_t> tokens, const LensOptions& options) {
  return Lens(model, tokens, options).read();
}

}  // namespace wick
