#include "speech/silero_file.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "formats/onnx/onnx_tensors.h"

namespace wick {
namespace {

// The rates are two branches of one If; the size of the spectrum tells which is which.
std::shared_ptr<const SileroWeights> load_onnx(const std::filesystem::path& path, int sample_rate) {
  const OnnxTensors tensors = OnnxTensors::open(path);
  const int64_t transform = sample_rate == 16000 ? 256 : 128;
  const std::string spectrum = silero_onnx_name("stft_conv.weight");
  for (const OnnxTensor& entry : tensors.entries()) {
    const bool is_rate = entry.name == spectrum && entry.shape.rank() == 3 && entry.shape[2] == transform;
    if (!is_rate) continue;
    return SileroWeights::load(
        [&](std::string_view name) { return tensors.get(entry.branch, silero_onnx_name(name)); });
  }
  throw Error(ErrorCode::kBadFile, cat(path, ": has no tensor '", spectrum, "' for ", sample_rate,
                                       " Hz: it is not Silero's voice detector"));
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
