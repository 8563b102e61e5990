#include "speech/silero_file.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "formats/onnx/onnx_model.h"
#include "graph/import.h"

namespace wick {
namespace {

// The graph, perhaps a branch far inside, that holds the network of one rate: the size of its spectrum tells.
const OnnxGraph* find_network(const OnnxGraph& graph, int64_t transform) {
  const OnnxTensor* spectrum = find_tensor(graph, silero_onnx_name("stft_conv.weight"));
  if (spectrum && spectrum->dims.size() == 3 && spectrum->dims[2] == transform) return &graph;
  for (const OnnxNode& node : graph.nodes) {
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& inner : attribute.graphs) {
        if (const OnnxGraph* found = find_network(inner, transform)) return found;
      }
    }
  }
  return nullptr;
}

std::shared_ptr<const SileroWeights> load_onnx(const std::filesystem::path& path, int sample_rate) {
  const OnnxModel model = OnnxModel::open(path);
  const OnnxGraph* network = find_network(model.graph, sample_rate == 16000 ? 256 : 128);
  if (!network) {
    throw Error(ErrorCode::kBadFile, cat(path, ": has no tensor '", silero_onnx_name("stft_conv.weight"), "' for ",
                                         sample_rate, " Hz: it is not Silero's voice detector"));
  }
  return SileroWeights::load([&](std::string_view name) {
    const OnnxTensor* tensor = find_tensor(*network, silero_onnx_name(name));
    if (!tensor) {
      throw Error(ErrorCode::kBadFile, cat(path, ": tensor '", silero_onnx_name(name), "' is missing"));
    }
    return graph::read_tensor(*tensor, model.file, nullptr).tensor();
  });
}

}  // namespace

std::shared_ptr<const SileroWeights> load_silero(const std::filesystem::path& path, int sample_rate) {
  if (sample_rate != 16000 && sample_rate != 8000) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("Silero's voice detector hears 8000 or 16000 samples per second, not ", sample_rate));
  }
  if (path.extension() == ".onnx") return load_onnx(path, sample_rate);
  const Checkpoint checkpoint = Checkpoint::open(path);
  auto weights = SileroWeights::load([&](std::string_view name) { return checkpoint.get(name); });
  if (weights->sample_rate() != sample_rate) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(path, ": hears ", weights->sample_rate(), " samples per second, not ", sample_rate));
  }
  return weights;
}

}  // namespace wick
