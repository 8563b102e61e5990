#pragma once

#include <optional>

#include "models/codecs/codec.h"
#include "models/codecs/codec_transformer.h"
#include "models/codecs/quantizer.h"
#include "models/codecs/seanet.h"
#include "models/config_reader.h"

namespace wick {

// Sizes and names of Mimi, whose encoder the tokenizer of Qwen3-TTS has, too.
struct MimiConfig {
  SeanetConfig seanet;
  CodecTransformerConfig transformer;  // without a prefix
  int sample_rate = 24000;
  int64_t books = 0, semantic_books = 1, entries = 0, book_width = 0;
  BookNames book_names = BookNames::kTransformers;
  // Names.
  std::string prefix, encoder, decoder, encoder_layers, decoder_layers, semantic, acoustic, down, up;

  int64_t frame_samples() const { return 2 * seanet.hop(); }
};

// config.json of Transformers, or a part of one; tensors' names begin with `prefix`.
MimiConfig read_mimi_config(const ConfigReader& config, const std::string& prefix);
// The names of Moshi's own files, whose sizes stand in blocks of a config.json or are those of the one release.
MimiConfig read_moshi_config(const Json* config);

// Rows of the latent space to codes and back: some books of the whole row, and some more of it beside them.
class SplitQuantizer {
 public:
  SplitQuantizer(const MimiConfig& config, WeightLoader& loader, bool encodes);

  Tensor decode(std::span<const int32_t> codes, int64_t books) const;
  std::vector<int32_t> encode(const Tensor& rows, int64_t books) const;

 private:
  int64_t semantic_books_;
  ResidualQuantizer semantic_, acoustic_;
};

class MimiEncoder {
 public:
  MimiEncoder(const MimiConfig& config, WeightLoader& loader);
  // Gives `books` codes per frame; the encoder must live longer.
  std::unique_ptr<CodecEncoder> stream(int64_t books) const;

 private:
  class Stream;
  Device device_;
  Seanet seanet_;
  CodecTransformer transformer_;
  StreamConv down_;
  SplitQuantizer quantizer_;
};

}  // namespace wick
