#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "base/thread_pool.h"
#include "formats/weights.h"
#include "speech/whisper/whisper.h"
#include "tensor/arena.h"
#include "tensor/create.h"

// Whisper in the shapes of its released models with random weights in f16, as most ggml files have them. The same is
// measured by whisper.cpp's whisper-bench, whose encoder computes the decoder's keys and values, too (hear + keys
// here).
namespace wick {
namespace {

struct Size {
  const char* name;
  int32_t width, heads, layers;
};
constexpr Size kSizes[] = {{"base", 512, 8, 6}, {"small", 768, 12, 12}};

constexpr int32_t kVocabulary = 51865, kSourcePositions = 1500, kTextPositions = 448, kBins = 80;

// A ggml file with these tensors, whose layout formats/gguf/ggml_bin.h tells.
class RandomFile {
 public:
  explicit RandomFile(const Size& size) : width_(size.width) {
    bytes_ = "lmgg";
    for (const int32_t setting : {kVocabulary, kSourcePositions, size.width, size.heads, size.layers, kTextPositions,
                                  size.width, size.heads, size.layers, kBins, 1, kBins, 201}) {
      add(setting);
    }
    bytes_.append(sizeof(float) * kBins * 201, '\0');
    add(0);  // no vocabulary: nothing is read or written as text
    tensor("encoder.conv1.weight", {width_, kBins, 3}, 1);
    tensor("encoder.conv1.bias", {width_}, 0);
    tensor("encoder.conv2.weight", {width_, width_, 3}, 1);
    tensor("encoder.conv2.bias", {width_}, 0);
    tensor("encoder.positional_embedding", {kSourcePositions, width_}, 0);
    tensor("decoder.positional_embedding", {kTextPositions, width_}, 0);
    tensor("decoder.token_embedding.weight", {kVocabulary, width_}, 1);
    norm("encoder.ln_post");
    norm("decoder.ln");
    for (const std::string stack : {"encoder", "decoder"}) {
      for (int32_t i = 0; i < size.layers; ++i) layer(cat(stack, ".blocks.", i, "."), stack == "decoder");
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  void layer(const std::string& prefix, bool crosses) {
    attention(prefix + "attn");
    if (crosses) attention(prefix + "cross_attn");
    norm(prefix + "mlp_ln");
    linear(prefix + "mlp.0", 4 * width_, width_);
    linear(prefix + "mlp.2", width_, 4 * width_);
  }
  void attention(const std::string& prefix) {
    norm(prefix + "_ln");
    for (const char* part : {".query", ".key", ".value", ".out"}) {
      linear(prefix + part, width_, width_, std::string_view(part) != ".key");
    }
  }
  void norm(const std::string& name) {
    tensor(name + ".weight", {width_}, 0);
    tensor(name + ".bias", {width_}, 0);
  }
  void linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias = true) {
    tensor(name + ".weight", {outputs, inputs}, 1);
    if (bias) tensor(name + ".bias", {outputs}, 0);
  }
  void tensor(const std::string& name, const Shape& shape, int32_t type) {  // type: 0 is f32, 1 is f16
    add(static_cast<int32_t>(shape.rank()));
    add(static_cast<int32_t>(name.size()));
    add(type);
    for (int64_t d = shape.rank(); d-- > 0;) add(static_cast<int32_t>(shape[d]));
    bytes_ += name;
    Tensor values = randn(shape, ++seed_);
    for (int64_t i = 0; i < values.numel(); ++i) values.mutable_data<float>()[i] *= 0.02f;
    if (type == 1) values = values.to_dtype(DType::kF16);
    bytes_.append(reinterpret_cast<const char*>(values.raw()),
                  static_cast<size_t>(bytes_of(values.dtype(), values.numel())));
  }
  void add(int32_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

  int32_t width_;
  uint64_t seed_ = 0;
  std::string bytes_;
};

const Whisper& model_of(int64_t size) {
  static std::map<int64_t, std::unique_ptr<Whisper>> made;
  std::unique_ptr<Whisper>& model = made[size];
  if (!model) {
    const auto bytes = std::make_shared<const std::string>(RandomFile(kSizes[size]).take());
    const auto file = MappedFile::in_memory("ggml-random.bin", std::as_bytes(std::span(*bytes)), bytes);
    model = Whisper::load(WeightSource(Checkpoint::parse(file)));
  }
  return *model;
}

void prepare(benchmark::State& state) {
  state.SetLabel(kSizes[state.range(0)].name);
  ThreadPool::instance().resize(static_cast<int>(state.range(1)));
}

Tensor mel_of(const Whisper& model) { return randn({model.config().bins, model.config().frames()}, 1); }

void whisper_hear(benchmark::State& state) {
  prepare(state);
  const Whisper& model = model_of(state.range(0));
  const Tensor mel = mel_of(model);
  for (auto _ : state) benchmark::DoNotOptimize(model.encoder().encode(mel));
}

void whisper_keys(benchmark::State& state) {
  prepare(state);
  const Whisper& model = model_of(state.range(0));
  const Tensor encoded = randn({kSourcePositions, model.config().width}, 2);
  for (auto _ : state) benchmark::DoNotOptimize(model.decoder().state_for(encoded, DType::kF16));
}

// Passes over some texts of some tokens each, all about one recording.
void write(benchmark::State& state, int64_t texts, int64_t tokens) {
  prepare(state);
  const Whisper& model = model_of(state.range(0));
  RecurrentState encoded = model.decoder().state_for(randn({kSourcePositions, model.config().width}, 2), DType::kF16);
  const int64_t blocks = kTextPositions / kKvBlockTokens;
  const KvCache cache(model.decoder().facts().kv_layers, texts * blocks, DType::kF16, Device::cpu());
  std::vector<std::vector<int32_t>> tables(static_cast<size_t>(texts));
  ForwardBatch batch;
  for (int64_t i = 0; i < texts; ++i) {
    auto& table = tables[static_cast<size_t>(i)];
    for (int64_t block = 0; block < blocks; ++block) table.push_back(static_cast<int32_t>(i * blocks + block));
    batch.sequences.push_back({tokens, tokens > 1 ? 0 : 64, table, &encoded});
    for (int64_t t = 0; t < tokens; ++t) batch.tokens.push_back(static_cast<int32_t>(100 + t));
    batch.logit_rows.push_back((i + 1) * tokens - 1);
  }
  Arena arena;
  for (auto _ : state) {
    const ArenaScope scope(arena);
    benchmark::DoNotOptimize(model.decoder().forward(batch, cache));
  }
  state.SetItemsProcessed(state.iterations() * texts * tokens);
}
void whisper_write(benchmark::State& state) { write(state, 1, 1); }
void whisper_write_5_beams(benchmark::State& state) { write(state, 5, 1); }
void whisper_prompt_256(benchmark::State& state) { write(state, 1, 256); }

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"size", "threads"})->ArgsProduct({{0, 1}, {1, 2}})->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(whisper_hear)->Apply(sizes);
BENCHMARK(whisper_keys)->Apply(sizes);
BENCHMARK(whisper_write)->Apply(sizes);
BENCHMARK(whisper_write_5_beams)->Apply(sizes);
BENCHMARK(whisper_prompt_256)->Apply(sizes);

}  // namespace
}  // namespace wick
