#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "ops/view.h"
#include "support/model_fixtures.h"
#include "support/places.h"
#include "tensor/create.h"

namespace wick {

// A speech model with what PyTorch makes of a recording.
struct SpeechFixture {
  const char* name;
  const char* reference;  // the folder of its reference.safetensors, beside it
  const char* greedy;     // what the generated tokens are called there

  std::vector<std::filesystem::path> folders() const {
    const std::filesystem::path here = std::filesystem::path(WICK_SOURCE_DIR) / name;
    return is_directory(here) ? std::vector{here} : fixture_folders(name);
  }
};
inline const SpeechFixture kSpeechFixtures[] = {{"qwen3_asr", "qwen3_asr", "greedy"},
                                                {"qwen3_asr-thinker", "qwen3_asr", "greedy"},
                                                {"models/ember-asr", "ember-asr", "greedy_ids"}};

inline std::string speech_fixture_name(const testing::TestParamInfo<SpeechFixture>& test) {
  std::string name = test.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
}

// The recording of a fixture and the rest of its reference.
struct SpeechReference {
  SpeechReference(const SpeechFixture& fixture, const std::filesystem::path& folder)
      : file(Checkpoint::open(folder.parent_path() / fixture.reference / "reference.safetensors")) {
    const std::vector<int64_t> mask = file.get("input_features_mask").to_vector<int64_t>();
    const int64_t frames = std::count(mask.begin(), mask.end(), 1);
    const Tensor padded = file.get("input_features");  // [1, bins, frames and zeros]
    mel = narrow(padded.with_layout(padded.layout().squeeze(0)), 1, 0, frames);
    prompt = file.get("input_ids").to_vector<int32_t>();
    generated = file.get(fixture.greedy).to_vector<int32_t>();
  }

  Checkpoint file;
  Tensor mel;                              // f32 [bins, frames]
  std::vector<int32_t> prompt, generated;  // tokens
};

}  // namespace wick
