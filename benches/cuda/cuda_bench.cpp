// Speed on a CUDA device, with random weights of real shapes: `bench_cuda ops`, `bench_cuda linear TYPE ROWS N K
// [plain]` (without a norm), `bench_cuda experts TYPE DOWN_TYPE TOKENS [gpt-oss]`, `bench_cuda attention TYPE SEQUENCES
// CONTEXT [DIM [ROWS]]` and `bench_cuda model SHAPE TYPE [LARGEST BATCH]`. Every number stands beside its share of the
// device's limits.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "engine/sampling/logits.h"
#include "formats/checkpoint.h"
#include "models/load_model.h"
#include "models/random_model.h"
#include "nn/kv_cache.h"
#include "ops/device_graph.h"
#include "ops/kernel_table.h"
#include "ops/layers/draw_tokens.h"
#include "ops/layers/experts.h"
#include "ops/ops.h"
#include "quant/format.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kCacheBytes = int64_t{256} << 20;  // more than any cache of the device holds

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void wait_for_device() { empty({1}, DType::kF32, Device::cuda()).to_device(Device::cpu()); }

// Seconds of one call of body(i), from a graph of `calls` of them.
double time_calls(int calls, const std::function<void(int)>& body) {
  body(0);
  const auto graph = capture_graph(Device::cuda(), [&] {
    for (int i = 0; i < calls; ++i) body(i);
  });
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    wait_for_device();
    const auto start = Clock::now();
    graph->start();
    wait_for_device();
    times.push_back(seconds_since(start) / calls);
  }
  return median(times);
}

// Of one H200, in a second: bytes read and written by a large copy, and products and sums of a bf16 product of 8192^3
// by the vendor's library, both as PyTorch runs them.
struct Limits {
  double bytes_per_second = 4.25e12, products_per_second = 808e12;
};

Tensor random_weights(int64_t n, int64_t k, DType dtype, uint64_t seed) {
  const int64_t bytes = bytes_of(dtype, 256 * k);
  Tensor rows;
  if (is_packed(dtype) && !quant_format(dtype).encode) {  // numbers of any kind take the same time
    rows = empty({256, k}, dtype);
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < bytes; ++i) rows.raw()[i] = static_cast<std::byte>(random());
  } else {
    const Tensor some = mul(randn({256, k}, seed), scalar(0.02));
    rows = is_packed(dtype) ? quantize(some, dtype) : some.to_dtype(dtype);
  }
  Tensor all = empty({n, k}, dtype);
  for (int64_t at = 0, total = bytes_of(dtype, n * k); at < total; at += bytes) {
    std::copy_n(rows.raw(), std::min(bytes, total - at), all.raw() + at);
  }
  return all.to_device(Device::cuda());
}

void time_linear(const Limits& limits, DType dtype, int64_t m, int64_t n, int64_t k, bool norm) {
  const int64_t bytes = bytes_of(dtype, n * k);
  const int copies = static_cast<int>(std::clamp<int64_t>(kCacheBytes / bytes + 1, 2, 64));
  std::vector<Tensor> weights{random_weights(n, k, dtype, 1)};
  while (static_cast<int>(weights.size()) < copies) weights.push_back(weights[0].clone());
  const Tensor x = randn({m, k}, 2).to_device(Device::cuda()), weight = ones({k}, DType::kF32, Device::cuda());
  const Tensor out = empty({m, n}, DType::kF32, Device::cuda());
  const KernelTable& kernels = Device::cuda().kernels();
  const LinearInput input{x, norm ? weight : Tensor(), 1e-6f, {}};
  const double seconds = time_calls(std::max(copies, 16), [&](int i) {
    const LinearJob job{weights[static_cast<size_t>(i % copies)], {}, {}, out};
    kernels.linear(input, {&job, 1});
  });
  const double read = static_cast<double>(bytes) / seconds, products = 2.0 * static_cast<double>(m * n * k) / seconds;
  fmt::print("linear {:5} m {:4} n {:6} k {:5} {:>5}: {:8.2f} us, {:4.1f} % of copy, {:4.1f} % of product\n",
             to_string(dtype), m, n, k, norm ? "norm" : "", seconds * 1e6, 100 * read / limits.bytes_per_second,
             100 * products / limits.products_per_second);
}

