#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tensor/device.h"

namespace wick {

// An adapter (formats/adapters/lora_file.h) and what it is multiplied by.
struct LoraChoice {
  std::filesystem::path path;
  float scale = 1;
  std::string name = {};  // what sequences that have it call it; empty: all have it that name none
};

// How a model is loaded.
struct ModelOptions {
  std::string quantize = "auto";  // a QuantizePlan's name; "auto" keeps weights as they are stored
  int64_t context = 0;            // the longest text, in tokens; 0: what the model was made for
  Device device = Device::cpu();
  std::vector<LoraChoice> loras;
  bool mtp = false;  // with the layer that predicts a token further, to draft with
  std::function<void(int64_t done, int64_t total)> progress;  // bytes of weights; may be empty
  std::function<void(const std::string& sentence)> notice;    // what a person should know of this model; may be empty
};

}  // namespace wick
