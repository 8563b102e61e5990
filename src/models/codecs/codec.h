#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/weights.h"
#include "models/model_options.h"

namespace wick {

struct CodecFacts {
  std::string family;  // "mimi", "encodec", "qwen3_tts_tokenizer_12hz", "lfm2_audio_detokenizer"
  int sample_rate = 0;
  int64_t codebooks = 0, codebook_size = 0;
  int64_t frame_samples = 0;       // samples per frame of codes
  std::vector<double> bandwidths;  // kbit/s that there are codebooks for; empty: all are always used
  bool encodes = false, decodes = false;
  int64_t parameters = 0, weight_bytes = 0;

  double frame_rate() const { return static_cast<double>(sample_rate) / static_cast<double>(frame_samples); }
};

// Codes to mono samples, piece by piece: the samples of all pieces are those of the whole, bit for bit. One thread at a
// time; memory does not grow with what has come.
class CodecDecoder {
 public:
  virtual ~CodecDecoder() = default;
  // Whole frames, the codes of each behind each other. Throws Error(kInvalidArgument) for codes that there are not,
  // before anything is decoded. A codec that looks ahead gives some samples later.
  virtual std::vector<float> push(std::span<const int32_t> codes) = 0;
  virtual std::vector<float> finish() { return {}; }
};

// Samples to codes, in the same way.
class CodecEncoder {
 public:
  virtual ~CodecEncoder() = default;
  virtual std::vector<int32_t> push(std::span<const float> samples) = 0;
  virtual std::vector<int32_t> finish() = 0;
};

// A neural audio codec. Immutable: any number of threads may use one at once. Decoders and encoders that it made must
// not outlive it.
class Codec {
 public:
  virtual ~Codec() = default;
  const CodecFacts& facts() const { return facts_; }
  // With `codebooks` per frame, 0: all of them. Throws Error(kUnsupported) where the codec does not do this,
  // Error(kInvalidArgument) for a count that it has not.
  virtual std::unique_ptr<CodecDecoder> decoder(int64_t codebooks = 0) const = 0;
  virtual std::unique_ptr<CodecEncoder> encoder(int64_t codebooks = 0) const = 0;

  std::vector<float> decode(std::span<const int32_t> codes, int64_t codebooks = 0) const;
  std::vector<int32_t> encode(std::span<const float> samples, int64_t codebooks = 0) const;
  // How many codebooks make up so many kbit/s. Throws Error(kInvalidArgument) with those there are.
  int64_t codebooks_for(double bandwidth) const;

 protected:
  // `codebooks` or all; throws Error(kInvalidArgument) for more than there are, fewer than `least`.
  int64_t checked_books(int64_t codebooks, int64_t least = 1) const;
  CodecFacts facts_;
};

// Whether a config.json is one of a codec.
bool is_codec(const Json& config);
// The codec in a folder or file. Throws Error naming the tensor or the setting at fault, Error(kUnsupported) for what
// is none.
std::unique_ptr<Codec> load_codec(const WeightSource& source, const ModelOptions& options = {});
std::unique_ptr<Codec> load_codec(const std::filesystem::path& path, const ModelOptions& options = {});

}  // namespace wick
