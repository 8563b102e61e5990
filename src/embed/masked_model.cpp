#include "embed/masked_model.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "engine/compute_mutex.h"
#include "engine/text/text_files.h"
#include "hooks/hook_spec.h"
#include "models/load_parts.h"
#include "nn/activation.h"
#include "tensor/create.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// Names without ".weight". `table` is the weight of the last product where the file has one of its own: else it is the
// table of tokens.
struct HeadNames {
  std::string_view dense, norm, table, bias;  // bias: the whole name
};
struct FamilyHead {
  std::string_view family;
  HeadNames names;
};
constexpr HeadNames kBert{"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                          "cls.predictions.decoder", "cls.predictions.bias"};
constexpr HeadNames kRoberta{"lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"};
constexpr FamilyHead kHeads[] = {
    {"bert", kBert},
    {"camembert", kRoberta},
    {"distilbert", {"vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"}},
    {"eurobert", {"", "", "lm_head", ""}},
    {"modernbert", {"head.dense", "head.norm", "decoder", "decoder.bias"}},
    {"roberta", kRoberta},
    {"xlm-roberta", kRoberta},
};

const HeadNames& names_of(const std::string& family) {
  const auto found =
      std::find_if(std::begin(kHeads), std::end(kHeads), [&](const FamilyHead& head) { return head.family == family; });
  if (found != std::end(kHeads)) return found->names;
  throw Error(ErrorCode::kUnsupported, cat("of a '", family, "' no head is known that fills masks"));
}

std::vector<Guess> best_of(std::span<const float> logits, size_t most) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + static_cast<ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  const double highest = logits[static_cast<size_t>(order.front())];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  std::vector<Guess> best;
  for (auto token = order.begin(); token != end; ++token) {
    best.push_back({*token, std::exp(logits[static_cast<size_t>(*token)] - highest) / sum});
  }
  return best;
}

}  // namespace

void MaskedModel::load_head(const WeightSource& source, WeightLoader& loader) {
  const EncoderConfig& config = encoder_->config();
  const HeadNames& names = names_of(config.family);
  const bool is_modern = config.family == "modernbert";
  const ConfigReader settings(source.config());
  activation_ = config.activation;
  if (is_modern) activation_ = activation_named(settings.text("classifier_activation", "gelu"));
  if (config.family == "roberta" || config.family == "xlm-roberta" || config.family == "camembert") {
    activation_ = Activation::kGelu;  // whatever its layers have
  }
  if (!names.dense.empty()) {
    const bool bias = !is_modern || settings.flag("classifier_bias", false);
    dense_ = loader.linear(std::string(names.dense), config.hidden, config.hidden, bias);
    norm_ = loader.norm(std::string(names.norm), NormKind::kLayer, config.hidden, config.eps, true,
                        !is_modern || config.norm_bias, 0);
  }
  const std::string own(names.table);
  const std::string table = source.has(own + ".weight") ? own : config.names.tokens;
  vocabulary_ = loader.linear(table, config.vocabulary, config.hidden, false);
  const bool has_bias = !names.bias.empty() && (!is_modern || settings.flag("decoder_bias", true));
  if (has_bias) {
    const std::string of_decoder = own + ".bias", name(names.bias);
    vocabulary_.bias =
        loader.vector(source.has(name) || !source.has(of_decoder) ? name : of_decoder, {config.vocabulary});
  }
}

std::shared_ptr<const MaskedModel> MaskedModel::load(const fs::path& path, const ModelOptions& options) {
  std::shared_ptr<MaskedModel> made(new MaskedModel());
  const WeightSource source(Checkpoint::open(path));
  made->name_ = (fs::is_directory(path) ? fs::canonical(path).filename() : path.stem()).string();
  if (!is_encoder_config(source.config())) {
    throw Error(ErrorCode::kUnsupported, cat(made->name_, ": is no encoder, and has no masks to fill"));
  }
  made->encoder_ = TextEncoder::load(source, options);
  made->passes_ = std::make_unique<EncoderPasses>(*made->encoder_);
  ModelOptions of_head = options;
  of_head.quantize = "auto";
  of_head.device = Device::cpu();
  of_head.progress = nullptr;
  // The table of tokens has a name with the encoder's prefix, as encoder_->config() spells it.
  load_parts(source, of_head, {}, [&](WeightLoader& loader) { made->load_head(source, loader); });
  made->tokenizer_ = load_tokenizer(path);
  for (const char* spelling : {"[MASK]", "<mask>", "<|mask|>"}) {
    const auto id = made->tokenizer_->id_of(spelling);
    if (!id || !made->mask_.empty()) continue;
    made->mask_ = spelling;
    made->mask_id_ = *id;
  }
  if (made->mask_.empty()) {
    throw Error(ErrorCode::kBadFile, cat(made->name_, ": its tokenizer has no [MASK], <mask> or <|mask|>"));
  }
  return made;
}

