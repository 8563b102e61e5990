#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "models/codecs/codecs.h"
#include "models/codecs/quantizer.h"
#include "models/decoder/decoder.h"
#include "models/families/families.h"
#include "models/load_parts.h"
#include "models/read_count.h"
#include "nn/kv_blocks_for.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int kSampleRate = 24000;
constexpr int64_t kPieceRows = 256;  // of the backbone, at most

struct DetokenizerConfig {
  DecoderConfig backbone;
  int64_t books = 0, entries = 0, spread = 0, fft = 0, hop = 0;

  int64_t points() const { return fft / 2 + 1; }
};

DetokenizerConfig read_config(const Json& json) {
  const ConfigReader config(json);
  DetokenizerConfig made;
  DecoderConfig& backbone = made.backbone = lfm2_config(config);
  const int64_t window = read_count(config, "sliding_window", 1 << 20);
  const std::vector<std::string> types = config.texts("layer_types");
  if (types.size() != backbone.kinds.size()) {
    throw bad_setting(cat("layer_types names ", types.size(), " layers, num_hidden_layers is ", backbone.layers));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "sliding_attention") backbone.kinds[i].window = window;
    if (types[i] != "sliding_attention" && types[i] != "conv") {
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: layer_types has '", types[i], "'; a detokenizer has conv and sliding_attention"));
    }
  }
  backbone.names.embed = backbone.names.head = "";
  backbone.names.layers = "lfm.layers.";
  backbone.names.final_norm = "lfm.embedding_norm";
  backbone.tied = false;
  backbone.max_positions = int64_t{1} << 31;
  backbone.ropes.front().max_positions = 0;
  check_decoder_config(backbone);
  made.books = config.has("codebooks") ? read_count(config, "codebooks", 256) : 8;
  made.entries = config.has("codebook_size") ? read_count(config, "codebook_size", 1 << 20) : 2048;
  made.spread = config.has("upsample_factor") ? read_count(config, "upsample_factor", 256) : 6;
  made.fft = config.has("n_fft") ? read_count(config, "n_fft", 1 << 14) : 1280;
  made.hop = config.has("hop_length") ? read_count(config, "hop_length", 1 << 14) : 320;
  const int64_t output = read_count(config, "output_size", 1 << 16);
  if (made.fft % 2 != 0 || made.hop > made.fft || (made.fft - made.hop) % 2 != 0 || output != 2 * made.points()) {
    throw bad_setting(cat("output_size = ", output, ", n_fft = ", made.fft, " and hop_length = ", made.hop,
                          " do not fit each other"));
  }
  return made;
}

// Rows of log-magnitudes and phases as sound: windows that overlap, divided by what their windows add up to. A sample
// is complete once no further window reaches it; half of what a window has more than a hop is cut from either end.
class Synthesis {
 public:
  Synthesis(int64_t fft, int64_t hop) : fft_(fft), hop_(hop), skip_((fft - hop) / 2) {
    window_.resize(static_cast<size_t>(fft));
    for (int64_t i = 0; i < fft; ++i) {
      window_[static_cast<size_t>(i)] =
          0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(fft));
    }
  }

  // frames [rows, fft]: the inverse transform of each.
  void add(const float* frames, int64_t rows, std::vector<float>& samples) {
    for (int64_t row = 0; row < rows; ++row) {
      sums_.resize(static_cast<size_t>(fft_));
      weights_.resize(static_cast<size_t>(fft_));
      for (int64_t i = 0; i < fft_; ++i) {
        const double by = window_[static_cast<size_t>(i)];
        sums_[static_cast<size_t>(i)] += static_cast<double>(frames[row * fft_ + i]) * by;
        weights_[static_cast<size_t>(i)] += by * by;
      }
      take(hop_, samples);
    }
  }
  void finish(std::vector<float>& samples) {
    const auto rest = static_cast<int64_t>(sums_.size());
    if (rest > skip_) take(rest - skip_, samples);
    sums_.clear();
  }

 private:
  void take(int64_t count, std::vector<float>& samples) {
    for (int64_t i = 0; i < count; ++i, ++at_) {
      const auto place = static_cast<size_t>(i);
      if (at_ >= skip_) samples.push_back(static_cast<float>(sums_[place] / weights_[place]));
    }
    sums_.erase(sums_.begin(), sums_.begin() + count);
    weights_.erase(weights_.begin(), weights_.begin() + count);
  }

  int64_t fft_, hop_, skip_, at_ = 0;
  std::vector<double> window_, sums_, weights_;
};

class Lfm2Detokenizer final : public Codec {
 public:
  Lfm2Detokenizer(const DetokenizerConfig& config, WeightLoader& loader, const ModelOptions& options)
      : config_(config),
        table_(loader.vector("emb.emb.weight", {config.books * config.entries, config.backbone.hidden})),
        backbone_(config.backbone, loader, endless(options)),
        out_(loader.linear("lin", 2 * config.points(), config.backbone.hidden, true)) {
    facts_.family = "lfm2_audio_detokenizer";
    facts_.sample_rate = kSampleRate;
    facts_.codebooks = config.books;
    facts_.codebook_size = config.entries;
    facts_.frame_samples = config.spread * config.hop;
    facts_.decodes = true;
    facts_.parameters = loader.parameters();
    facts_.weight_bytes = loader.bytes();
    const ArenaPause keep;
    inverse_ = inverse_transform().to_device(loader.device());
  }

