#include "interp/probes/sparse_autoencoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {

struct SparseAutoencoder::State {
  Kind kind;
  Weights weights;
  std::string hook_name;
  bool apply_b_dec_to_input;
  int64_t k;
};

namespace {

Error bad_autoencoder(const std::string& what) {
  return {ErrorCode::kInvalidArgument, cat("sparse autoencoder: ", what)};
}

// Zeros all but the k largest of a row; of equal values the first.
void keep_top(std::span<float> row, int64_t k) {
  if (k >= static_cast<int64_t>(row.size())) return;
  std::vector<size_t> order(row.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::nth_element(order.begin(), order.begin() + k, order.end(),
                   [&](size_t a, size_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
  for (auto i = order.begin() + k; i != order.end(); ++i) row[*i] = 0;
}

// Copies `changed` into the rows whose positions are named; no positions mean all.
Tensor at_positions(const Tensor& values, const Tensor& changed, const HookMoment& moment,
                    const std::vector<int64_t>& positions) {
  if (positions.empty()) return reshape(changed, values.shape());
  const Tensor out = values.clone();
  const auto row_bytes = static_cast<size_t>(changed.dim(1)) * sizeof(float);
  for (size_t i = 0; i < moment.positions.size(); ++i) {
    if (std::find(positions.begin(), positions.end(), moment.positions[i]) == positions.end()) continue;
    const size_t at = i * row_bytes;
    std::memcpy(out.raw() + at, changed.raw() + at, row_bytes);
  }
  return out;
}

}  // namespace

SparseAutoencoder::SparseAutoencoder(Kind kind, Weights weights, std::string hook_name, bool apply_b_dec_to_input,
                                     int64_t k) {
  const Tensor& w_enc = weights.w_enc;
  if (!w_enc.defined() || w_enc.rank() != 2 || w_enc.numel() == 0) throw bad_autoencoder("W_enc is not [d_in, d_sae]");
  const auto expect = [&](const char* name, const Tensor& tensor, const Shape& shape) {
    if (tensor.defined() && tensor.shape() == shape && tensor.dtype() == DType::kF32) return;
    throw bad_autoencoder(cat(name, " is ", tensor.defined() ? cat(tensor.dtype(), " ", tensor.shape()) : "missing",
                              ", expected f32 ", shape));
  };
  const int64_t in = w_enc.dim(0), features = w_enc.dim(1);
  expect("W_enc", w_enc, {in, features});
  expect("b_enc", weights.b_enc, {features});
  expect("W_dec", weights.w_dec, {features, in});
  expect("b_dec", weights.b_dec, {in});
  if (kind == Kind::kJumpRelu) expect("threshold", weights.threshold, {features});
  if (kind == Kind::kTopK && (k < 1 || k > features))
    throw bad_autoencoder(cat("k is ", k, ", expected 1 to ", features));
  const HookSite site = HookSite::parse(hook_name);
  if (is_per_layer(site.point) && site.layer == HookSite::kEveryLayer)
    throw bad_autoencoder(cat("'", hook_name, "' is no one layer"));
  state_ = std::make_shared<State>(State{kind, std::move(weights), std::move(hook_name), apply_b_dec_to_input, k});
}

int64_t SparseAutoencoder::inputs() const { return state_->weights.w_enc.dim(0); }
int64_t SparseAutoencoder::features() const { return state_->weights.w_enc.dim(1); }
const std::string& SparseAutoencoder::hook_name() const { return state_->hook_name; }
SparseAutoencoder::Kind SparseAutoencoder::kind() const { return state_->kind; }
const SparseAutoencoder::Weights& SparseAutoencoder::weights() const { return state_->weights; }
bool SparseAutoencoder::apply_b_dec_to_input() const { return state_->apply_b_dec_to_input; }
int64_t SparseAutoencoder::k() const { return state_->k; }

Tensor SparseAutoencoder::encode(const Tensor& rows) const {
  if (rows.rank() != 2 || rows.dim(1) != inputs()) {
    throw bad_autoencoder(cat("the rows are ", rows.shape(), ", expected [n, ", inputs(), "]"));
  }
  const Weights& w = state_->weights;
  const Tensor host = rows.to_device(Device::cpu()).to_dtype(DType::kF32);
  const Tensor centred = state_->apply_b_dec_to_input ? sub(host, w.b_dec) : host;
  const Tensor out = add(matmul(centred, w.w_enc), w.b_enc);
  const int64_t width = features();
  for (int64_t i = 0; i < out.dim(0); ++i) {
    const std::span row(out.mutable_data<float>() + i * width, static_cast<size_t>(width));
    if (state_->kind == Kind::kTopK) keep_top(row, state_->k);
    const float* threshold = state_->kind == Kind::kJumpRelu ? w.threshold.data<float>() : nullptr;
    for (size_t j = 0; j < row.size(); ++j) {
      if (!(row[j] > 0) || (threshold && !(row[j] > threshold[j]))) row[j] = 0;
    }
  }
  return out;
}

Tensor SparseAutoencoder::decode(const Tensor& features) const {
  if (features.rank() != 2 || features.dim(1) != this->features()) {
    throw bad_autoencoder(cat("the features are ", features.shape(), ", expected [n, ", this->features(), "]"));
  }
  return add(matmul(features.to_dtype(DType::kF32), state_->weights.w_dec), state_->weights.b_dec);
}

void SparseAutoencoder::check_feature(int64_t feature) const {
  if (feature >= 0 && feature < features()) return;
  throw bad_autoencoder(cat("feature ", feature, " is asked for, there are ", features()));
}

Tensor SparseAutoencoder::direction(int64_t feature) const {
  check_feature(feature);
  const ArenaPause keep;
  const Tensor& w_dec = state_->weights.w_dec;
  return w_dec.with_layout(w_dec.layout().narrow(0, feature, 1).squeeze(0)).clone();
}

std::vector<SaeFeature> SparseAutoencoder::strongest(const Tensor& features, int64_t row, int64_t top) {
  if (features.rank() != 2 || row < 0 || row >= features.dim(0)) {
    throw bad_autoencoder(cat("row ", row, " of features ", features.shape(), " is asked for"));
  }
  const Tensor host = features.contiguous();
  const float* values = host.data<float>() + row * host.dim(1);
  std::vector<SaeFeature> active;
  for (int64_t i = 0; i < host.dim(1); ++i) {
    if (values[i] > 0) active.push_back({i, values[i]});
  }
  std::stable_sort(active.begin(), active.end(),
                   [](const SaeFeature& a, const SaeFeature& b) { return a.value > b.value; });
  if (static_cast<int64_t>(active.size()) > top) active.resize(static_cast<size_t>(std::max<int64_t>(top, 0)));
  return active;
}

SparseAutoencoder SparseAutoencoder::part(const Tensor& index) const {
  const Weights& w = weights();
  Weights some{index_select(w.w_enc, 1, index), index_select(w.b_enc, 0, index), index_select(w.w_dec, 0, index),
               w.b_dec, w.threshold.defined() ? index_select(w.threshold, 0, index) : Tensor()};
  return {kind(), std::move(some), hook_name(), apply_b_dec_to_input(), k()};
}

HookSpec& SparseAutoencoder::ablate(HookSpec& spec, std::vector<int64_t> features,
                                    std::vector<int64_t> positions) const {
  for (const int64_t feature : features) check_feature(feature);
  if (features.empty()) return spec;
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  const ArenaPause keep;
  const Tensor index = from_vector(features, {static_cast<int64_t>(features.size())});
  const Tensor w_dec = index_select(weights().w_dec, 0, index);
  const bool needs_all = kind() == Kind::kTopK;  // what a feature is depends on the others
  return spec.call(hook_name(), [encoder = needs_all ? *this : part(index), index, w_dec, needs_all,
                                 positions = std::move(positions)](const Tensor& values, const HookMoment& moment) {
    const Tensor host = values.to_device(Device::cpu());
    const Tensor rows = reshape(host, {host.dim(0), -1});
    const Tensor all = encoder.encode(rows);
    const Tensor added = matmul(needs_all ? index_select(all, 1, index) : all, w_dec);
    return at_positions(host, sub(rows, added), moment, positions);
  });
}

HookSpec& SparseAutoencoder::steer(HookSpec& spec, int64_t feature, float strength,
                                   std::vector<int64_t> positions) const {
  if (!std::isfinite(strength)) throw bad_autoencoder(cat("a strength of ", strength, " is asked for"));
  std::vector<float> values = direction(feature).to_vector<float>();
  for (float& x : values) x *= strength;
  return spec.add(hook_name(), from_vector(values, {inputs()}), {std::move(positions), {}});
}

HookSpec& SparseAutoencoder::reconstruct(HookSpec& spec, std::vector<int64_t> positions) const {
  return spec.call(
      hook_name(), [sae = *this, positions = std::move(positions)](const Tensor& values, const HookMoment& moment) {
        const Tensor host = values.to_device(Device::cpu());
        return at_positions(host, sae.decode(sae.encode(reshape(host, {host.dim(0), -1}))), moment, positions);
      });
}

}  // namespace wick
