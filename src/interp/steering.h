#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "interp/text_rows.h"

namespace wick {

// A direction to push a model in: added to what a point gives, at every token, in prefill and in decode.
struct SteeringVector {
  std::string point;   // "blocks.5.hook_resid_post"
  Tensor vector;       // f32 [values of the point]
  std::string family;  // of the model it was made with
  std::string label;   // what it stands for; may be empty

  float length() const;
  // Adds strength times the vector; the spec then steers a run, a chat or a request. No positions mean all.
  HookSpec& apply(HookSpec& spec, float strength = 1, std::vector<int64_t> positions = {}) const;

  // As safetensors: "vector", with the rest as metadata. Throw Error(kIo); load throws Error(kBadFile) naming the field
  // at fault.
  void save(const std::filesystem::path& path) const;
  static SteeringVector load(const std::filesystem::path& path);
};

// The mean over the positive texts minus that over the negative ones.
SteeringVector steering_vector(const InterpModel& model, std::span<const std::vector<int32_t>> positive,
                               std::span<const std::vector<int32_t>> negative, const std::string& point,
                               TextRow row = TextRow::kLast);

// Throws Error(kInvalidArgument) unless the model has the vector's layer and hidden size.
void check_steering(const InterpModel& model, const SteeringVector& vector);

}  // namespace wick
