#include "models/reference_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "models/load_model.h"
#include "nn/kv_blocks_for.h"

namespace wick {
namespace {

constexpr int kTop = 5;

// A text that grows in a cache of its own.
class Reader {
 public:
  Reader(const LanguageModel& model, int64_t most_tokens)
      : model_(model),
        blocks_(static_cast<size_t>(kv_blocks_for(most_tokens))),
        cache_(model.facts().kv_layers, model.facts().kv_layers.empty() ? 0 : static_cast<int64_t>(blocks_.size()),
               DType::kF32, model.device()),
        state_(model.new_state()) {
    std::iota(blocks_.begin(), blocks_.end(), 0);
  }

  // Logits of every token.
  Tensor read(std::span<const int32_t> tokens, const SequenceHooks* hooks = nullptr) {
    const auto count = static_cast<int64_t>(tokens.size());
    ForwardBatch batch;
    batch.tokens.assign(tokens.begin(), tokens.end());
    batch.sequences.push_back({count, position_, blocks_, state_.empty() ? nullptr : &state_, hooks});
    for (int64_t i = 0; i < count; ++i) batch.logit_rows.push_back(i);
    position_ += count;
    return model_.forward(batch, cache_).to_device(Device::cpu());
  }

 private:
  const LanguageModel& model_;
  std::vector<int32_t> blocks_;
  KvCache cache_;
  RecurrentState state_;
  int64_t position_ = 0;
};

// The number behind `stem`; empty when there is none.
std::optional<int> number_behind(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  name.remove_prefix(stem.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

std::vector<int32_t> tokens_of(const Checkpoint& reference, const std::string& name) {
  const Tensor ids = reference.get(name);
  if (!is_integer(ids.dtype()) || ids.numel() == 0 || ids.numel() != ids.dim(-1)) {
    throw Error(ErrorCode::kBadFile, cat(reference.files().front()->path(), ": '", name, "' is ", ids.dtype(), " ",
                                         ids.shape(), ", expected the token ids of one text [1, n]"));
  }
  return ids.to_vector<int32_t>();
}

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

class Comparison {
 public:
  Comparison(const WeightSource& source, const Checkpoint& reference, const ReferenceOptions& options)
      : reference_(reference), tolerance_(options.tolerance), model_(load_model(source, options.model)) {
    report_.family = model_->facts().family;
    report_.inferred = plan_model(source, options.model).inferred;
    report_.tolerance = tolerance_;
  }

  ReferenceReport run() {
    for (const char* name : {"input_ids", "logits"}) {
      if (reference_.find(name)) continue;
      throw Error(ErrorCode::kBadFile, cat(reference_.files().front()->path(), ": holds no '", name, "'"));
    }
    read_main_text();
    for (const TensorEntry& entry : reference_.entries()) {
      const std::string_view name = entry.name;
      if (name.starts_with("input_ids_") && reference_.find(cat("logits_", name.substr(10)))) {
        read_other_text(std::string(name.substr(10)));
      }
    }
    for (const TensorEntry& entry : reference_.entries()) {
      if (!known_.count(entry.name)) report_.not_checked.push_back(entry.name);
    }
    return std::move(report_);
  }

 private:
  void read_main_text() {
    const std::vector<int32_t> tokens = tokens_of(reference_, "input_ids");
    std::vector<int32_t> greedy;
    if (reference_.find("greedy")) greedy = tokens_of(reference_, "greedy");
    HookSpec spec;
    spec.capture(hook_name(layer_state(), HookSite::kEveryLayer)).capture(hook_name(HookPoint::kFinalNorm, -1));
    if (reference_.find("attention_0")) spec.capture(hook_name(HookPoint::kAttnPattern, HookSite::kEveryLayer));
    HookCache seen;
    const SequenceHooks hooks{&spec, &seen};
    Reader reader(*model_, static_cast<int64_t>(tokens.size() + greedy.size()));
    const Tensor logits = reader.read(tokens, &hooks);
    known_["input_ids"] = true;
    compare_states(seen);
    compare("logits", logits);
    compare_best("logits", logits);
    if (!greedy.empty()) compare_greedy(reader, logits, greedy);
  }

  void read_other_text(const std::string& name) {
    const std::vector<int32_t> tokens = tokens_of(reference_, "input_ids_" + name);
    Reader reader(*model_, static_cast<int64_t>(tokens.size()));
    const Tensor logits = reader.read(tokens);
    known_["input_ids_" + name] = true;
    compare("logits_" + name, logits);
    compare_best("logits_" + name, logits);
  }

  // Transformers lists what enters a layer; in its models without attention, what leaves it.
  HookPoint layer_state() const {
    return model_->facts().kv_layers.empty() ? HookPoint::kResidPost : HookPoint::kResidPre;
  }

  void compare_states(const HookCache& seen) {
    const int layers = static_cast<int>(model_->facts().layers);
    std::map<int, std::string> hidden, attention;  // by number
    for (const TensorEntry& entry : reference_.entries()) {
      if (const auto number = number_behind(entry.name, "hidden_")) hidden[*number] = entry.name;
      if (const auto number = number_behind(entry.name, "attention_")) attention[*number] = entry.name;
    }
    for (const auto& [number, name] : hidden) {
      if (number > layers) continue;
      const HookPoint point = number < layers ? layer_state() : HookPoint::kFinalNorm;
      const std::string place = hook_name(point, number < layers ? number : -1);
      if (seen.has(place)) compare(name, seen.at(place));
    }
    int next = 0;
    for (int layer = 0; layer < layers; ++layer) {
      const std::string place = hook_name(HookPoint::kAttnPattern, layer);
      if (!seen.has(place)) continue;
      const auto name = attention.find(next++);
      if (name != attention.end()) compare(name->second, seen.at(place));
    }
  }

  void compare(const std::string& name, const Tensor& actual) {
    known_[name] = true;
    TensorCheck check;
    check.name = name;
    Tensor expected = reference_.get(name);
    if (expected.rank() == actual.rank() + 1 && expected.dim(0) == 1) {
      expected = expected.with_layout(expected.layout().squeeze(0));
    }
    check.shape = expected.shape();
    if (!(expected.shape() == actual.shape())) {
      check.problem = cat("the model gives ", actual.shape());
      report_.tensors.push_back(std::move(check));
      return;
    }
    const std::vector<float> a = actual.to_vector<float>(), e = expected.to_vector<float>();
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

  void compare_best(const std::string& name, const Tensor& logits) {
    const std::vector<float> a = logits.to_vector<float>(), e = reference_.get(name).to_vector<float>();
    if (a.size() != e.size()) return;
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

  // Reads the expected tokens one by one, so that one difference does not make all that follow differ.
  void compare_greedy(Reader& reader, const Tensor& logits, std::span<const int32_t> greedy) {
    known_["greedy"] = true;
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
      if (i + 1 < greedy.size()) row = reader.read(greedy.subspan(i, 1)).to_vector<float>();
    }
    report_.tokens.push_back(std::move(check));
  }

  const Checkpoint& reference_;
  double tolerance_;
  std::unique_ptr<LanguageModel> model_;
  ReferenceReport report_;
  std::map<std::string, bool, std::less<>> known_;
};

// The type of most bytes.
DType main_dtype(const Checkpoint& checkpoint) {
  std::array<int64_t, kDTypeCount> bytes{};
  for (const TensorEntry& entry : checkpoint.entries()) {
    if (entry.dtype) bytes[static_cast<size_t>(*entry.dtype)] += entry.bytes;
  }
  return static_cast<DType>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

}  // namespace

bool ReferenceReport::ok() const {
  return std::all_of(tensors.begin(), tensors.end(), [](const TensorCheck& check) { return check.ok; }) &&
         std::all_of(tokens.begin(), tokens.end(), [](const TokenCheck& check) { return check.ok; });
}

ReferenceReport check_reference(const WeightSource& source, const Checkpoint& reference,
                                const ReferenceOptions& options) {
  ReferenceReport report = Comparison(source, reference, options).run();
  report.weights = main_dtype(source.checkpoint());
  return report;
}

}  // namespace wick
