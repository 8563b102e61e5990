#include "base/error.h"
#include "base/text.h"
#include "models/codecs/codec_activations.h"
#include "models/codecs/codecs.h"
#include "models/codecs/mimi_parts.h"
#include "models/load_parts.h"
#include "models/read_count.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/layers/norm.h"
#include "ops/layers/recurrence.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kOuterTaps = 7, kPreTaps = 3, kDepthTaps = 7;
constexpr int64_t kDilations[] = {1, 3, 9};
constexpr size_t kQwen3PieceFrames = 4;  // decoded at once: what they need stays small

struct DecoderSizes {
  CodecTransformerConfig transformer;
  int64_t books = 0, semantic_books = 1, entries = 0, book_outer = 0, latent = 0, width = 0;
  std::vector<int64_t> ups, rates;

  int64_t frame_samples() const {
    int64_t samples = 1;
    for (const int64_t up : ups) samples *= up;
    for (const int64_t rate : rates) samples *= rate;
    return samples;
  }
};

DecoderSizes read_decoder(const ConfigReader& config) {
  DecoderSizes sizes;
  CodecTransformerConfig& transformer = sizes.transformer;
  transformer.layers = read_count(config, "num_hidden_layers", 256);
  transformer.hidden = read_count(config, "hidden_size");
  transformer.heads = read_count(config, "num_attention_heads", 1024);
  transformer.kv_heads = read_count(config, "num_key_value_heads", 1024);
  transformer.head_dim = read_count(config, "head_dim", 4096);
  transformer.intermediate = read_count(config, "intermediate_size");
  transformer.window = read_count(config, "sliding_window", 1 << 20);
  transformer.theta = config.number("rope_theta", 10000);
  transformer.norm = NormKind::kRms;
  transformer.eps = static_cast<float>(config.number("rms_norm_eps", 1e-5));
  transformer.activation = activation_named(config.text("hidden_act", "silu"));
  transformer.gated = true;
  transformer.prefix = "decoder.pre_transformer.layers.";
  transformer.gate = "mlp.gate_proj";
  transformer.up = "mlp.up_proj";
  transformer.down = "mlp.down_proj";
  if (config.flag("attention_bias", false))
    throw Error(ErrorCode::kUnsupported, "config.json: attention_bias of a codec");
  if (transformer.heads % transformer.kv_heads != 0 || transformer.head_dim % 2 != 0 || !(transformer.theta > 0)) {
    throw bad_setting(cat("num_attention_heads = ", transformer.heads, ", num_key_value_heads = ", transformer.kv_heads,
                          " and head_dim = ", transformer.head_dim, " do not fit each other"));
  }
  sizes.books = read_count(config, "num_quantizers", 256);
  sizes.semantic_books = read_count(config, "num_semantic_quantizers", sizes.books - 1);
  sizes.entries = read_count(config, "codebook_size", 1 << 20);
  sizes.book_outer = read_count(config, "codebook_dim");
  sizes.latent = read_count(config, "latent_dim");
  sizes.width = read_count(config, "decoder_dim");
  sizes.ups = config.integers("upsampling_ratios");
  sizes.rates = config.integers("upsample_rates");
  for (const auto* list : {&sizes.ups, &sizes.rates}) {
    if (list->empty() || list->size() > 8)
      throw bad_setting("upsampling_ratios and upsample_rates need 1 to 8 numbers");
    for (const int64_t rate : *list) {
      if (rate < 1 || rate > 64) throw bad_setting(cat("a codec's decoder spreads rows by ", rate));
    }
  }
  if (sizes.book_outer % 2 != 0 || sizes.width % (int64_t{1} << sizes.rates.size()) != 0) {
    throw bad_setting(cat("codebook_dim = ", sizes.book_outer, " and decoder_dim = ", sizes.width, " do not halve"));
  }
  return sizes;
}

StreamConv load_causal(WeightLoader& loader, const std::string& name, int64_t in, int64_t out, int64_t taps,
                       int64_t dilation = 1) {
  const Tensor weight = loader.vector(name + ".conv.weight", {out, in, taps});
  const Tensor bias = loader.vector(name + ".conv.bias", {out});
  return make_stream_conv(weight, bias, in, taps, 1, dilation);
}

StreamConv load_transposed(WeightLoader& loader, const std::string& name, int64_t in, int64_t out, int64_t taps,
                           int64_t stride) {
  const Tensor weight = loader.vector(name + ".conv.weight", {in, out, taps});
  const Tensor bias = loader.vector(name + ".conv.bias", {out});
  return make_stream_conv_transpose(weight, bias, in, taps, stride);
}

SnakeBeta load_snake(WeightLoader& loader, const std::string& name, int64_t channels) {
  const Tensor alpha = loader.vector(name + ".alpha", {channels}), beta = loader.vector(name + ".beta", {channels});
  return make_snake_beta(alpha, beta);
}

// Twice or more as many rows, each of which then looks back a little.
struct ConvNext {
  StreamConv spread;
  Tensor depth_weight, depth_bias;  // [taps, channels], [channels]
  Norm norm;
  Linear up, down;
  Tensor gamma;
};

