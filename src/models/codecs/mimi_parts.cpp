#include "models/codecs/mimi_parts.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/read_count.h"
#include "nn/activation.h"
#include "ops/binary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kDownTaps = 4;  // of the convolution that halves the rate of rows

}  // namespace

MimiConfig read_mimi_config(const ConfigReader& config, const std::string& prefix) {
  MimiConfig mimi;
  mimi.seanet = read_seanet_config(config);
  if (!config.flag("use_causal_conv", true)) {
    throw Error(ErrorCode::kUnsupported, "config.json: use_causal_conv = false for a codec of the kind of Mimi");
  }
  if (mimi.seanet.channels != 1) throw bad_setting(cat("audio_channels = ", mimi.seanet.channels, ", expected 1"));
  mimi.sample_rate = static_cast<int>(read_count(config, "sampling_rate", 384000));
  CodecTransformerConfig& transformer = mimi.transformer;
  transformer.layers = read_count(config, "num_hidden_layers", 256);
  transformer.hidden = mimi.seanet.hidden;
  transformer.heads = read_count(config, "num_attention_heads", 1024);
  transformer.kv_heads =
      config.has("num_key_value_heads") ? read_count(config, "num_key_value_heads", 1024) : transformer.heads;
  transformer.head_dim =
      config.has("head_dim") ? read_count(config, "head_dim", 4096) : transformer.hidden / transformer.heads;
  transformer.intermediate = read_count(config, "intermediate_size");
  transformer.window = read_count(config, "sliding_window", 1 << 20);
  transformer.theta = config.number("rope_theta", 10000);
  transformer.eps = static_cast<float>(config.number("norm_eps", 1e-5));
  transformer.activation = activation_named(config.text("hidden_act", "gelu"));
  if (config.flag("attention_bias", false))
    throw Error(ErrorCode::kUnsupported, "config.json: attention_bias of a codec");
  if (transformer.heads % transformer.kv_heads != 0 || transformer.head_dim % 2 != 0 || !(transformer.theta > 0)) {
    throw bad_setting(cat("num_attention_heads = ", transformer.heads, ", num_key_value_heads = ", transformer.kv_heads,
                          ", head_dim = ", transformer.head_dim, " and rope_theta = ", transformer.theta,
                          " do not fit each other"));
  }
  mimi.books = read_count(config, "num_quantizers", 1024);
  mimi.semantic_books = read_count(config, "num_semantic_quantizers", mimi.books);
  mimi.entries = read_count(config, "codebook_size", 1 << 20);
  mimi.book_width = config.has("vector_quantization_hidden_dimension")
                        ? read_count(config, "vector_quantization_hidden_dimension")
                        : read_count(config, "codebook_dim");
  const double rows_per_second = static_cast<double>(mimi.sample_rate) / static_cast<double>(mimi.seanet.hop());
  const double frames = config.number("_frame_rate", config.number("frame_rate", rows_per_second / 2));
  if (std::floor(rows_per_second / frames) != 2) {
    throw Error(ErrorCode::kUnsupported, cat("config.json: a frame rate of ", frames, " with ", rows_per_second,
                                             " rows a second; half as many frames are expected"));
  }
  const int64_t groups = config.integer("upsample_groups", mimi.seanet.hidden);
  if (groups != mimi.seanet.hidden) {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: upsample_groups = ", groups, ", expected hidden_size = ", mimi.seanet.hidden));
  }
  mimi.prefix = prefix;
  mimi.encoder = prefix + "encoder.layers.";
  mimi.decoder = prefix + "decoder.layers.";
  mimi.encoder_layers = prefix + "encoder_transformer.layers.";
  mimi.decoder_layers = prefix + "decoder_transformer.layers.";
  mimi.semantic = prefix + "quantizer.semantic_residual_vector_quantizer.";
  mimi.acoustic = prefix + "quantizer.acoustic_residual_vector_quantizer.";
  mimi.down = prefix + "downsample";
  mimi.up = prefix + "upsample";
  return mimi;
}

