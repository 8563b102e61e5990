#include "models/codecs/codec.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/codecs/codecs.h"
#include "models/load_parts.h"

namespace wick {
namespace {

using CodecLoader = std::unique_ptr<Codec> (*)(const WeightSource&, const ModelOptions&);
struct CodecFamily {
  std::string_view type;
  CodecLoader load;
};
constexpr CodecFamily kCodecs[] = {
    {"encodec", load_encodec},
    {"mimi", load_mimi},
    {"mimi-moshi", load_mimi},
    {"qwen3_tts_tokenizer_12hz", load_qwen3_codec},
};

// A detokenizer calls itself by the backbone it is made of; its sizes tell it from a language model.
bool is_detokenizer(const Json& config) {
  return config.is_object() && config.get("model_type", std::string()) == "lfm2" && config.find("output_size");
}

CodecLoader loader_of(const Json& config) {
  if (!config.is_object()) return nullptr;
  const std::string type = config.get("model_type", std::string());
  const auto* found = std::find_if(std::begin(kCodecs), std::end(kCodecs),
                                   [&](const CodecFamily& family) { return family.type == type; });
  if (found != std::end(kCodecs)) return found->load;
  return is_detokenizer(config) ? load_lfm2_detokenizer : nullptr;
}

// Pieces in which a whole is taken: memory does not grow with it.
constexpr size_t kPieceFrames = 64;
constexpr size_t kPieceSamples = 1 << 16;

}  // namespace

std::vector<float> Codec::decode(std::span<const int32_t> codes, int64_t codebooks) const {
  const auto stream = decoder(codebooks);
  const size_t books = static_cast<size_t>(codebooks > 0 ? codebooks : facts_.codebooks);
  if (codes.size() % books != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(codes.size(), " codes are no whole number of frames of ", books, " codes each"));
  }
  std::vector<float> samples;
  for (size_t at = 0; at < codes.size(); at += kPieceFrames * books) {
    const std::vector<float> part = stream->push(codes.subspan(at, std::min(kPieceFrames * books, codes.size() - at)));
    samples.insert(samples.end(), part.begin(), part.end());
  }
  const std::vector<float> rest = stream->finish();
  samples.insert(samples.end(), rest.begin(), rest.end());
  return samples;
}

std::vector<int32_t> Codec::encode(std::span<const float> samples, int64_t codebooks) const {
  const auto stream = encoder(codebooks);
  std::vector<int32_t> codes;
  for (size_t at = 0; at < samples.size(); at += kPieceSamples) {
    const std::vector<int32_t> part = stream->push(samples.subspan(at, std::min(kPieceSamples, samples.size() - at)));
    codes.insert(codes.end(), part.begin(), part.end());
  }
  const std::vector<int32_t> rest = stream->finish();
  codes.insert(codes.end(), rest.begin(), rest.end());
  return codes;
}

int64_t Codec::checked_books(int64_t codebooks, int64_t least) const {
  if (codebooks == 0) return facts_.codebooks;
  if (codebooks >= least && codebooks <= facts_.codebooks) return codebooks;
  throw Error(ErrorCode::kInvalidArgument,
              cat("this ", facts_.family, " has ", least == facts_.codebooks ? "" : cat(least, " to "),
                  facts_.codebooks, " codebooks; ", codebooks, " are asked for"));
}

int64_t Codec::codebooks_for(double bandwidth) const {
  std::string known;
  for (const double each : facts_.bandwidths) {
    if (std::abs(each - bandwidth) < 1e-9) {
      const double bits = std::floor(std::log2(static_cast<double>(facts_.codebook_size)));
      return std::max<int64_t>(1, static_cast<int64_t>(bandwidth * 1000 / (bits * facts_.frame_rate())));
    }
    known += cat(known.empty() ? "" : ", ", each);
  }
  throw Error(ErrorCode::kInvalidArgument,
              known.empty() ? cat("this ", facts_.family, " has one bandwidth; choose a number of codebooks instead")
                            : cat("this ", facts_.family, " has bandwidths of ", known, " kbit/s, not ", bandwidth));
}

bool is_codec(const Json& config) { return loader_of(config) != nullptr; }

std::unique_ptr<Codec> load_codec(const WeightSource& source, const ModelOptions& options) {
  const CodecLoader load = loader_of(source.config());
  if (load) return load(source, options);
  // Moshi's file of Mimi lies beside other models, whose config.json does not speak of it.
  if (source.has("quantizer.rvq_first.vq.layers.0._codebook.embedding_sum") &&
      source.has("encoder.model.0.conv.conv.weight")) {
    return load_mimi(source, options);
  }
  const Json* type = source.config().is_object() ? source.config().find("model_type") : nullptr;
  throw Error(
      ErrorCode::kUnsupported,
      cat(file_name(source), ": ", type && type->is_text() ? cat("a model of the type ", type->as_text()) : "a file",
          " that is no audio codec; Encodec, Mimi, the tokenizer of Qwen3-TTS and the detokenizer of LFM2-Audio "
          "are read"));
}

std::unique_ptr<Codec> load_codec(const std::filesystem::path& path, const ModelOptions& options) {
  return load_codec(WeightSource(Checkpoint::open(path)), options);
}

}  // namespace wick
