#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/codecs/codecs.h"
#include "models/codecs/quantizer.h"
#include "models/codecs/seanet.h"
#include "models/config_reader.h"
#include "models/load_parts.h"
#include "models/read_count.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr size_t kEncodecPieceFrames = 16;

struct EncodecConfig {
  SeanetConfig seanet;
  int sample_rate = 0;
  int64_t books = 0, entries = 0;
  std::vector<double> bandwidths;
};

EncodecConfig read_encodec_config(const WeightSource& source) {
  const ConfigReader config(source.config());
  EncodecConfig encodec;
  encodec.seanet = read_seanet_config(config);
  encodec.seanet.lstm_layers = read_count(config, "num_lstm_layers", 16);
  // The 48 kHz model: sound of two channels in overlapping pieces, each normed, and convolutions that look ahead.
  const bool looks_ahead =
      !config.flag("use_causal_conv", true) || config.text("norm_type", "weight_norm") != "weight_norm" ||
      config.flag("normalize", false) || config.number("chunk_length_s", 0) != 0 || encodec.seanet.channels != 1;
  if (looks_ahead) {
    throw Error(ErrorCode::kUnsupported,
                cat(file_name(source),
                    ": Encodec with settings of its 48 kHz model (use_causal_conv, norm_type, normalize, "
                    "chunk_length_s, audio_channels); the causal one of 24 kHz is read"));
  }
  encodec.seanet.names =
      source.has("encoder.layers.0.conv.weight_g") ? ConvNames::kWeightNorm : ConvNames::kParametrized;
  encodec.sample_rate = static_cast<int>(read_count(config, "sampling_rate", 384000));
  encodec.entries = read_count(config, "codebook_size", 1 << 20);
  if (config.integer("codebook_dim", encodec.seanet.hidden) != encodec.seanet.hidden) {
    throw Error(ErrorCode::kUnsupported, "config.json: codebook_dim differs from hidden_size");
  }
  const Json* bandwidths = config.find("target_bandwidths");
  if (bandwidths) encodec.bandwidths = bandwidths->to<std::vector<double>>();
  if (encodec.bandwidths.empty()) throw bad_setting("target_bandwidths is empty");
  for (const double each : encodec.bandwidths) {
    if (!(each > 0) || each > 1e4) throw bad_setting(cat("target_bandwidths has ", each));
  }
  const double frame_rate =
      std::ceil(static_cast<double>(encodec.sample_rate) / static_cast<double>(encodec.seanet.hop()));
  const double bits = std::ceil(std::log2(static_cast<double>(encodec.entries)));
  encodec.books = static_cast<int64_t>(1000 * encodec.bandwidths.back() / (frame_rate * bits));
  if (encodec.books < 1 || encodec.books > 1024)
    throw bad_setting(cat("target_bandwidths make ", encodec.books, " codebooks"));
  return encodec;
}

class Encodec final : public Codec {
 public:
  Encodec(const EncodecConfig& config, WeightLoader& loader)
      : device_(loader.device()),
        encoder_(Seanet::encoder(config.seanet, loader, "encoder.layers.")),
        decoder_(Seanet::decoder(config.seanet, loader, "decoder.layers.")),
        quantizer_(loader, BookNames::kEncodec, "quantizer.", config.books, config.entries, config.seanet.hidden, 0,
                   true) {
    facts_.family = "encodec";
    facts_.sample_rate = config.sample_rate;
    facts_.codebooks = config.books;
    facts_.codebook_size = config.entries;
    facts_.frame_samples = config.seanet.hop();
    facts_.bandwidths = config.bandwidths;
    facts_.encodes = facts_.decodes = true;
    facts_.parameters = loader.parameters();
    facts_.weight_bytes = loader.bytes();
  }

  std::unique_ptr<CodecDecoder> decoder(int64_t codebooks) const override {
    return std::make_unique<Decoding>(*this, checked_books(codebooks));
  }
  std::unique_ptr<CodecEncoder> encoder(int64_t codebooks) const override {
    return std::make_unique<Encoding>(*this, checked_books(codebooks));
  }

 private:
  class Decoding final : public CodecDecoder {
   public:
    Decoding(const Encodec& model, int64_t books) : model_(model), books_(books), state_(model.decoder_.new_state()) {}
    std::vector<float> push(std::span<const int32_t> codes) override {
      check_codes(codes, books_, model_.facts_.codebook_size);
      std::vector<float> samples;
      const size_t piece = kEncodecPieceFrames * static_cast<size_t>(books_);
      for (size_t at = 0; at < codes.size(); at += piece) {
        const auto part = codes.subspan(at, std::min(piece, codes.size() - at));
        const ArenaScope scope(arena_);
        append(model_.quantizer_.decode(part, books_, 0, books_), false, samples);
      }
      return samples;
    }
    std::vector<float> finish() override {
      std::vector<float> samples;
      const ArenaScope scope(arena_);
      append(empty({0, model_.width()}, DType::kF32, model_.device_), true, samples);
      return samples;
    }

   private:
    void append(const Tensor& rows, bool ends, std::vector<float>& samples) {
      const std::vector<float> part = model_.decoder_(rows, state_, ends).to_vector<float>();
      samples.insert(samples.end(), part.begin(), part.end());
    }
    const Encodec& model_;
    int64_t books_;
    Arena arena_;
    Seanet::State state_;
  };

  class Encoding final : public CodecEncoder {
   public:
    Encoding(const Encodec& model, int64_t books) : model_(model), books_(books), state_(model.encoder_.new_state()) {}
    std::vector<int32_t> push(std::span<const float> samples) override {
      return samples.empty() ? std::vector<int32_t>() : run(samples, false);
    }
    std::vector<int32_t> finish() override { return run({}, true); }

   private:
    std::vector<int32_t> run(std::span<const float> samples, bool ends) {
      const ArenaScope scope(arena_);
      const Tensor sound = from_span(samples, {static_cast<int64_t>(samples.size()), 1}).to_device(model_.device_);
      const Tensor rows = model_.encoder_(sound, state_, ends);
      std::vector<int32_t> codes(static_cast<size_t>(rows.dim(0) * books_));
      if (!codes.empty()) model_.quantizer_.encode(rows, codes, books_, 0, books_);
      return codes;
    }
    const Encodec& model_;
    int64_t books_;
    Arena arena_;
    Seanet::State state_;
  };

  int64_t width() const { return quantizer_.width(); }

  Device device_;
  Seanet encoder_, decoder_;
  ResidualQuantizer quantizer_;
};

}  // namespace

std::unique_ptr<Codec> load_encodec(const WeightSource& source, const ModelOptions& options) {
  const EncodecConfig config = read_encodec_config(source);
  std::unique_ptr<Codec> codec;
  load_parts(source, options, {}, [&](WeightLoader& loader) { codec = std::make_unique<Encodec>(config, loader); });
  return codec;
}

}  // namespace wick
