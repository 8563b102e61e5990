#include "base/error.h"
#include "base/text.h"
#include "models/codecs/codecs.h"
#include "models/codecs/mimi_parts.h"
#include "models/load_parts.h"
#include "ops/view.h"
#include "tensor/arena.h"

namespace wick {
namespace {

constexpr int64_t kUpTaps = 4;
constexpr size_t kMimiPieceFrames = 4;  // decoded at once: what they need stays small

class Mimi final : public Codec {
 public:
  Mimi(const MimiConfig& config, WeightLoader& loader)
      : device_(loader.device()),
        quantizer_(config, loader, false),
        up_(make_depthwise_transpose(
            load_conv_weight(loader, config.seanet.names, config.up, {config.seanet.hidden, 1, kUpTaps}, true),
            config.seanet.hidden, kUpTaps, 2)),
        transformer_(
            [&] {
              CodecTransformerConfig layers = config.transformer;
              layers.prefix = config.decoder_layers;
              return layers;
            }(),
            loader),
        seanet_(Seanet::decoder(config.seanet, loader, config.decoder)),
        encoder_(config, loader) {
    facts_.family = "mimi";
    facts_.sample_rate = config.sample_rate;
    facts_.codebooks = config.books;
    facts_.codebook_size = config.entries;
    facts_.frame_samples = config.frame_samples();
    facts_.encodes = facts_.decodes = true;
    facts_.parameters = loader.parameters();
    facts_.weight_bytes = loader.bytes();
  }

  std::unique_ptr<CodecDecoder> decoder(int64_t codebooks) const override {
    return std::make_unique<Stream>(*this, checked_books(codebooks));
  }
  std::unique_ptr<CodecEncoder> encoder(int64_t codebooks) const override {
    return encoder_.stream(checked_books(codebooks));
  }

 private:
  class Stream final : public CodecDecoder {
   public:
    Stream(const Mimi& model, int64_t books)
        : model_(model),
          books_(books),
          transformer_(model.transformer_.new_state()),
          seanet_(model.seanet_.new_state()) {}

    std::vector<float> push(std::span<const int32_t> codes) override {
      check_codes(codes, books_, model_.facts_.codebook_size);
      std::vector<float> samples;
      const size_t piece = kMimiPieceFrames * static_cast<size_t>(books_);
      for (size_t at = 0; at < codes.size(); at += piece) {
        const ArenaScope scope(arena_);
        const Tensor rows = model_.quantizer_.decode(codes.subspan(at, std::min(piece, codes.size() - at)), books_);
        const Tensor sound = model_.seanet_(model_.transformer_(model_.up_(rows, up_), transformer_), seanet_, false);
        const std::vector<float> part = sound.to_vector<float>();
        samples.insert(samples.end(), part.begin(), part.end());
      }
      return samples;
    }

   private:
    const Mimi& model_;
    int64_t books_;
    Arena arena_;
    StreamConvState up_;
    CodecTransformerState transformer_;
    Seanet::State seanet_;
  };

  Device device_;
  SplitQuantizer quantizer_;
  StreamDepthwiseTranspose up_;
  CodecTransformer transformer_;
  Seanet seanet_;
  MimiEncoder encoder_;
};

// Moshi's files name things in their own way, and its newer ones one thing differently again.
MimiConfig config_of(const WeightSource& source) {
  const Json& config = source.config();
  const bool transformers = config.is_object() && config.get("model_type", std::string()) == "mimi";
  if (transformers && source.has("encoder.layers.0.conv.weight")) return read_mimi_config(ConfigReader(config), "");
  MimiConfig mimi = read_moshi_config(config.is_object() && config.find("seanet") ? &config : nullptr);
  if (source.has(mimi.decoder_layers + "0.self_attn.out_projs.0.weight"))
    mimi.transformer.out = "self_attn.out_projs.0";
  return mimi;
}

}  // namespace

std::unique_ptr<Codec> load_mimi(const WeightSource& source, const ModelOptions& options) {
  const MimiConfig config = config_of(source);
  std::unique_ptr<Codec> codec;
  const std::string stacks[] = {config.encoder_layers, config.decoder_layers};
  load_parts(source, options, stacks, [&](WeightLoader& loader) { codec = std::make_unique<Mimi>(config, loader); });
  return codec;
}

}  // namespace wick
