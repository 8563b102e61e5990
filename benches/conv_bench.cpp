// Convolutions against oneDNN: in its own blocked formats with weights reordered beforehand ("onednn"), and on plain
// NCHW tensors as Wick reads them ("onednn_nchw"). Counter "flops" is a rate.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ops/layers/conv.h"
#include "tensor/arena.h"
#include "tensor/create.h"

#if WICK_HAVE_ONEDNN
#include <dlfcn.h>

#include <dnnl.hpp>
#include <unordered_map>
#endif

namespace wick {
namespace {

struct Case {
  std::string name, size;
  Shape x, weight;
  Conv2dOptions options;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"conv2d_3x3", "64x56x56", {1, 64, 56, 56}, {64, 64, 3, 3}, {.padding = 1}},
      {"conv2d_3x3", "128x28x28", {1, 128, 28, 28}, {128, 128, 3, 3}, {.padding = 1}},
      {"conv2d_3x3", "128x56x56", {1, 128, 56, 56}, {128, 128, 3, 3}, {.padding = 1}},
      {"conv2d_3x3", "256x28x28", {1, 256, 28, 28}, {256, 256, 3, 3}, {.padding = 1}},
      {"conv2d_3x3", "256x14x14", {1, 256, 14, 14}, {256, 256, 3, 3}, {.padding = 1}},
      {"conv2d_3x3_stride2", "128x56x56", {1, 128, 56, 56}, {128, 128, 3, 3}, {.stride = 2, .padding = 1}},
      {"conv2d_1x1", "256x28x28", {1, 256, 28, 28}, {256, 256, 1, 1}, {}},
      {"conv2d_depthwise_3x3", "256x56x56", {1, 256, 56, 56}, {256, 1, 3, 3}, {.padding = 1, .groups = 256}},
      {"conv1d_3", "80to512x3000", {1, 80, 1, 3000}, {512, 80, 1, 3}, {.padding = {0, 1}}},
      {"conv1d_3_stride2", "1280x3000", {1, 1280, 1, 3000}, {1280, 1280, 1, 3}, {.stride = {1, 2}, .padding = {0, 1}}},
  };
  return all;
}

double flops_of(const Case& c, const Shape& out) {
  return 2.0 * static_cast<double>(out.numel()) * static_cast<double>(c.weight.numel() / c.weight[0]);
}

void run_wick(benchmark::State& state, const Case& c, int threads) {
  ThreadPool::instance().resize(threads);
  const Tensor x = randn(c.x, 1), weight = randn(c.weight, 2), bias = randn({c.weight[0]}, 3);
  const Shape out_shape = conv2d(x, weight, bias, c.options).shape();
  Arena arena;  // as in a model: outputs reuse memory, which oneDNN is handed beforehand
  for (auto _ : state) {
    const ArenaScope scope(arena);
    benchmark::DoNotOptimize(conv2d(x, weight, bias, c.options).raw());
  }
  state.counters["flops"] = benchmark::Counter(flops_of(c, out_shape), benchmark::Counter::kIsIterationInvariantRate);
}

#if WICK_HAVE_ONEDNN
using dnnl::memory;

memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// oneDNN brings its own OpenMP run-time; asking it by name saves linking one.
void set_openmp_threads(int threads) {
  if (void* set = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(set)(threads);
}

void run_onednn(benchmark::State& state, const Case& c, int threads, bool blocked) {
  set_openmp_threads(threads);
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto f32 = memory::data_type::f32;
  const Conv2dParams p = conv_params(c.options);
  const Tensor x = randn(c.x, 1), weight = randn(c.weight, 2), bias = randn({c.weight[0]}, 3);
  const Tensor expected = conv2d(x, weight, bias, c.options);
  const int64_t groups = p.groups;
  const memory::dims weight_dims =
      groups > 1 ? memory::dims{groups, c.weight[0] / groups, c.weight[1], c.weight[2], c.weight[3]}
                 : dims_of(c.weight);
  const auto plain_weight = groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw;
  const auto image_tag = blocked ? memory::format_tag::any : memory::format_tag::nchw;
  const memory::desc x_any(dims_of(c.x), f32, image_tag), out_any(dims_of(expected.shape()), f32, image_tag);
  const memory::desc weight_any(weight_dims, f32, memory::format_tag::any);
  const memory::desc bias_desc({c.weight[0]}, f32, memory::format_tag::x);
  const memory::dims padding{p.padding_h, p.padding_w};
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                             x_any, weight_any, bias_desc, out_any, {p.stride_h, p.stride_w},
                                             {p.dilation_h - 1, p.dilation_w - 1}, padding, padding);
  const dnnl::convolution_forward::primitive_desc primitive(desc, engine);
  const auto reordered = [&](const memory::desc& plain, const memory::desc& wanted, const Tensor& values) {
    memory from(plain, engine, values.raw()), to(wanted, engine);
    dnnl::reorder(from, to).execute(stream, from, to);
    return to;
  };
  memory x_memory = reordered({dims_of(c.x), f32, memory::format_tag::nchw}, primitive.src_desc(), x);
  memory weight_memory = reordered({weight_dims, f32, plain_weight}, primitive.weights_desc(), weight);
  memory bias_memory(bias_desc, engine, bias.raw()), out_memory(primitive.dst_desc(), engine);
  const dnnl::convolution_forward conv(primitive);
  const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, x_memory},
                                                     {DNNL_ARG_WEIGHTS, weight_memory},
                                                     {DNNL_ARG_BIAS, bias_memory},
                                                     {DNNL_ARG_DST, out_memory}};
  conv.execute(stream, arguments);
  stream.wait();
  for (auto _ : state) {
    conv.execute(stream, arguments);
    stream.wait();
  }
  state.SetLabel(primitive.impl_info_str());
  state.counters["flops"] =
      benchmark::Counter(flops_of(c, expected.shape()), benchmark::Counter::kIsIterationInvariantRate);
}
#endif

const bool registered = [] {
  for (const Case& c : cases()) {
    for (const int threads : {1, 2}) {
      const auto name = [&](const char* who) {
        return c.name + "/" + who + "/" + c.size + "/threads:" + std::to_string(threads);
      };
      const auto add = [&](const char* who, auto run) {
        benchmark::RegisterBenchmark(name(who).c_str(), run)->UseRealTime()->Unit(benchmark::kMicrosecond);
      };
      add("wick", [&c, threads](benchmark::State& state) { run_wick(state, c, threads); });
#if WICK_HAVE_ONEDNN
      add("onednn", [&c, threads](benchmark::State& state) { run_onednn(state, c, threads, true); });
      add("onednn_nchw", [&c, threads](benchmark::State& state) { run_onednn(state, c, threads, false); });
#endif
    }
  }
  return true;
}();

}  // namespace
}  // namespace wick