struct ExpertsShape {
  int64_t hidden, inner, experts, chosen;
  bool biased;  // with the clamped activation
};
constexpr ExpertsShape kQwenExperts{2048, 768, 128, 8, false};  // of Qwen3-30B-A3B
constexpr ExpertsShape kGptOssExperts{2880, 2880, 32, 4, true};

// A layer's experts, with the router. Each call has tokens of its own, which choose others.
void time_experts(const Limits& limits, const ExpertsShape& shape, DType dtype, DType down_dtype, int64_t tokens) {
  const auto& [hidden, inner, count, chosen, biased] = shape;
  constexpr int kCalls = 16;
  const Tensor gates = random_weights(count * inner, hidden, dtype, 1);
  const Tensor ups = random_weights(count * inner, hidden, dtype, 2);
  const Tensor downs = random_weights(count * hidden, inner, down_dtype, 3);
  const Tensor biases = zeros({count, std::max(inner, hidden)}, DType::kF32, Device::cuda());
  std::vector<std::array<Tensor, 5>> weights;
  for (int64_t i = 0; i < count; ++i) {
    const auto bias = [&, at = i](int64_t n) { return narrow(flatten(biases), 0, at * n, n); };
    weights.push_back({narrow(gates, 0, i * inner, inner), narrow(ups, 0, i * inner, inner),
                       narrow(downs, 0, i * hidden, hidden), bias(inner), bias(hidden)});
  }
  std::vector<ExpertWeights> experts;
  for (const auto& of : weights) {
    experts.push_back({of[0], of[1], of[2]});
    if (biased) experts.back() = {of[0], of[1], of[2], of[3], of[3], of[4]};
  }
  const Tensor x = randn({kCalls * tokens, hidden}, 4).to_device(Device::cuda());
  const Tensor norm = ones({hidden}, DType::kF32, Device::cuda());
  const ExpertRouter router{randn({count, hidden}, 5).to_device(Device::cuda()), {}, {}};
  const Tensor out = empty({tokens, hidden}, DType::kF32, Device::cuda());
  const ExpertGate gate = biased ? ExpertGate::kClamped : ExpertGate::kSilu;
  const KernelTable& kernels = Device::cuda().kernels();
  const double seconds = time_calls(kCalls, [&](int i) {
    const Tensor rows = narrow(x, 0, i * tokens, tokens);
    const LinearInput input{rows, norm, 1e-6f};
    const RoutedExperts routed = route_experts(input, router, {shape.chosen, true, 1, false});
    if (!kernels.mix_experts(input, routed, experts, gate, rows, out)) {
      throw Error(ErrorCode::kUnsupported, cat("no kernel mixes experts of ", dtype, " and ", down_dtype));
    }
  });
  const int64_t bytes = 2 * bytes_of(dtype, inner * hidden) + bytes_of(down_dtype, hidden * inner);
  const auto read = static_cast<double>(std::min(count, tokens * chosen) * bytes);
  const auto products = static_cast<double>(6 * tokens * chosen * inner * hidden);
  fmt::print("experts {:5} {:5} tokens {:4}: {:8.2f} us, {:4.1f} % of copy, {:4.1f} % of product\n", to_string(dtype),
             to_string(down_dtype), tokens, seconds * 1e6, 100 * read / seconds / limits.bytes_per_second,
             100 * products / seconds / limits.products_per_second);
}