struct ResidualUnit {
  SnakeBeta first, second;
  StreamConv dilated, mix;
};

struct Upsampler {
  SnakeBeta snake;
  StreamConv spread;
  std::vector<ResidualUnit> units;
};

class Qwen3Codec final : public Codec {
 public:
  Qwen3Codec(const DecoderSizes& sizes, const MimiConfig& encoder, int64_t encoded_books, int in_rate, int out_rate,
             WeightLoader& loader)
      : device_(loader.device()),
        semantic_(loader, BookNames::kMoshi, "decoder.quantizer.rvq_first.", sizes.semantic_books, sizes.entries,
                  sizes.book_outer / 2, sizes.book_outer, false),
        acoustic_(loader, BookNames::kMoshi, "decoder.quantizer.rvq_rest.", sizes.books - sizes.semantic_books,
                  sizes.entries, sizes.book_outer / 2, sizes.book_outer, false),
        semantic_books_(sizes.semantic_books),
        pre_conv_(load_causal(loader, "decoder.pre_conv", sizes.book_outer, sizes.latent, kPreTaps)),
        in_(loader.linear("decoder.pre_transformer.input_proj", sizes.transformer.hidden, sizes.latent, true)),
        transformer_(sizes.transformer, loader),
        norm_(loader.norm("decoder.pre_transformer.norm", NormKind::kRms, sizes.transformer.hidden,
                          sizes.transformer.eps, true, false, 0)),
        out_(loader.linear("decoder.pre_transformer.output_proj", sizes.latent, sizes.transformer.hidden, true)),
        encoder_(encoder, loader) {
    for (size_t i = 0; i < sizes.ups.size(); ++i) {
      nexts_.push_back(load_next(loader, cat("decoder.upsample.", i), sizes.latent, sizes.ups[i]));
    }
    const std::string stem = "decoder.decoder.";
    first_ = load_causal(loader, stem + "0", sizes.latent, sizes.width, kOuterTaps);
    int64_t width = sizes.width, index = 1;
    for (const int64_t rate : sizes.rates) {
      uppers_.push_back(load_upper(loader, cat(stem, index++, ".block."), width, rate));
      width /= 2;
    }
    last_snake_ = load_snake(loader, cat(stem, index), width);
    last_ = load_causal(loader, cat(stem, index + 1), width, 1, kOuterTaps);
    facts_.family = "qwen3_tts_tokenizer_12hz";
    facts_.sample_rate = out_rate;
    facts_.codebooks = sizes.books;
    facts_.codebook_size = sizes.entries;
    facts_.frame_samples = sizes.frame_samples();
    facts_.decodes = true;
    facts_.encodes = in_rate == out_rate && encoded_books == sizes.books;
    facts_.parameters = loader.parameters();
    facts_.weight_bytes = loader.bytes();
  }

  std::unique_ptr<CodecDecoder> decoder(int64_t codebooks) const override {
    checked_books(codebooks, facts_.codebooks);
    return std::make_unique<Stream>(*this);
  }
  std::unique_ptr<CodecEncoder> encoder(int64_t codebooks) const override {
    return encoder_.stream(checked_books(codebooks, facts_.codebooks));
  }

 private:
  struct State {
    StreamConvState pre_conv, first, last;
    CodecTransformerState transformer;
    std::vector<StreamConvState> spreads;  // of ConvNext and of Upsampler, in order
    std::vector<Tensor> depths;
    std::vector<StreamConvState> units;  // two for each
  };

  static ConvNext load_next(WeightLoader& loader, const std::string& name, int64_t width, int64_t rate) {
    ConvNext next;
    next.spread = load_transposed(loader, name + ".0", width, width, rate, rate);
    const std::string block = name + ".1.";
    const Tensor depth = loader.vector(block + "dwconv.conv.weight", {width, kDepthTaps});
    if (depth.defined()) {
      const ArenaPause keep;
      next.depth_weight = transpose(depth, 0, 1).contiguous();
    }
    next.depth_bias = loader.vector(block + "dwconv.conv.bias", {width});
    next.norm = loader.norm(block + "norm", NormKind::kLayer, width, 1e-6f, true, true, 0);
    next.up = loader.linear(block + "pwconv1", 4 * width, width, true);
    next.down = loader.linear(block + "pwconv2", width, 4 * width, true);
    next.gamma = loader.vector(block + "gamma", {width});
    return next;
  }

  static Upsampler load_upper(WeightLoader& loader, const std::string& block, int64_t width, int64_t rate) {
    Upsampler upper;
    upper.snake = load_snake(loader, block + "0", width);
    upper.spread = load_transposed(loader, block + "1", width, width / 2, 2 * rate, rate);
    int64_t index = 2;
    for (const int64_t dilation : kDilations) {
      const std::string unit = cat(block, index++, ".");
      ResidualUnit made;
      made.first = load_snake(loader, unit + "act1", width / 2);
      made.dilated = load_causal(loader, unit + "conv1", width / 2, width / 2, kOuterTaps, dilation);
      made.second = load_snake(loader, unit + "act2", width / 2);
      made.mix = load_causal(loader, unit + "conv2", width / 2, width / 2, 1);
      upper.units.push_back(std::move(made));
    }
    return upper;
  }

