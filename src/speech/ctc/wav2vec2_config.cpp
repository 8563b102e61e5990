#include "speech/ctc/wav2vec2_config.h"

#include "models/read_count.h"

namespace wick {
namespace {

constexpr int64_t kMostConvs = 32, kMostTaps = 1024;

std::vector<Wav2Vec2Config::Conv> read_convs(const ConfigReader& config) {
  const auto channels = config.integers("conv_dim");
  const auto kernels = config.integers("conv_kernel"), strides = config.integers("conv_stride");
  if (channels.empty() || channels.size() > kMostConvs || kernels.size() != channels.size() ||
      strides.size() != channels.size()) {
    throw bad_setting(cat("conv_dim, conv_kernel and conv_stride have ", channels.size(), ", ", kernels.size(), " and ",
                          strides.size(), " numbers, expected 1 to ", kMostConvs, " of each"));
  }
  std::vector<Wav2Vec2Config::Conv> convs;
  int64_t stride = 1;
  for (size_t i = 0; i < channels.size(); ++i) {
    const Wav2Vec2Config::Conv conv{channels[i], kernels[i], strides[i]};
    if (conv.channels < 1 || conv.channels > (1 << 16) || conv.kernel < 1 || conv.kernel > kMostTaps ||
        conv.stride < 1 || conv.stride > conv.kernel) {
      throw bad_setting(cat("convolution ", i, " has ", conv.channels, " channels, a kernel of ", conv.kernel,
                            " and a stride of ", conv.stride));
    }
    stride *= conv.stride;
    if (stride > (1 << 16)) throw bad_setting(cat("conv_stride makes a frame of more than ", 1 << 16, " samples"));
    convs.push_back(conv);
  }
  return convs;
}

Wav2Vec2Config::Positions read_positions(const std::string& name) {
  using Positions = Wav2Vec2Config::Positions;
  if (name == "relative") return Positions::kRelative;
  if (name == "rotary") return Positions::kRotary;
  if (name == "none") return Positions::kNone;
  throw Error(ErrorCode::kUnsupported,
              cat("config.json: position_embeddings_type = '", name, "', expected relative or rotary"));
}

void check_divides(std::string_view name, int64_t value, int64_t width) {
  if (width % value == 0) return;
  throw bad_setting(cat("hidden_size = ", width, ", which does not divide by ", name, " = ", value));
}

}  // namespace

int64_t Wav2Vec2Config::samples_per_frame() const {
  int64_t samples = 1;
  for (const Conv& conv : convs) samples *= conv.stride;
  return samples;
}

int64_t Wav2Vec2Config::frames_of(int64_t samples) const {
  for (const Conv& conv : convs) samples = samples < conv.kernel ? 0 : (samples - conv.kernel) / conv.stride + 1;
  return samples;
}

int64_t Wav2Vec2Config::samples_of(int64_t frames) const {
  for (size_t i = convs.size(); i-- > 0;) frames = (frames - 1) * convs[i].stride + convs[i].kernel;
  return frames;
}

Wav2Vec2Config read_wav2vec2_config(const ConfigReader& config) {
  Wav2Vec2Config out;
  out.convs = read_convs(config);
  out.conv_bias = config.flag("conv_bias", false);
  const std::string norm = config.text("feat_extract_norm", "group");
  if (norm != "group" && norm != "layer") throw bad_setting(cat("feat_extract_norm = '", norm, "'"));
  out.conv_layer_norm = norm == "layer";
  out.conv_activation = activation_named(config.text("feat_extract_activation", "gelu"));
  out.width = read_count(config, "hidden_size");
  out.layers = read_count(config, "num_hidden_layers", 4096);
  out.heads = read_count(config, "num_attention_heads");
  out.intermediate = read_count(config, "intermediate_size");
  out.vocabulary = read_count(config, "vocab_size", int64_t{1} << 20);
  out.eps = static_cast<float>(config.number("layer_norm_eps", 1e-5));
  out.activation = activation_named(config.text("hidden_act", "gelu"));
  check_divides("num_attention_heads", out.heads, out.width);
  const int64_t blank = config.integer("pad_token_id", 0);
  if (blank < 0 || blank >= out.vocabulary)
    throw bad_setting(cat("pad_token_id = ", blank, " of ", out.vocabulary, " tokens"));
  out.blank = static_cast<int32_t>(blank);
  if (config.flag("add_adapter", false)) {
    throw Error(ErrorCode::kUnsupported, "config.json: add_adapter: convolutions behind the encoder are not supported");
  }
  out.conformer = config.text("model_type", "") == "wav2vec2-conformer";
  if (out.conformer) {
    out.positions = read_positions(config.text("position_embeddings_type", "relative"));
    out.depthwise_kernel = config.integer("conv_depthwise_kernel_size", 31);
    if (out.depthwise_kernel < 1 || out.depthwise_kernel > kMostTaps || out.depthwise_kernel % 2 == 0) {
      throw bad_setting(cat("conv_depthwise_kernel_size = ", out.depthwise_kernel, ", expected an odd number"));
    }
    out.rotary_base = config.number("rotary_embedding_base", 10000);
    if (!(out.rotary_base > 0)) throw bad_setting(cat("rotary_embedding_base = ", out.rotary_base));
    if (out.positions == Wav2Vec2Config::Positions::kRotary && out.width / out.heads % 2 != 0) {
      throw bad_setting("rotary positions need heads of an even size");
    }
    out.prefix = "wav2vec2_conformer.";
  } else {
    out.norm_first = config.flag("do_stable_layer_norm", false);
    out.position_kernel = read_count(config, "num_conv_pos_embeddings", kMostTaps);
    out.position_groups = read_count(config, "num_conv_pos_embedding_groups");
    check_divides("num_conv_pos_embedding_groups", out.position_groups, out.width);
    out.adapter = config.integer("adapter_attn_dim", 0);
    if (out.adapter < 0 || out.adapter > (1 << 16)) throw bad_setting(cat("adapter_attn_dim = ", out.adapter));
    if (out.adapter > 0 && !out.norm_first) throw bad_setting("adapter_attn_dim goes with do_stable_layer_norm");
    out.prefix = "wav2vec2.";
  }
  return out;
}

}  // namespace wick