// The last `tokens` of each sequence.
void time_attention(const Limits& limits, int64_t sequences, int64_t context, DType dtype, int64_t dim = 128,
                    int64_t tokens = 1) {
  constexpr int64_t kHeads = 32, kKvHeads = 8;
  if (tokens > context) {
    throw Error(ErrorCode::kInvalidArgument, cat(tokens, " rows are more than the ", context, " tokens of a sequence"));
  }
  const int64_t blocks = (context + kKvBlockTokens - 1) / kKvBlockTokens, all = sequences * blocks;
  const int64_t bytes = all * kKvBlockTokens * kKvHeads * dim * 2 * size_of(dtype);
  const int layers = static_cast<int>(std::clamp<int64_t>(kCacheBytes / bytes + 1, 2, 16));
  const KvShape shape{kKvHeads, dim, dim};
  const std::vector<KvShape> shapes(static_cast<size_t>(layers), shape);
  const KvCache cache(shapes, all, dtype, Device::cuda());
  std::vector<int32_t> starts, positions, table;
  for (int64_t s = 0; s < sequences; ++s) {
    starts.push_back(static_cast<int32_t>(s * tokens));
    positions.push_back(static_cast<int32_t>(context - tokens));
    for (int64_t b = 0; b < blocks; ++b) table.push_back(static_cast<int32_t>(b * sequences + s));
  }
  starts.push_back(static_cast<int32_t>(sequences * tokens));
  const auto there = [](const std::vector<int32_t>& values, const Shape& shape) {
    return from_vector(values, shape, Device::cuda());
  };
  const PagedRows rows{there(starts, {sequences + 1}), there(positions, {sequences}),
                       there(table, {sequences, blocks})};
  const Tensor query = randn({sequences * tokens, kHeads, dim}, 3).to_device(Device::cuda());
  PagedAttentionOptions options;
  options.scale = 0.088f;
  const double seconds = time_calls(
      16, [&](int i) { paged_attention(query, cache.layer(static_cast<size_t>(i % layers)), rows, options); });
  const auto pairs = static_cast<double>(sequences * tokens * (2 * context - tokens + 1)) / 2;  // of rows and keys
  const double products = 4 * pairs * static_cast<double>(kHeads * dim);
  fmt::print("attention {:4} {:3} x {:5}, {} of {}: {:8.2f} us, {:4.1f} % of copy, {:4.1f} % of product\n",
             to_string(dtype), sequences, context, tokens, dim, seconds * 1e6,
             100 * static_cast<double>(bytes) / seconds / limits.bytes_per_second,
             100 * products / seconds / limits.products_per_second);
}

void bench_ops() {
  const Limits limits;
  for (const DType dtype : {DType::kBF16, DType::kQ4_K, DType::kQ6_K, DType::kQ8_0, DType::kQ5_K, DType::kQ4_0}) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{6144, 4096}, {4096, 4096}, {24576, 4096}, {4096, 12288}}) {
      time_linear(limits, dtype, 1, n, k, k == 4096);
    }
  }
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{4096, 1024}, {1024, 2048}, {6144, 1024}, {1024, 3072}}) {
    time_linear(limits, DType::kBF16, 1, n, k, k == 1024);
  }
  for (const DType dtype : {DType::kBF16, DType::kQ4_K}) {
    for (const int64_t m : {2, 8, 16, 32, 64, 256, 2048}) {
      for (const auto& [n, k] : {std::pair<int64_t, int64_t>{24576, 4096}, {4096, 12288}}) {
        time_linear(limits, dtype, m, n, k, false);
      }
    }
  }
  time_linear(limits, DType::kBF16, 2048, 6144, 4096, true);
  time_linear(limits, DType::kBF16, 2048, 4096, 4096, false);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    for (const auto& [sequences, context] : {std::pair<int64_t, int64_t>{1, 128}, {1, 1024}, {8, 1024}, {64, 1024}}) {
      time_attention(limits, sequences, context, dtype);
    }
  }
}

// One model with sequences of `depth` tokens in its cache.
class ModelBench {
 public:
  ModelBench(const LanguageModel& model, int64_t sequences, int64_t tokens)
      : model_(model),
        per_sequence_((tokens + kKvBlockTokens - 1) / kKvBlockTokens),
        cache_(model.facts().kv_layers, per_sequence_ * sequences, DType::kF16, model.device()) {
    for (int64_t s = 0; s < sequences; ++s) {
      blocks_.emplace_back();
      for (int64_t b = 0; b < per_sequence_; ++b) {
        blocks_.back().push_back(static_cast<int32_t>(b * sequences + s));  // neighbours belong to others
      }
    }
  }

