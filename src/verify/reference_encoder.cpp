// Text encoders: what they make of a batch of texts, of which some are padded.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "models/encoder_decoder/encoder_decoder.h"
#include "models/encoders/text_encoder.h"
#include "ops/view.h"
#include "tensor/create.h"
#include "verify/reference_comparison.h"

namespace wick {
namespace {

// The texts of a batch [texts, tokens], without padding.
struct ReferenceTexts {
  std::vector<std::vector<int32_t>> texts;
  std::vector<std::vector<int64_t>> places;  // in the batch, of each token

  explicit ReferenceTexts(ReferenceComparison& comparison) {
    const Tensor ids = comparison.get("input_ids");
    const Tensor mask = comparison.has("attention_mask") ? comparison.get("attention_mask") : Tensor();
    const bool fits = ids.rank() == 2 && ids.numel() > 0 && is_integer(ids.dtype()) &&
                      (!mask.defined() || (mask.shape() == ids.shape() && is_integer(mask.dtype())));
    if (!fits)
      throw Error(ErrorCode::kBadFile, "'input_ids' and 'attention_mask' are not whole numbers [texts, tokens]");
    const std::vector<int32_t> tokens = ids.to_vector<int32_t>();
    const std::vector<int64_t> seen =
        mask.defined() ? mask.to_vector<int64_t>() : std::vector<int64_t>(tokens.size(), 1);
    texts.resize(static_cast<size_t>(ids.dim(0)));
    places.resize(texts.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!seen[i]) continue;
      const size_t text = i / static_cast<size_t>(ids.dim(1));
      texts[text].push_back(tokens[i]);
      places[text].push_back(static_cast<int64_t>(i));
    }
  }
};

// Compares rows that lie one text behind the other with a tensor [texts, tokens, width], except where it is padded.
void compare_rows(const std::string& name, const Tensor& rows, const ReferenceTexts& texts,
                  ReferenceComparison& comparison) {
  const Tensor expected = comparison.get(name).to_dtype(DType::kF32).contiguous();
  const int64_t width = rows.dim(1);
  if (expected.rank() != 3 || expected.dim(2) != width) return comparison.compare(name, rows);
  const Tensor actual = expected.clone();
  int64_t row = 0;
  for (const std::vector<int64_t>& places : texts.places) {
    for (const int64_t place : places) {
      std::memcpy(actual.mutable_data<float>() + place * width, rows.data<float>() + row++ * width,
                  static_cast<size_t>(width) * sizeof(float));
    }
  }
  comparison.compare(name, actual);
}

}  // namespace

void compare_text_encoder(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison) {
  const ReferenceTexts texts(comparison);
  // Of an encoder and a decoder it has the longer name.
  const char* const whole =
      comparison.has("encoder_last_hidden_state") ? "encoder_last_hidden_state" : "last_hidden_state";
  comparison.get(whole);  // nothing is loaded where it is missing
  const auto encoder = TextEncoder::load(source, options);
  HookSpec spec;
  spec.capture(hook_name(HookPoint::kResidPre, HookSite::kEveryLayer));
  std::vector<HookCache> seen(texts.texts.size());
  std::vector<SequenceHooks> hooks(texts.texts.size());
  std::vector<EncoderText> batch;
  for (size_t i = 0; i < texts.texts.size(); ++i) {
    hooks[i] = {&spec, &seen[i]};
    batch.push_back({texts.texts[i], {}, &hooks[i]});
  }
  const Tensor last = encoder->encode(batch).to_device(Device::cpu());
  compare_rows(whole, last, texts, comparison);
  for (int layer = 0; layer <= encoder->config().layers; ++layer) {
    const std::string name = cat("hidden_", layer);
    if (!comparison.has(name)) continue;
    std::vector<float> rows;
    for (size_t i = 0; layer < encoder->config().layers && i < seen.size(); ++i) {
      const std::vector<float> part = seen[i].at(HookPoint::kResidPre, layer).to_vector<float>();
      rows.insert(rows.end(), part.begin(), part.end());
    }
    const bool is_last = layer == encoder->config().layers;
    compare_rows(name, is_last ? last : from_vector(rows, last.shape()), texts, comparison);
  }
  if (!comparison.has("pooler_output") || !encoder->has_pooler()) return;
  std::vector<float> first;
  int64_t row = 0;
  for (const std::vector<int32_t>& text : texts.texts) {
    first.insert(first.end(), last.data<float>() + row * last.dim(1), last.data<float>() + (row + 1) * last.dim(1));
    row += std::ssize(text);
  }
  comparison.compare("pooler_output", encoder->pool(from_vector(first, {std::ssize(texts.texts), last.dim(1)})));
}

void compare_encoder_decoder(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison) {
  const std::vector<int32_t> read = comparison.tokens("input_ids"), tokens = comparison.tokens("decoder_input_ids");
  comparison.get("logits");  // nothing is loaded where they are missing
  const std::unique_ptr<LanguageModel> model = load_model(source, options);
  if (comparison.has("encoder_last_hidden_state")) {
    const EncoderText text{read};
    const TextEncoder& encoder = dynamic_cast<const EncoderDecoder&>(*model).encoder();
    const Tensor states = encoder.encode({&text, 1});
    comparison.compare("encoder_last_hidden_state", reshape(states, {1, states.dim(0), states.dim(1)}));
  }
  ReferenceReader reader(*model, std::ssize(tokens) + std::ssize(comparison.greedy()));
  reader.set_state(model->encode_source(read, DType::kF32));
  const Tensor logits = reader.read(tokens);
  comparison.compare_logits("logits", logits);
  if (comparison.greedy().empty()) return;
  // Behind the first token alone.
  ReferenceReader again(*model, 1 + std::ssize(comparison.greedy()));
  again.set_state(model->encode_source(read, DType::kF32));
  comparison.compare_greedy(again, again.read(std::span(tokens).first(1)));
}

}  // namespace wick