EncoderInput MaskedModel::read(std::string_view text) const {
  EncoderInput read;
  const Encoding all = tokenizer_->encode_with_offsets(text);
  read.tokens.assign(all.ids.begin(), all.ids.end());
  if (masks(read).empty()) {
    throw Error(ErrorCode::kInvalidArgument, cat("there is no ", mask_, " in the text"));
  }
  if (std::ssize(read.tokens) > encoder_->config().positions) {
    throw Error(ErrorCode::kInvalidArgument, cat("the text has ", read.tokens.size(), " tokens, more than the ",
                                                 encoder_->config().positions, " that the model reads"));
  }
  return read;
}

std::vector<int64_t> MaskedModel::masks(const EncoderInput& text) const {
  std::vector<int64_t> places;
  for (size_t i = 0; i < text.tokens.size(); ++i) {
    if (text.tokens[i] == mask_id_) places.push_back(static_cast<int64_t>(i));
  }
  return places;
}

Tensor MaskedModel::logits(const Tensor& rows, bool of_stream) const {
  Tensor x = of_stream ? encoder_->final_norm(rows) : rows;
  if (dense_.defined()) x = norm_(activate(activation_, dense_(x)));
  return vocabulary_(x);
}

std::vector<std::vector<Guess>> MaskedModel::guesses(const Tensor& rows, size_t most, bool of_stream) const {
  const Tensor all = logits(rows, of_stream);
  check_finite(all, name_);
  std::vector<std::vector<Guess>> guesses;
  const auto width = static_cast<size_t>(all.dim(1));
  for (int64_t i = 0; i < all.dim(0); ++i) {
    guesses.push_back(best_of({all.data<float>() + static_cast<size_t>(i) * width, width}, most));
  }
  return guesses;
}

std::vector<std::vector<Guess>> MaskedModel::fill(const EncoderInput& text, size_t most) const {
  const std::vector<int64_t> places = masks(text);
  const auto width = static_cast<size_t>(encoder_->config().hidden);
  std::vector<float> kept;
  passes_->encode({&text, 1}, [&](size_t, std::span<const float> rows) {
    for (const int64_t place : places) {
      const auto from = rows.subspan(static_cast<size_t>(place) * width, width);
      kept.insert(kept.end(), from.begin(), from.end());
    }
  });
  return guesses(from_vector(kept, {std::ssize(places), encoder_->config().hidden}), most, false);
}

std::vector<std::vector<std::vector<Guess>>> MaskedModel::lens(const EncoderInput& text, size_t most) const {
  const std::vector<int64_t> places = masks(text);
  HookSpec spec;
  spec.capture("blocks.*.hook_resid_pre");
  spec.capture("blocks.*.hook_resid_post");
  HookCache cache;
  const SequenceHooks hooks{&spec, &cache};
  const EncoderText one{text.tokens, text.types, &hooks};
  {
    const std::lock_guard turn(compute_mutex());
    encoder_->encode({&one, 1});
  }
  std::vector<std::vector<std::vector<Guess>>> layers;
  const int64_t count = encoder_->config().layers, width = encoder_->config().hidden;
  for (int64_t layer = 0; layer <= count; ++layer) {
    const std::string name =
        layer < count ? cat("blocks.", layer, ".hook_resid_pre") : cat("blocks.", count - 1, ".hook_resid_post");
    const Tensor stream = cache.at(name).to_device(Device::cpu()).contiguous();
    std::vector<float> kept;
    for (const int64_t place : places) {
      const float* from = stream.data<float>() + place * width;
      kept.insert(kept.end(), from, from + width);
    }
    layers.push_back(guesses(from_vector(kept, {std::ssize(places), width}), most, true));
  }
  return layers;
}

}  // namespace wick
