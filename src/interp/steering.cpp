#include "interp/steering.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "formats/safetensors/safetensors_writer.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr const char *kPoint = "wick.point", *kFamily = "wick.family", *kLabel = "wick.label";

std::vector<double> mean_of(const Tensor& rows) {
  const std::vector<double> values = rows.to_vector<double>();
  std::vector<double> mean(static_cast<size_t>(rows.dim(1)));
  for (size_t i = 0; i < values.size(); ++i) mean[i % mean.size()] += values[i] / static_cast<double>(rows.dim(0));
  return mean;
}

}  // namespace

float SteeringVector::length() const {
  double sum = 0;
  for (const double x : vector.to_vector<double>()) sum += x * x;
  return static_cast<float>(std::sqrt(sum));
}

HookSpec& SteeringVector::apply(HookSpec& spec, float strength, std::vector<int64_t> positions) const {
  if (!std::isfinite(strength))
    throw Error(ErrorCode::kInvalidArgument, cat("a strength of ", strength, " is asked for"));
  std::vector<float> values = vector.to_vector<float>();
  for (float& x : values) x *= strength;
  return spec.add(point, from_vector(values, {static_cast<int64_t>(values.size())}), {std::move(positions), {}});
}

void SteeringVector::save(const std::filesystem::path& path) const {
  Metadata metadata;
  metadata.set_text(kPoint, point);
  metadata.set_text(kFamily, family);
  metadata.set_text(kLabel, label);
  SafetensorsWriter writer(path, {{"vector", DType::kF32, vector.shape()}}, metadata);
  writer.write("vector", vector);
  writer.finish();
}

SteeringVector SteeringVector::load(const std::filesystem::path& path) {
  const Checkpoint file = Checkpoint::open(path);
  const auto bad = [&](const std::string& what) { return Error(ErrorCode::kBadFile, cat(path, ": ", what)); };
  const TensorEntry* entry = file.find("vector");
  if (!entry || !file.metadata().find(kPoint)) throw bad("holds no steering vector with its point");
  SteeringVector result;
  result.point = file.metadata().text(kPoint);
  try {
    const HookSite site = HookSite::parse(result.point);
    if (is_per_layer(site.point) && site.layer == HookSite::kEveryLayer)
      throw bad(cat("'", result.point, "' is no layer"));
  } catch (const Error& error) {
    throw bad(error.what());
  }
  if (file.metadata().find(kFamily)) result.family = file.metadata().text(kFamily);
  if (file.metadata().find(kLabel)) result.label = file.metadata().text(kLabel);
  if (entry->shape.rank() != 1 || entry->shape.numel() == 0 || !entry->dtype || !is_float(*entry->dtype)) {
    throw bad(cat("'vector' is ", entry->type, " ", entry->shape, ", expected numbers in one row"));
  }
  result.vector = file.get(*entry).to_dtype(DType::kF32).clone();
  const std::vector<float> values = result.vector.to_vector<float>();
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
    throw bad("'vector' has values that are not finite");
  }
  return result;
}

SteeringVector steering_vector(const InterpModel& model, std::span<const std::vector<int32_t>> positive,
                               std::span<const std::vector<int32_t>> negative, const std::string& point, TextRow row) {
  const std::vector<double> up = mean_of(text_rows(model, positive, point, row));
  const std::vector<double> down = mean_of(text_rows(model, negative, point, row));
  std::vector<float> difference;
  for (size_t i = 0; i < up.size(); ++i) difference.push_back(static_cast<float>(up[i] - down[i]));
  return {point, from_vector(difference, {static_cast<int64_t>(difference.size())}), model.facts().family, ""};
}

void check_steering(const InterpModel& model, const SteeringVector& vector) {
  const HookSite site = HookSite::parse(vector.point);
  if (is_per_layer(site.point)) check_layer(model, site.layer);
  const bool is_stream = site.point == HookPoint::kEmbed || site.point == HookPoint::kResidPre ||
                         site.point == HookPoint::kResidMid || site.point == HookPoint::kResidPost ||
                         site.point == HookPoint::kAttnOut || site.point == HookPoint::kMlpOut ||
                         site.point == HookPoint::kFinalNorm;
  if (is_stream && vector.vector.numel() != model.facts().hidden) {
    throw Error(ErrorCode::kInvalidArgument, cat("the steering vector has ", vector.vector.numel(), " values, this ",
                                                 model.facts().family, " has a hidden size of ", model.facts().hidden));
  }
}

}  // namespace wick
