#include "interp/run_with_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "interp/spill_file.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kPieceBytes = int64_t{64} << 10;  // that a thread copies at least

bool is_attention_map(HookPoint point) { return point == HookPoint::kAttnScores || point == HookPoint::kAttnPattern; }

// The rows of those positions that are wanted, copied: [rows, ...] or [heads, rows, context].
Tensor take_positions(const Tensor& values, const HookMoment& moment, const std::vector<int64_t>& wanted) {
  const Tensor host = values.to_device(Device::cpu()).contiguous();
  std::vector<int64_t> rows;
  for (const int64_t position : wanted) {  // positions ascend
    const auto found = std::lower_bound(moment.positions.begin(), moment.positions.end(), position);
    if (found != moment.positions.end() && *found == position) rows.push_back(found - moment.positions.begin());
  }
  const bool map = is_attention_map(moment.point);
  const int64_t outer = map ? host.dim(0) : 1, count = host.dim(map ? 1 : 0), kept = static_cast<int64_t>(rows.size());
  const ArenaPause keep;
  const Tensor out = empty(host.shape().with(map ? 1 : 0, kept), host.dtype());
  if (count == 0 || kept == 0) return out;
  const int64_t row_bytes = bytes_of(host.dtype(), host.numel() / (outer * count));
  parallel_for(outer * kept, std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(row_bytes, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t row = i / kept * count + rows[static_cast<size_t>(i % kept)];
                   std::memcpy(out.raw() + i * row_bytes, host.raw() + row * row_bytes, static_cast<size_t>(row_bytes));
                 }
               });
  return out;
}

class Recorder {
 public:
  Recorder(const InterpModel& model, std::span<const InterpText> texts, const CaptureOptions& options)
      : model_(model), options_(options) {
    for (const std::string& name : options.points) {
      sites_.push_back(HookSite::parse(name));
      if (is_per_layer(sites_.back().point) && sites_.back().layer != HookSite::kEveryLayer) {
        check_layer(model, sites_.back().layer);
      }
    }
    for (const size_t text : options.texts) {
      if (text < texts.size()) continue;
      throw Error(ErrorCode::kInvalidArgument, cat("text ", text, " is to be captured, there are ", texts.size()));
    }
    std::vector<std::vector<int64_t>> positions;
    for (const InterpText& text : texts) positions.push_back(check_positions(options.positions, text.tokens.size()));
    cache_ = ActivationCache(std::move(positions));
    for (size_t i = 0; i < texts.size(); ++i) specs_.push_back(spec_of(texts[i], i));
  }

  const HookSpec& spec(size_t text) const { return specs_[text]; }

  ActivationCache finish() {
    if (spill_) {
      const Checkpoint file = spill_->finish();
      for (const auto& [name, text] : spilled_) {
        cache_.add(name, text, file.get(stored_name(name, text, cache_.texts())));
      }
    }
    check_all_seen();
    return std::move(cache_);
  }

 private:
  HookSpec spec_of(const InterpText& text, size_t index) {
    HookSpec spec = text.hooks ? *text.hooks : HookSpec();
    const std::vector<size_t>& wanted = options_.texts;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), index) == wanted.end()) return spec;
    for (const std::string& point : options_.points) {
      spec.call(point, [this, index, custom = point](const Tensor& values, const HookMoment& moment) {
        keep(moment.point == HookPoint::kCustom ? custom : hook_name(moment.point, moment.layer), index, values,
             moment);
        return values;
      });
    }
    return spec;
  }

  void keep(const std::string& name, size_t text, const Tensor& values, const HookMoment& moment) {
    if (cache_.has(name, text)) return;  // two points that mean the same
    if (const Tensor same = what_left_the_layer_before(text, values, moment); same.defined()) {
      return cache_.add(name, text, same);
    }
    Tensor rows;
    if (moment.point == HookPoint::kState) {
      const ArenaPause pause;
      rows = values.to_device(Device::cpu()).clone();
    } else {
      rows = take_positions(values, moment, cache_.positions(text));
    }
    const int64_t bytes = bytes_of(rows.dtype(), rows.numel());
    if (held_ + bytes <= options_.most_bytes) {
      held_ += bytes;
      cache_.add(name, text, rows);
      return;
    }
    if (options_.spill.empty()) {
      throw Error(ErrorCode::kOutOfMemory,
                  cat("the captures are more than ", options_.most_bytes, " bytes at '", name,
                      "'; capture fewer points or positions, allow more, or name a file to spill to"));
    }
    if (!spill_) {
      spill_.emplace(options_.spill, sites_.size() * static_cast<size_t>(model_.facts().layers) * cache_.texts(),
                     longest_name());
    }
    if (!spilled_.emplace(name, text).second) return;
    spill_->append(stored_name(name, text, cache_.texts()), rows);
  }

  // What enters a layer is, but for edits, what left the one before, and need not be kept twice.
  Tensor what_left_the_layer_before(size_t text, const Tensor& values, const HookMoment& moment) const {
    if (moment.point != HookPoint::kResidPre || moment.layer == 0 || values.device() != Device::cpu()) return {};
    const std::string before = hook_name(HookPoint::kResidPost, moment.layer - 1);
    if (!cache_.has(before, text) || !values.is_contiguous()) return {};
    Tensor rows = cache_.at(before, text);
    const auto bytes = static_cast<size_t>(bytes_of(values.dtype(), values.numel()));
    const bool same = rows.dtype() == values.dtype() && rows.shape() == values.shape() &&
                      std::memcmp(rows.raw(), values.raw(), bytes) == 0;
    return same ? rows : Tensor();
  }

  size_t longest_name() const {
    size_t longest = 0;
    for (const std::string& point : options_.points) longest = std::max(longest, point.size());
    return longest + 32;  // numbers of a layer and a text
  }

  // A point that no layer has is a mistake, not an empty answer.
  void check_all_seen() const {
    const size_t text = options_.texts.empty() ? 0 : options_.texts.front();
    if (cache_.texts() == 0 || options_.may_lack) return;
    const std::vector<std::string> names = cache_.names(text);
    for (size_t i = 0; i < sites_.size(); ++i) {
      const bool seen = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        const HookSite site = HookSite::parse(name);
        return sites_[i].matches(site.point, site.layer, site.custom);
      });
      if (!seen && !(sites_[i].point == HookPoint::kLogits && options_.logits == LogitRows::kNone)) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat("this ", model_.facts().family, " has no '", options_.points[i], "'"));
      }
    }
  }

  const InterpModel& model_;
  const CaptureOptions& options_;
  std::vector<HookSite> sites_;
  std::vector<HookSpec> specs_;
  ActivationCache cache_;
  std::optional<SpillFile> spill_;
  std::set<std::pair<std::string, size_t>> spilled_;
  int64_t held_ = 0;
};

}  // namespace

CachedRun run_with_cache(const InterpModel& model, std::span<const InterpText> texts, const CaptureOptions& options) {
  Recorder recorder(model, texts, options);
  std::vector<InterpText> hooked(texts.begin(), texts.end());
  for (size_t i = 0; i < texts.size(); ++i) hooked[i].hooks = &recorder.spec(i);
  CachedRun run;
  run.logits.resize(texts.size());
  model.forward(hooked, options.logits, [&](size_t text, const Tensor& logits) { run.logits[text] = logits; });
  run.cache = recorder.finish();
  return run;
}

CachedRun run_with_cache(const InterpModel& model, std::span<const int32_t> tokens, const CaptureOptions& options) {
  const InterpText text{tokens};
  return run_with_cache(model, std::span(&text, 1), options);
}

}  // namespace wick
