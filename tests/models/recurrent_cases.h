#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <tuple>

#include "support/devices.h"
#include "support/model_fixtures.h"

namespace wick {

inline constexpr const char* kRecurrentFamilies[] = {"falcon_mamba", "mamba", "mamba2", "rwkv", "xlstm"};

// A recurrent family on a device.
class RecurrentCase : public testing::TestWithParam<std::tuple<const char*, Device>> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(family()); }
  std::string family() const { return std::get<0>(GetParam()); }
  ModelOptions options() const {
    ModelOptions options;
    options.device = std::get<1>(GetParam());
    if (!options.device.is_host()) options.quantize = "f32";  // else bf16 weights round what they meet
    return options;
  }
  std::filesystem::path folder() const { return family_folder(family()); }
  Checkpoint reference() const { return Checkpoint::open(folder() / "reference.safetensors"); }
  std::vector<int32_t> tokens(const char* name = "input_ids") const {
    return reference().get(name).to_vector<int32_t>();
  }
};

}  // namespace wick
