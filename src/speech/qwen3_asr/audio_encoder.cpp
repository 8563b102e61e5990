#include "speech/qwen3_asr/audio_encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "nn/scratch.h"
#include "nn/sinusoids.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/conv.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

// What is in memory at once; no result depends on either. A second of sound makes 6 MB behind the first convolution of
// the released models.
constexpr int64_t kChunksAtOnce = 8;
constexpr size_t kWindowsAtOnce = 16;

}  // namespace

struct AudioEncoder::Window {
  const Tensor* mel;  // f32 [bins, frames], row-major, on the host
  size_t clip;
  int64_t first, frames;
};

AudioEncoder::AudioEncoder(const AudioEncoderConfig& config, WeightLoader& loader, const ModelOptions& options)
    : config_(config), device_(options.device) {
  const ArenaPause keep;
  const std::string& prefix = config_.prefix;
  const int64_t channels = config_.channels, width = config_.width;
  for (int i = 0; i < 3; ++i) {
    const std::string name = cat(prefix, "conv2d", i + 1);
    conv_weight_[i] = loader.vector(name + ".weight", {channels, i == 0 ? 1 : channels, 3, 3});
    conv_bias_[i] = loader.vector(name + ".bias", {channels});
  }
  const int64_t features = channels * AudioEncoderConfig::thirdly_halved(config_.bins);
  conv_out_ = loader.linear(prefix + "conv_out", width, features, false);
  positions_ = sinusoids(config_.chunk_tokens(), width, width / 2 - 1).to_device(device_);
  const AudioLayerConfig layer{width, config_.heads, config_.intermediate, config_.activation};
  for (int64_t i = 0; i < config_.layers; ++i)
    layers_.push_back(load_audio_layer(layer, cat(prefix, "layers.", i, "."), loader));
  final_norm_ = loader.norm(prefix + "ln_post", NormKind::kLayer, width, 1e-5f, true, true, 0);
  project_in_ = loader.linear(config_.project_in, width, width, true);
  project_out_ = loader.linear(config_.project_out, config_.output, width, true);
}

Tensor AudioEncoder::encode(const Tensor& mel) const { return encode({&mel, 1}).front(); }

std::vector<Tensor> AudioEncoder::encode(std::span<const Tensor> mels) const {
  std::vector<Tensor> staged;
  std::vector<Window> clips;
  for (const Tensor& mel : mels) {
    if (!mel.defined() || mel.rank() != 2 || mel.dim(0) != config_.bins || mel.dim(1) < 1 || !is_float(mel.dtype())) {
      throw Error(
          ErrorCode::kInvalidArgument,
          cat("a spectrogram is ", mel.defined() ? cat(mel.dtype(), " ", mel.shape()) : std::string("undefined"),
              ", expected f32 [", config_.bins, ", frames]"));
    }
    staged.push_back(mel.to_device(Device::cpu()).to_dtype(DType::kF32).contiguous());
  }
  for (size_t i = 0; i < staged.size(); ++i) clips.push_back({&staged[i], i, 0, staged[i].dim(1)});

  std::vector<std::vector<Tensor>> heard(mels.size());
  Arena arena;
  const std::vector<Window> windows = cut(clips, config_.window_frames());
  for (size_t i = 0; i < windows.size(); i += kWindowsAtOnce) {
    const auto some = std::span(windows).subspan(i, std::min(kWindowsAtOnce, windows.size() - i));
    const ArenaScope scope(arena);
    const Tensor rows = listen(some);
    const ArenaPause keep;
    int64_t row = 0;
    for (const Window& window : some) {
      const int64_t tokens = config_.tokens_of(window.frames);
      heard[window.clip].push_back(narrow(rows, 0, row, tokens).clone());
      row += tokens;
    }
  }
  std::vector<Tensor> embeddings;
  embeddings.reserve(heard.size());
  for (const std::vector<Tensor>& parts : heard) {
    embeddings.push_back(parts.size() == 1 ? parts.front() : concat(parts, 0));
  }
  return embeddings;
}

// Parts of at most `frames` frames each, in order.
std::vector<AudioEncoder::Window> AudioEncoder::cut(std::span<const Window> parts, int64_t frames) const {
  std::vector<Window> pieces;
  for (const Window& part : parts) {
    for (int64_t at = 0; at < part.frames; at += frames) {
      pieces.push_back({part.mel, part.clip, part.first + at, std::min(frames, part.frames - at)});
    }
  }
  return pieces;
}

Tensor AudioEncoder::listen(std::span<const Window> windows) const {
  std::vector<int64_t> lengths;
  for (const Window& window : windows) lengths.push_back(config_.tokens_of(window.frames));
  const std::vector<Window> chunks = cut(windows, config_.chunk_frames);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < chunks.size(); i += kChunksAtOnce) {
    parts.push_back(stem(std::span(chunks).subspan(i, std::min<size_t>(kChunksAtOnce, chunks.size() - i))));
  }
  Tensor x = parts.size() == 1 ? parts.front() : concat(parts, 0);
  parts.clear();
  EncoderStep step(lengths);
  for (size_t i = 0; i < layers_.size(); ++i) x = layers_[i](x, step, {}, false, static_cast<int>(i));
  return in_scratch([&] { return project_out_(activate(config_.activation, project_in_(final_norm_(x)))); });
}

// Chunks to rows [tokens, width]. A chunk that ends early is filled up with zeros, and rows that begin behind its end
// are left out.
Tensor AudioEncoder::stem(std::span<const Window> chunks) const {
  const auto count = static_cast<int64_t>(chunks.size());
  const int64_t bins = config_.bins, frames = config_.chunk_frames, tokens = config_.chunk_tokens();
  Tensor x = in_scratch([&] {
    const Tensor image = zeros({count, 1, bins, frames});
    auto* to = image.mutable_data<float>();
    for (const Window& chunk : chunks) {
      const float* from = chunk.mel->data<float>() + chunk.first;
      for (int64_t bin = 0; bin < bins; ++bin, to += frames, from += chunk.mel->dim(1)) {
        std::copy_n(from, chunk.frames, to);
      }
    }
    return image.to_device(device_);
  });
  Conv2dOptions options;
  options.stride = 2;
  options.padding = 1;
  for (int i = 0; i < 3; ++i) {
    x = in_scratch([&] { return gelu(conv2d(x, conv_weight_[i], conv_bias_[i], options)); });
  }
  return in_scratch([&] {
    const Tensor features = reshape(permute(x, {0, 3, 1, 2}), {count * tokens, -1});  // channels, then bins
    const Tensor rows = add(reshape(conv_out_(features), {count, tokens, -1}), positions_);
    std::vector<int64_t> real;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t kept = config_.tokens_of(chunks[static_cast<size_t>(i)].frames);
      for (int64_t token = 0; token < kept; ++token) real.push_back(i * tokens + token);
    }
    Tensor flat = reshape(rows, {count * tokens, -1});
    if (static_cast<int64_t>(real.size()) == count * tokens) return flat;
    return index_select(flat, 0, from_vector(real, {static_cast<int64_t>(real.size())}).to_device(device_));
  });
}

}  // namespace wick
