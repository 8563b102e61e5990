// A quantised checkpoint computes what the same checkpoint computes with the weights that its codes stand for.
#include <gtest/gtest.h>

#include <functional>

#include "support/compare.h"
#include "support/model_fixtures.h"
#include "support/packed_layouts.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"

namespace wick {
namespace {

using Pack = std::function<PackedLayout(int64_t out, int64_t in, LayoutRandom& random)>;

struct Quantised {
  std::string name, quantization;
  Pack pack;
  double tolerance;  // packed integers round their activations
};

const std::vector<Quantised>& layouts() {
  static const std::vector<Quantised> all = {
      {"fp8", R"({"quant_method": "fp8", "weight_block_size": [16, 64]})",
       [](int64_t out, int64_t in, LayoutRandom& random) {
         return pack_f8(out, in, 16, 64, ".weight_scale_inv", {(out + 15) / 16, (in + 63) / 64}, random);
       },
       1e-5},
      {"w4a16", R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0":
         {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32}}}})",
       [](int64_t out, int64_t in, LayoutRandom& random) { return pack_ints(out, in, {.zeros = true}, random); }, 0.05},
      {"nf4", R"({"quant_method": "bitsandbytes", "load_in_4bit": true})",
       [](int64_t out, int64_t in, LayoutRandom& random) { return pack_bnb4(out, in, 64, true, true, random); }, 1e-5},
      {"nvfp4", R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})",
       [](int64_t out, int64_t in, LayoutRandom& random) { return pack_nvfp4(out, in, false, random); }, 1e-5},
  };
  return all;
}

// A tiny model with hidden size 64, its projections and experts packed or, as `opened`, as f32.
void write_model(const std::filesystem::path& folder, const std::string& family, const Quantised& layout, bool opened) {
  const TinyModel& tiny = tiny_model(family);
  std::string config = tiny.config;
  constexpr std::string_view kBias = "\"attention_bias\": true";
  if (const size_t bias = config.find(kBias); bias != std::string::npos) {
    config.replace(bias, kBias.size(), "\"attention_bias\": false");
  }
  if (!opened) config.insert(config.rfind('}'), R"(, "quantization_config": )" + layout.quantization);
  LayoutRandom random(3);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TinyTensor& tensor : tiny.tensors) {
    const std::string& name = tensor.name;
    if (name.find("_proj.bias") != std::string::npos) continue;
    if (name.find("_proj.weight") == std::string::npos && name.find(".experts.") == std::string::npos) {
      tensors.emplace_back(name, randn(tensor.shape, random()));
      continue;
    }
    const PackedLayout packed = layout.pack(tensor.shape[0], tensor.shape[1], random);
    const std::string module = name.substr(0, name.size() - std::string(".weight").size());
    if (opened) {
      tensors.emplace_back(name, from_vector(packed.values, tensor.shape));
    } else {
      for (const auto& [suffix, part] : packed.parts) tensors.emplace_back(module + suffix, part);
    }
  }
  write_checkpoint(folder, config, tensors);
}

// Experts one by one, under names of their own, and fused projections, too.
TEST(PackedCheckpoints, LogitsAreThoseOfTheOpenedWeights) {
  for (const std::string family : {"llama", "mixtral", "phi3"}) {
    for (const Quantised& layout : layouts()) {
      if (family != "llama" && layout.tolerance > 1e-4) continue;  // a rounding may choose another expert
      SCOPED_TRACE(cat(family, " in ", layout.name));
      const TempFolder temp;
      Tensor logits[2];
      for (const bool opened : {false, true}) {
        write_model(temp.path() / (opened ? "opened" : "packed"), family, layout, opened);
        const TestModel model(temp.path() / (opened ? "opened" : "packed"));
        TestSequence sequence(model);
        logits[opened ? 1 : 0] = sequence.run(model, some_tokens(9, 1, 40));
      }
      EXPECT_LE(relative_error(logits[0], logits[1]), layout.tolerance);
    }
  }
}

}  // namespace
}  // namespace wick
