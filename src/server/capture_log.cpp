#include "server/capture_log.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "formats/safetensors/safetensors_writer.h"
#include "tensor/create.h"

namespace wick {
namespace {

bool is_attention_map(HookPoint point) { return point == HookPoint::kAttnScores || point == HookPoint::kAttnPattern; }

// Those rows of [rows, ...] or [heads, rows, context].
Tensor take_rows(const Tensor& values, int axis, const std::vector<int64_t>& rows) {
  const int64_t outer = axis == 1 ? values.dim(0) : 1, count = values.dim(axis), kept = std::ssize(rows);
  const Tensor out = empty(values.shape().with(axis, kept), values.dtype());
  if (out.numel() == 0) return out;
  const int64_t row_bytes = bytes_of(values.dtype(), values.numel() / (outer * count));
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < kept; ++j) {
      std::memcpy(out.raw() + (i * kept + j) * row_bytes,
                  values.raw() + (i * count + rows[static_cast<size_t>(j)]) * row_bytes,
                  static_cast<size_t>(row_bytes));
    }
  }
  return out;
}

std::string joined(std::span<const int64_t> numbers) {
  std::string text;
  for (const int64_t number : numbers) text += cat(text.empty() ? "" : " ", number);
  return text;
}

}  // namespace

CaptureLog::CaptureLog(std::vector<std::string> points, std::vector<int64_t> positions, int64_t most_bytes)
    : points_(std::move(points)), positions_(std::move(positions)), most_bytes_(most_bytes) {}

void CaptureLog::watch(HookSpec& spec) {
  for (const std::string& point : points_) {
    spec.call(point, [log = shared_from_this()](const Tensor& values, const HookMoment& moment) {
      log->keep(hook_name(moment.point, moment.layer), values, moment);
      return values;
    });
  }
}

void CaptureLog::keep(const std::string& name, const Tensor& values, const HookMoment& moment) {
  Held& held = held_[name];
  held.point = moment.point;
  // Two names that mean the same ("blocks.*" and "blocks.3") see each row twice.
  if (!held.positions.empty() && !moment.positions.empty() && held.positions.back() >= moment.positions.front()) return;
  const bool is_state = moment.point == HookPoint::kState, is_map = is_attention_map(moment.point);
  Tensor rows = values.to_device(Device::cpu()).contiguous();
  if (!is_state && !positions_.empty()) {
    std::vector<int64_t> wanted;
    for (size_t i = 0; i < moment.positions.size(); ++i) {
      const bool is_wanted = std::find(positions_.begin(), positions_.end(), moment.positions[i]) != positions_.end();
      if (is_wanted) wanted.push_back(static_cast<int64_t>(i));
    }
    if (wanted.empty()) return;
    rows = take_rows(rows, is_map ? 1 : 0, wanted);
    for (const int64_t row : wanted) held.positions.push_back(moment.positions[static_cast<size_t>(row)]);
  } else if (!is_state) {
    held.positions.insert(held.positions.end(), moment.positions.begin(), moment.positions.end());
  }
  const int64_t context = is_map && held.bytes > 0 ? held.shape[2] : 0;  // shorter rows are filled up to the longest
  held.shape = is_state ? rows.shape() : rows.shape().with(is_map ? 1 : 0, std::ssize(held.positions));
  if (is_map) held.shape = held.shape.with(2, std::max(context, rows.dim(2)));
  const int64_t bytes = bytes_of(rows.dtype(), held.shape.numel());
  bytes_ += bytes - held.bytes;
  held.bytes = bytes;
  if (bytes_ > most_bytes_) {
    throw Error(ErrorCode::kInvalidArgument, cat("the captures are more than ", most_bytes_, " bytes at '", name,
                                                 "'; capture fewer points or positions, or ask for a shorter answer"));
  }
  cache_.add(name, moment.point, rows);
}

Shape CaptureLog::shape(const std::string& name) const { return held_.at(name).shape; }

std::vector<std::string> CaptureLog::missing() const {
  std::vector<std::string> missing;
  for (const std::string& point : points_) {
    const HookSite site = HookSite::parse(point);
    const std::vector<std::string> names = cache_.names();
    const bool seen = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const HookSite at = HookSite::parse(name);
      return site.matches(at.point, at.layer, at.custom);
    });
    if (!seen) missing.push_back(point);
  }
  return missing;
}

std::vector<int64_t> CaptureLog::positions() const {
  const Held* longest = nullptr;
  for (const auto& [name, held] : held_) {
    if (!longest || held.positions.size() > longest->positions.size()) longest = &held;
  }
  return longest ? longest->positions : std::vector<int64_t>();
}

std::string CaptureLog::safetensors(std::span<const int32_t> tokens) const {
  std::vector<NamedTensor> tensors;
  for (const std::string& name : cache_.names()) tensors.push_back({name, cache_.at(name)});
  Metadata metadata;
  metadata.set_text("wick.texts", "1");
  metadata.set_text("wick.positions.0", joined(positions()));
  metadata.set_text("wick.tokens.0", joined(std::vector<int64_t>(tokens.begin(), tokens.end())));
  return safetensors_bytes(tensors, metadata);
}

}  // namespace wick