MimiConfig read_moshi_config(const Json* json) {
  MimiConfig mimi;
  mimi.seanet.names = ConvNames::kMoshi;
  mimi.seanet.filters = 64;
  mimi.seanet.hidden = 512;
  mimi.seanet.ratios = {8, 6, 5, 4};
  CodecTransformerConfig& transformer = mimi.transformer;
  transformer.layers = 8;
  transformer.heads = 8;
  transformer.intermediate = 2048;
  transformer.window = 250;
  mimi.books = 32;
  mimi.entries = 2048;
  mimi.book_width = 256;
  if (json) {
    const auto expect = [&](const ConfigReader& block, std::string_view name, std::string_view value) {
      if (block.text(name, value) == value) return;
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: ", name, " = '", block.text(name, value), "' of a codec, expected '", value, "'"));
    };
    const ConfigReader seanet(json->at("seanet")), layers(json->at("transformer")), books(json->at("quantizer"));
    mimi.sample_rate = static_cast<int>(read_count(ConfigReader(*json), "sample_rate", 384000));
    mimi.seanet.filters = read_count(seanet, "n_filters", 4096);
    mimi.seanet.hidden = read_count(seanet, "dimension");
    mimi.seanet.residual_layers = read_count(seanet, "n_residual_layers", 16);
    mimi.seanet.ratios = seanet.integers("ratios");
    mimi.seanet.kernel = read_count(seanet, "kernel_size", 64);
    mimi.seanet.last_kernel = read_count(seanet, "last_kernel_size", 64);
    mimi.seanet.residual_kernel = read_count(seanet, "residual_kernel_size", 64);
    mimi.seanet.dilation_growth = read_count(seanet, "dilation_base", 16);
    mimi.seanet.compress = read_count(seanet, "compress", 64);
    mimi.seanet.shortcut = !seanet.flag("true_skip", true);
    expect(seanet, "pad_mode", "constant");
    expect(seanet, "norm", "none");
    expect(seanet, "activation", "ELU");
    expect(layers, "gating", "none");
    expect(layers, "norm", "layer_norm");
    expect(layers, "positional_embedding", "rope");
    transformer.layers = read_count(layers, "num_layers", 256);
    transformer.heads = read_count(layers, "num_heads", 1024);
    transformer.intermediate = read_count(layers, "dim_feedforward");
    transformer.window = read_count(layers, "context", 1 << 20);
    transformer.theta = layers.number("max_period", 10000);
    mimi.books = read_count(books, "n_q", 1024);
    mimi.entries = read_count(books, "bins", 1 << 20);
    mimi.book_width = read_count(books, "dimension");
  }
  transformer.hidden = mimi.seanet.hidden;
  transformer.kv_heads = transformer.heads;
  transformer.head_dim = transformer.hidden / transformer.heads;
  if (transformer.head_dim % 2 != 0 || transformer.head_dim * transformer.heads != transformer.hidden ||
      !(transformer.theta > 0) || mimi.seanet.ratios.empty() || mimi.seanet.filters % mimi.seanet.compress != 0) {
    throw bad_setting(cat("num_heads = ", transformer.heads, " of a codec of width ", transformer.hidden));
  }
  transformer.interleaved = true;
  transformer.attn_norm = "norm1";
  transformer.mlp_norm = "norm2";
  transformer.out = "self_attn.out_proj";
  transformer.up = "linear1";
  transformer.down = "linear2";
  transformer.attn_scale = "layer_scale_1";
  transformer.mlp_scale = "layer_scale_2";
  mimi.book_names = BookNames::kMoshi;
  mimi.encoder = "encoder.model.";
  mimi.decoder = "decoder.model.";
  mimi.encoder_layers = "encoder_transformer.transformer.layers.";
  mimi.decoder_layers = "decoder_transformer.transformer.layers.";
  mimi.semantic = "quantizer.rvq_first.";
  mimi.acoustic = "quantizer.rvq_rest.";
  mimi.down = "downsample.conv";
  mimi.up = "upsample.convtr";
  return mimi;
}

SplitQuantizer::SplitQuantizer(const MimiConfig& config, WeightLoader& loader, bool encodes)
    : semantic_books_(config.semantic_books),
      semantic_(loader, config.book_names, config.semantic, config.semantic_books, config.entries, config.book_width,
                config.seanet.hidden, encodes),
      acoustic_(loader, config.book_names, config.acoustic, config.books - config.semantic_books, config.entries,
                config.book_width, config.seanet.hidden, encodes) {}

Tensor SplitQuantizer::decode(std::span<const int32_t> codes, int64_t books) const {
  const Tensor first = semantic_.decode(codes, books, 0, std::min(books, semantic_books_));
  if (books <= semantic_books_) return first;
  return add(first, acoustic_.decode(codes, books, semantic_books_, books - semantic_books_));
}

std::vector<int32_t> SplitQuantizer::encode(const Tensor& rows, int64_t books) const {
  std::vector<int32_t> codes(static_cast<size_t>(rows.dim(0) * books));
  if (codes.empty()) return codes;
  const int64_t semantic = std::min(books, semantic_books_);
  semantic_.encode(rows, codes, books, 0, semantic);
  if (books > semantic) acoustic_.encode(rows, codes, books, semantic, books - semantic);
  return codes;
}

MimiEncoder::MimiEncoder(const MimiConfig& config, WeightLoader& loader)
    : device_(loader.device()),
      seanet_(Seanet::encoder(config.seanet, loader, config.encoder)),
      transformer_(
          [&] {
            CodecTransformerConfig layers = config.transformer;
            layers.prefix = config.encoder_layers;
            return layers;
          }(),
          loader),
      down_(make_stream_conv(load_conv_weight(loader, config.seanet.names, config.down,
                                              {config.seanet.hidden, config.seanet.hidden, kDownTaps}, false),
                             {}, config.seanet.hidden, kDownTaps, 2, 1, PadMode::kReplicate)),
      quantizer_(config, loader, true) {}

class MimiEncoder::Stream final : public CodecEncoder {
 public:
  Stream(const MimiEncoder& model, int64_t books)
      : model_(model),
        books_(books),
        seanet_(model.seanet_.new_state()),
        transformer_(model.transformer_.new_state()) {}

  std::vector<int32_t> push(std::span<const float> samples) override {
    return samples.empty() ? std::vector<int32_t>() : run(samples, false);
  }
  std::vector<int32_t> finish() override { return run({}, true); }

 private:
  std::vector<int32_t> run(std::span<const float> samples, bool ends) {
    const ArenaScope scope(arena_);
    const Tensor sound = from_span(samples, {static_cast<int64_t>(samples.size()), 1}).to_device(model_.device_);
    const Tensor rows = model_.transformer_(model_.seanet_(sound, seanet_, ends), transformer_);
    return model_.quantizer_.encode(model_.down_(rows, down_, ends), books_);
  }

  const MimiEncoder& model_;
  int64_t books_;
  Arena arena_;
  Seanet::State seanet_;
  CodecTransformerState transformer_;
  StreamConvState down_;
};

std::unique_ptr<CodecEncoder> MimiEncoder::stream(int64_t books) const {
  return std::make_unique<Stream>(*this, books);
}

}  // namespace wick