  State new_state() const {
    const ArenaPause keep;
    State state;
    state.transformer = transformer_.new_state();
    state.spreads.resize(nexts_.size() + uppers_.size());
    for (const ConvNext& next : nexts_) {
      state.depths.push_back(zeros({kDepthTaps - 1, next.gamma.dim(0)}, DType::kF32, device_));
    }
    state.units.resize(uppers_.size() * std::size(kDilations) * 2);
    return state;
  }

  Tensor run(std::span<const int32_t> codes, State& state) const {
    const int64_t books = facts_.codebooks;
    Tensor x = add(semantic_.decode(codes, books, 0, semantic_books_),
                   acoustic_.decode(codes, books, semantic_books_, books - semantic_books_));
    x = in_scratch([&] {
      const Tensor rows = transformer_(in_(pre_conv_(x, state.pre_conv, false)), state.transformer);
      return out_(norm_.input_for(rows), {});
    });
    size_t spread = 0, unit = 0;
    for (const ConvNext& next : nexts_) {
      const size_t index = spread;
      x = in_scratch([&] {
        const Tensor rows = next.spread(x, state.spreads[spread++], false);
        const StateRows all{0, rows.dim(0), state.depths[index]};
        const Tensor looked = causal_conv(rows, next.depth_weight, next.depth_bias, {&all, 1});
        return add(rows, mul(next.down(gelu(next.up(next.norm(looked)))), next.gamma));
      });
    }
    x = first_(x, state.first, false);
    for (const Upsampler& upper : uppers_) {
      x = in_scratch([&] { return upper.spread(upper.snake(x), state.spreads[spread++], false); });
      for (const ResidualUnit& each : upper.units) {
        x = in_scratch([&] {
          const Tensor inner = each.dilated(each.first(x), state.units[unit], false);
          return add(x, each.mix(each.second(inner), state.units[unit + 1], false));
        });
        unit += 2;
      }
    }
    return clamp(last_(last_snake_(x), state.last, false), -1, 1);
  }

  class Stream final : public CodecDecoder {
   public:
    explicit Stream(const Qwen3Codec& model) : model_(model), state_(model.new_state()) {}
    std::vector<float> push(std::span<const int32_t> codes) override {
      const CodecFacts& facts = model_.facts_;
      check_codes(codes, facts.codebooks, facts.codebook_size);
      std::vector<float> samples;
      const size_t piece = kQwen3PieceFrames * static_cast<size_t>(facts.codebooks);
      for (size_t at = 0; at < codes.size(); at += piece) {
        const ArenaScope scope(arena_);
        const std::vector<float> part =
            model_.run(codes.subspan(at, std::min(piece, codes.size() - at)), state_).to_vector<float>();
        samples.insert(samples.end(), part.begin(), part.end());
      }
      return samples;
    }

   private:
    const Qwen3Codec& model_;
    Arena arena_;
    State state_;
  };

  Device device_;
  ResidualQuantizer semantic_, acoustic_;
  int64_t semantic_books_;
  StreamConv pre_conv_;
  Linear in_;
  CodecTransformer transformer_;
  Norm norm_;
  Linear out_;
  std::vector<ConvNext> nexts_;
  StreamConv first_;
  std::vector<Upsampler> uppers_;
  SnakeBeta last_snake_;
  StreamConv last_;
  MimiEncoder encoder_;
};

}  // namespace

std::unique_ptr<Codec> load_qwen3_codec(const WeightSource& source, const ModelOptions& options) {
  const Json& json = source.config();
  const ConfigReader config(json);
  const DecoderSizes sizes = read_decoder(ConfigReader(json.at("decoder_config")));
  const MimiConfig whole = read_mimi_config(ConfigReader(json.at("encoder_config")), "encoder.");
  const int64_t encoded = read_count(config, "encoder_valid_num_quantizers", whole.books);
  const int in_rate = static_cast<int>(read_count(config, "input_sample_rate", 384000));
  const int out_rate = static_cast<int>(read_count(config, "output_sample_rate", 384000));
  if (in_rate != whole.sample_rate || in_rate != out_rate || encoded != sizes.books ||
      read_count(config, "decode_upsample_rate", 1 << 20) != sizes.frame_samples() ||
      read_count(config, "encode_downsample_rate", 1 << 20) != whole.frame_samples()) {
    throw bad_setting("the halves of this codec have different rates or numbers of codebooks");
  }
  std::unique_ptr<Codec> codec;
  const std::string stacks[] = {sizes.transformer.prefix, whole.encoder_layers};
  load_parts(source, options, stacks, [&](WeightLoader& loader) {
    codec = std::make_unique<Qwen3Codec>(sizes, whole, encoded, in_rate, out_rate, loader);
  });
  return codec;
}

}  // namespace wick