  std::unique_ptr<CodecDecoder> decoder(int64_t codebooks) const override {
    checked_books(codebooks, facts_.codebooks);
    return std::make_unique<Stream>(*this);
  }
  std::unique_ptr<CodecEncoder> encoder(int64_t) const override {
    throw Error(ErrorCode::kUnsupported, "a detokenizer of LFM2-Audio makes sound of codes; Mimi makes the codes");
  }

 private:
  static ModelOptions endless(ModelOptions options) {
    options.context = int64_t{1} << 31;
    return options;
  }

  // [2 * points, fft]: real parts, then imaginary ones, of a half spectrum to its samples.
  Tensor inverse_transform() const {
    const int64_t points = config_.points(), fft = config_.fft;
    std::vector<float> values(static_cast<size_t>(2 * points * fft));
    for (int64_t k = 0; k < points; ++k) {
      const double share = (k == 0 || 2 * k == fft ? 1.0 : 2.0) / static_cast<double>(fft);
      for (int64_t n = 0; n < fft; ++n) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k * n % fft) / static_cast<double>(fft);
        values[static_cast<size_t>(k * fft + n)] = static_cast<float>(share * std::cos(angle));
        values[static_cast<size_t>((points + k) * fft + n)] = static_cast<float>(-share * std::sin(angle));
      }
    }
    return from_vector(values, {2 * points, fft});
  }

  class Stream final : public CodecDecoder {
   public:
    explicit Stream(const Lfm2Detokenizer& model)
        : model_(model), synthesis_(model.config_.fft, model.config_.hop), state_(model.backbone_.new_state()) {
      const ArenaPause keep;
      const ModelFacts& facts = model.backbone_.facts();
      cache_ =
          KvCache(facts.kv_layers, kv_blocks_for(facts.window + kPieceRows) + 1, DType::kF32, model.backbone_.device());
    }

    std::vector<float> push(std::span<const int32_t> codes) override {
      const DetokenizerConfig& config = model_.config_;
      check_codes(codes, config.books, config.entries);
      std::vector<float> samples;
      const size_t piece = static_cast<size_t>(std::max<int64_t>(1, kPieceRows / config.spread) * config.books);
      for (size_t at = 0; at < codes.size(); at += piece) {
        run(codes.subspan(at, std::min(piece, codes.size() - at)), samples);
      }
      return samples;
    }
    std::vector<float> finish() override {
      std::vector<float> samples;
      synthesis_.finish(samples);
      return samples;
    }

   private:
    void run(std::span<const int32_t> codes, std::vector<float>& samples) {
      const ArenaScope scope(arena_);
      const DetokenizerConfig& config = model_.config_;
      const Device device = model_.backbone_.device();
      const int64_t frames = static_cast<int64_t>(codes.size()) / config.books, rows = frames * config.spread;
      std::vector<int64_t> ids;
      for (size_t i = 0; i < codes.size(); ++i) {
        ids.push_back(codes[i] + static_cast<int64_t>(i) % config.books * config.entries);
      }
      const Tensor each = take_rows(model_.table_, from_vector(ids, {frames * config.books}, device));
      const Tensor mixed = mean(reshape(each, {frames, config.books, -1}), {1});
      std::vector<int64_t> repeated;
      for (int64_t row = 0; row < rows; ++row) repeated.push_back(row / config.spread);
      const InputEmbeddings given{position_, take_rows(mixed, from_vector(repeated, {rows}, device))};
      ForwardBatch batch;
      batch.tokens.assign(static_cast<size_t>(rows), 0);
      for (int64_t row = 0; row < rows; ++row) batch.logit_rows.push_back(row);
      std::vector<int32_t> blocks;
      for (int64_t i = 0; i < kv_blocks_for(position_ + rows); ++i) {
        blocks.push_back(static_cast<int32_t>(i % cache_.blocks()));
      }
      batch.sequences.push_back({rows, position_, blocks, &state_, nullptr, {&given, 1}});
      const Tensor spectrum = model_.out_(model_.backbone_.forward(batch, cache_));
      position_ += rows;
      const Tensor magnitude = exp(narrow(spectrum, 1, 0, config.points()));
      const Tensor phase = narrow(spectrum, 1, config.points(), config.points());
      const Tensor parts = concat({mul(magnitude, cos(phase)), mul(magnitude, sin(phase))}, 1);
      const std::vector<float> sound = matmul(parts, model_.inverse_).to_vector<float>();
      synthesis_.add(sound.data(), rows, samples);
    }

    const Lfm2Detokenizer& model_;
    Arena arena_;
    Synthesis synthesis_;
    RecurrentState state_;
    KvCache cache_;
    int64_t position_ = 0;
  };

  DetokenizerConfig config_;
  Tensor table_;
  Decoder backbone_;
  Linear out_;
  Tensor inverse_;
};

}  // namespace

std::unique_ptr<Codec> load_lfm2_detokenizer(const WeightSource& source, const ModelOptions& options) {
  const DetokenizerConfig config = read_config(source.config());
  std::unique_ptr<Codec> codec;
  const std::string stacks[] = {config.backbone.names.layers};
  load_parts(source, options, stacks,
             [&](WeightLoader& loader) { codec = std::make_unique<Lfm2Detokenizer>(config, loader, options); });
  return codec;
}

}  // namespace wick
