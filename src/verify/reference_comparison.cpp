#include "verify/reference_comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "nn/kv_blocks_for.h"
#include "ops/view.h"

namespace wick {
namespace {

constexpr int kTop = 5;

// The tokens with the highest logits of one row, best first.
std::vector<int32_t> best_tokens(std::span<const float> row, int count) {
  std::vector<int32_t> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  count = std::min(count, static_cast<int>(ids.size()));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](int32_t a, int32_t b) {
    const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  ids.resize(static_cast<size_t>(count));
  return ids;
}

}  // namespace

ReferenceReader::ReferenceReader(const LanguageModel& model, int64_t most_tokens)
    : model_(model),
      blocks_(static_cast<size_t>(kv_blocks_for(most_tokens))),
      cache_(model.facts().kv_layers, model.facts().kv_layers.empty() ? 0 : static_cast<int64_t>(blocks_.size()),
             DType::kF32, model.device()),
      state_(model.new_state()) {
  std::iota(blocks_.begin(), blocks_.end(), 0);
}

Tensor ReferenceReader::read(std::span<const int32_t> tokens, const SequenceHooks* hooks) {
  const auto count = static_cast<int64_t>(tokens.size());
  ForwardBatch batch;
  batch.tokens.assign(tokens.begin(), tokens.end());
  batch.sequences.push_back({count, position_, blocks_, state_.empty() ? nullptr : &state_, hooks, embeddings_});
  for (int64_t i = 0; i < count; ++i) batch.logit_rows.push_back(i);
  position_ += count;
  return model_.forward(batch, cache_).to_device(Device::cpu());
}

ReferenceComparison::ReferenceComparison(const Checkpoint& reference, double tolerance)
    : reference_(reference), tolerance_(tolerance) {
  report_.tolerance = tolerance;
}

std::vector<std::string> ReferenceComparison::names() const {
  std::vector<std::string> names;
  for (const TensorEntry& entry : reference_.entries()) names.push_back(entry.name);
  return names;
}

Tensor ReferenceComparison::get(const std::string& name) {
  if (!has(name)) {
    throw Error(ErrorCode::kBadFile, cat(reference_.files().front()->path(), ": holds no '", name, "'"));
  }
  known_.insert(name);
  return reference_.get(name);
}

Tensor ReferenceComparison::input(const std::string& name) {
  const Tensor x = get(name);
  if (x.rank() < 2 || x.dim(0) != 1 || x.numel() == 0) {
    throw Error(ErrorCode::kBadFile, cat(reference_.files().front()->path(), ": '", name, "' is ", x.dtype(), " ",
                                         x.shape(), ", expected a batch of one"));
  }
  return x.with_layout(x.layout().squeeze(0));
}

std::vector<int32_t> ReferenceComparison::tokens(const std::string& name) {
  const Tensor ids = get(name);
  if (!is_integer(ids.dtype()) || ids.numel() == 0 || ids.numel() != ids.dim(-1)) {
    throw Error(ErrorCode::kBadFile, cat(reference_.files().front()->path(), ": '", name, "' is ", ids.dtype(), " ",
                                         ids.shape(), ", expected the token ids of one text [1, n]"));
  }
  return ids.to_vector<int32_t>();
}

void ReferenceComparison::compare(const std::string& name, const Tensor& actual) {
  TensorCheck check;
  check.name = name;
  Tensor expected = get(name);
  if (expected.rank() == actual.rank() + 2 && expected.dim(0) > 1 && expected.dim(1) == 1) {
    expected = narrow(expected, 0, 0, 1).contiguous();  // of several copies, the one that layers compute with
    expected = expected.with_layout(expected.layout().squeeze(0));
  }
  if (expected.rank() == actual.rank() + 1 && expected.dim(0) == 1) {
    expected = expected.with_layout(expected.layout().squeeze(0));
  }
  check.shape = expected.shape();
  if (!(expected.shape() == actual.shape())) {
    check.problem = cat("the model gives ", actual.shape());
    report_.tensors.push_back(std::move(check));
    return;
  }
  const std::vector<float> a = actual.to_device(Device::cpu()).to_vector<float>(), e = expected.to_vector<float>();
  for (size_t i = 0; i < a.size() && !std::isnan(check.max_abs); ++i) {
    if (a[i] == e[i]) continue;  // infinities, too
    const double difference = std::abs(static_cast<double>(a[i]) - e[i]);
    if (!(difference <= check.max_abs)) check.max_abs = difference;
  }
  const auto [low, high] = std::minmax_element(e.begin(), e.end());
  const double spread = e.empty() ? 0 : static_cast<double>(*high) - *low;
  check.relative = check.max_abs == 0 ? 0 : check.max_abs / spread;
  check.ok = check.relative <= tolerance_;
  report_.tensors.push_back(std::move(check));
}

void ReferenceComparison::compare_logits(const std::string& name, const Tensor& logits) {
  compare(name, logits);
  if (!report_.tensors.back().problem.empty()) return;
  const std::vector<float> a = logits.to_device(Device::cpu()).to_vector<float>(),
                           e = reference_.get(name).to_vector<float>();
  const auto vocabulary = static_cast<size_t>(logits.dim(-1));
  TokenCheck check;
  check.name = cat("top ", kTop, " of ", name);
  check.total = static_cast<int64_t>(a.size() / vocabulary);
  for (size_t row = 0; row < a.size(); row += vocabulary) {
    check.same += best_tokens(std::span(a).subspan(row, vocabulary), kTop) ==
                  best_tokens(std::span(e).subspan(row, vocabulary), kTop);
  }
  report_.tokens.push_back(std::move(check));
}

std::vector<int32_t> ReferenceComparison::greedy() { return has("greedy") ? tokens("greedy") : std::vector<int32_t>(); }

// Reads the expected tokens one by one, so that one difference does not make all that follow differ.
void ReferenceComparison::compare_greedy(ReferenceReader& reader, const Tensor& logits) {
  const std::vector<int32_t> greedy = this->greedy();
  if (greedy.empty()) return;
  TokenCheck check;
  check.name = "greedy";
  check.counts = true;
  check.total = static_cast<int64_t>(greedy.size());
  const auto vocabulary = static_cast<size_t>(logits.dim(-1));
  std::vector<float> row = logits.to_vector<float>();
  row.erase(row.begin(), row.end() - static_cast<int64_t>(vocabulary));
  for (size_t i = 0; i < greedy.size(); ++i) {
    const int32_t best = best_tokens(row, 1).front(), expected = greedy[i];
    if (best == expected) {
      ++check.same;
    } else {
      const bool inside = expected >= 0 && static_cast<size_t>(expected) < vocabulary;
      const auto [low, high] = std::minmax_element(row.begin(), row.end());
      const double gap = inside ? *high - row[static_cast<size_t>(expected)] : INFINITY;
      const bool tied = gap <= 2 * tolerance_ * (static_cast<double>(*high) - *low);
      check.ok = check.ok && tied;
      if (check.note.empty()) {
        check.note = cat("token ", i, " is ", best, ", expected ", expected, tied ? ", which is as good" : "");
      }
      if (!inside) break;
    }
    if (i + 1 < greedy.size()) row = reader.read(std::span(greedy).subspan(i, 1)).to_vector<float>();
  }
  report_.tokens.push_back(std::move(check));
}

ReferenceReport ReferenceComparison::finish() {
  for (const TensorEntry& entry : reference_.entries()) {
    if (!known_.count(entry.name)) report_.not_checked.push_back(entry.name);
  }
  return std::move(report_);
}

}  // namespace wick