  double prefill(int64_t tokens, size_t sequence = 0, const SequenceHooks* hooks = nullptr) {
    ForwardBatch batch;
    for (int64_t i = 0; i < tokens; ++i) batch.tokens.push_back(token());
    batch.sequences.push_back({tokens, 0, blocks_[sequence], nullptr, hooks, {}});
    batch.logit_rows.push_back(tokens - 1);
    const auto start = Clock::now();
    choose(model_.forward(batch, cache_)).fetch();
    return seconds_since(start);
  }

  // Seconds from the tokens of one pass to those of the next, in a row of them. As the engine has it, each pass takes
  // what the one before has drawn, and is started before that has come to the host.
  std::vector<double> write(int64_t sequences, int64_t position, int64_t passes) {
    std::vector<double> seconds;
    std::optional<Logits> before;
    auto last = Clock::now();
    const auto fetch = [&] {
      before->fetch();
      seconds.push_back(seconds_since(last));
      last = Clock::now();
    };
    for (int64_t i = 0; i < passes; ++i) {
      Logits logits = start_pass(sequences, position + i, before ? before->drawn() : Tensor());
      if (before) fetch();
      before.emplace(std::move(logits));
    }
    fetch();
    return seconds;
  }

 private:
  Logits start_pass(int64_t sequences, int64_t position, const Tensor& drawn) {
    ForwardBatch batch;
    for (int64_t s = 0; s < sequences; ++s) {
      batch.tokens.push_back(token());
      batch.sequences.push_back({1, position, blocks_[static_cast<size_t>(s)], nullptr, nullptr, {}});
      batch.logit_rows.push_back(s);
    }
    batch.drawn = drawn;
    return choose(model_.forward(batch, cache_));
  }

  // The likeliest tokens, chosen on the device as the engine has it done.
  static Logits choose(const Tensor& logits) {
    TokenDraws draws;
    draws.rows.resize(static_cast<size_t>(logits.dim(0)));
    return {logits, draws};
  }

  int32_t token() { return static_cast<int32_t>(++drawn_ * 7919 % static_cast<uint64_t>(model_.facts().vocabulary)); }

  const LanguageModel& model_;
  int64_t per_sequence_;
  KvCache cache_;
  std::vector<std::vector<int32_t>> blocks_;
  uint64_t drawn_ = 0;
};

// Of the weights that one token needs, all but the embedding and of experts those that are chosen.
struct ActiveWeights {
  double bytes = 0;
  double of_layers = 0;  // their number: a prompt meets them with all of its tokens, what makes logits with one
};
ActiveWeights active_weights(const Checkpoint& checkpoint, const ModelShape& shape) {
  const Json config = shape.config();
  const auto experts = static_cast<double>(config.get("num_experts", int64_t{1}));
  const auto chosen = static_cast<double>(config.get("num_experts_per_tok", int64_t{1}));
  ActiveWeights sum;
  for (const TensorEntry& entry : checkpoint.entries()) {
    if (entry.name == "token_embd.weight" && !shape.tied) continue;
    const double share = entry.name.find("_exps.") != std::string::npos ? chosen / experts : 1;
    sum.bytes += share * static_cast<double>(entry.bytes);
    if (entry.name.starts_with("blk.") && entry.shape.rank() > 1) {
      sum.of_layers += share * static_cast<double>(entry.shape.numel());
    }
  }
  return sum;
}

