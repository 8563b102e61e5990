// What probes and sparse autoencoders read off the hidden states of a text.
#include <algorithm>

#include "interp/text_rows.h"
#include "server/api/microscope/inside_answers.h"
#include "server/api/microscope/inside_work.h"
#include "server/api/microscope/inspect_hooks.h"

namespace wick {
namespace {

constexpr int64_t kBytesPerTurn = int64_t{64} << 20;  // of features: whoever waits for the engine waits for one turn

Tensor some_rows(const Tensor& rows, int64_t begin, int64_t count) {
  return rows.with_layout(rows.layout().narrow(0, begin, count));
}

}  // namespace

Tensor InsideWork::rows_of(const InsideRequest& wanted, std::span<const int32_t> tokens,
                           const std::string& point) const {
  return token_rows(model_, tokens, point, hooks_of(wanted, tokens));
}

void InsideWork::take_turn(FunctionRef<void()> compute) const {
  inspector_.take_turn([this] { return exchange_->is_closed(); }, compute);
}

void InsideWork::probe(const ProbeRequest& wanted) {
  const LinearProbe& probe = named(inspector_.shelf().probes(), wanted.probe, "probe", "probe");
  const std::vector<int32_t> tokens = tokens_of(wanted, {});
  const Tensor rows = rows_of(wanted, tokens, probe.point);
  Tensor probabilities;
  take_turn([&] { probabilities = probe.probabilities(rows); });
  send(probe_json(probe, probabilities, tokens, tokenizer_));
}

void InsideWork::features(const FeaturesRequest& wanted) {
  const SparseAutoencoder& sae =
      named(inspector_.shelf().autoencoders(), wanted.autoencoder, "autoencoder", "autoencoder");
  check_followed(std::ssize(wanted.follow));
  for (size_t i = 0; i < wanted.follow.size(); ++i) {
    if (wanted.follow[i] < sae.features()) continue;
    throw RequestError("follow", cat("follow[", i, "] is ", wanted.follow[i], ", and there are ", sae.features()));
  }
  const std::vector<int32_t> tokens = tokens_of(wanted, {});
  const Tensor rows = rows_of(wanted, tokens, sae.hook_name());
  const int64_t count = std::max<int64_t>(1, kBytesPerTurn / (sae.features() * 4));
  FeatureRows found;
  for (int64_t begin = 0; begin < rows.dim(0); begin += count) {
    take_turn([&] {
      const Tensor features = sae.encode(some_rows(rows, begin, std::min(count, rows.dim(0) - begin)));
      for (int64_t row = 0; row < features.dim(0); ++row) {
        found.strongest.push_back(SparseAutoencoder::strongest(features, row, wanted.top));
        const float* values = features.data<float>() + row * sae.features();
        for (const int64_t feature : wanted.follow) found.followed.push_back(values[feature]);
      }
    });
  }
  send(features_json(sae, found, wanted.follow, tokens, tokenizer_));
}

}  // namespace wick