void bench_model(const std::string& name, const std::string& type, int64_t most) {
  const Limits limits;
  const ModelShape& shape = model_shape(name);
  auto start = Clock::now();
  const Checkpoint checkpoint = Checkpoint::parse(random_gguf(shape, QuantizePlan::named(type)));
  const double made = seconds_since(start);
  const auto [bytes, of_layers] = active_weights(checkpoint, shape);
  start = Clock::now();
  ModelOptions options;
  options.device = Device::cuda();
  options.context = 4096;
  const WeightSource source(checkpoint);
  const auto model = load_model(source, options);
  fmt::print("{} {}: {:.2f} GB a token, made in {:.1f} s, loaded in {:.2f} s\n", name, type, bytes / 1e9, made,
             seconds_since(start));
  ModelBench bench(*model, most, 2048);
  const auto kv_bytes = static_cast<double>(KvCache::bytes_per_block(model->facts().kv_layers, DType::kF16)) /
                        static_cast<double>(kKvBlockTokens);
  const auto decode = [&](int64_t sequences, int64_t depth) {
    for (int i = 0; i < 3; ++i) bench.write(sequences, depth, 1);
    const double seconds = median(bench.write(sequences, depth, 25));
    const double moved = bytes + static_cast<double>(sequences * depth) * kv_bytes;
    fmt::print("decode, batch {:2} behind {:4}: {:8.1f} tokens/s, {:8.1f} us a pass, {:.1f} % of copy\n", sequences,
               depth, static_cast<double>(sequences) / seconds, seconds * 1e6,
               100 * moved / seconds / limits.bytes_per_second);
    std::fflush(stdout);
  };
  decode(1, 16);
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) times.push_back(bench.prefill(2048));
  const double seconds = median(times);
  fmt::print("prefill 2048: {:.0f} tokens/s, {:.1f} % of product\n", 2048 / seconds,
             100 * 2 * of_layers * 2048 / seconds / limits.products_per_second);
  // With all residuals captured, in turn with as many passes without.
  HookSpec residuals;
  for (const char* point : {"pre", "mid", "post"}) residuals.capture(cat("blocks.*.hook_resid_", point));
  std::vector<double> plain, watched;
  for (int i = 0; i < 9; ++i) {
    HookCache seen;
    const SequenceHooks hooks{&residuals, &seen};
    plain.push_back(bench.prefill(2048));
    watched.push_back(bench.prefill(2048, 0, &hooks));
  }
  fmt::print("prefill 2048 with all residuals captured: {:.1f} % longer\n",
             100 * (median(watched) / median(plain) - 1));
  for (int64_t s = 0; s < most; ++s) bench.prefill(1024, static_cast<size_t>(s));
  for (const int64_t sequences : {1, 2, 4, 8, 16, 32, 64}) {
    if (sequences <= most) decode(sequences, 1024);
  }
}

DType type_called(const char* name) {
  if (const auto dtype = dtype_named(name)) return *dtype;
  throw Error(ErrorCode::kInvalidArgument, cat("there is no type '", name, "'"));
}

int64_t count_of(const char* text) {
  char* end = nullptr;
  const int64_t count = std::strtoll(text, &end, 10);
  if (*text != 0 && *end == 0 && count > 0) return count;
  throw Error(ErrorCode::kInvalidArgument, cat("'", text, "' is not a whole number above 0"));
}

}  // namespace
}  // namespace wick

int main(int count, char** arguments) {
  try {
    const std::string what = count > 1 ? arguments[1] : "";
    if (what == "ops") {
      wick::bench_ops();
    } else if (what == "linear" && (count == 6 || (count == 7 && std::string(arguments[6]) == "plain"))) {
      wick::time_linear(wick::Limits(), wick::type_called(arguments[2]), wick::count_of(arguments[3]),
                        wick::count_of(arguments[4]), wick::count_of(arguments[5]), count == 6);
    } else if (what == "experts" && (count == 5 || (count == 6 && std::string(arguments[5]) == "gpt-oss"))) {
      wick::time_experts(wick::Limits(), count == 5 ? wick::kQwenExperts : wick::kGptOssExperts,
                         wick::type_called(arguments[2]), wick::type_called(arguments[3]),
                         wick::count_of(arguments[4]));
    } else if (what == "attention" && count >= 5 && count <= 7) {
      wick::time_attention(wick::Limits(), wick::count_of(arguments[3]), wick::count_of(arguments[4]),
                           wick::type_called(arguments[2]), count > 5 ? wick::count_of(arguments[5]) : 128,
                           count > 6 ? wick::count_of(arguments[6]) : 1);
    } else if (what == "model" && (count == 4 || count == 5)) {
      wick::bench_model(arguments[2], arguments[3], count > 4 ? wick::count_of(arguments[4]) : 8);
    } else {
      fmt::print(stderr,
                 "bench_cuda ops | linear TYPE ROWS N K [plain] | experts TYPE DOWN_TYPE TOKENS [gpt-oss] | "
                 "attention TYPE SEQUENCES CONTEXT [DIM [ROWS]] | model SHAPE TYPE [LARGEST BATCH]\n");
      return 2;
    }
  } catch (const wick::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
