#include "backends/cpu/basic/elementwise.h"

#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;  // elements a thread takes at a time
constexpr int64_t kRun = 1024;     // elements that go through a buffer at a time

struct Buffers {
  alignas(64) std::byte in[3][(kRun + Source::kMostPeriod + 1) * 8];
  alignas(64) std::byte out[kRun * 8];
};

}  // namespace

void for_each_run(std::span<const Source> inputs, RunOptions can, const Tensor& out, DType out_compute,
                  FunctionRef<void(const Run& run, void* out, int64_t count)> body) {
  const int64_t size = size_of(out.dtype());
  const bool streams = out.numel() * size >= kStreamBytes;
  const bool converts = out.dtype() != out_compute;
  const bool buffered = converts || (streams && !can.streams);
  const ConvertFn convert_out = converter(out_compute, out.dtype());
  bool in_place = !buffered;
  for (const Source& input : inputs) in_place &= input.is_array() || (can.repeats && input.repeats());
  const int64_t longest = in_place ? kPiece : kRun;

  parallel_for(out.numel(), kPiece, [&](int64_t begin, int64_t end) {
    Buffers buffers;
    Run run;
    for (size_t i = 0; i < inputs.size(); ++i) {
      // What is the same for every run is made once for the whole piece.
      if (inputs[i].period()) inputs[i].fetch(0, kRun + inputs[i].period(), buffers.in[i]);
      if (!inputs[i].repeats()) continue;
      run.in[i] = inputs[i].fetch(0, can.repeats ? 1 : kRun, buffers.in[i]);
      run.step[i] = can.repeats ? 0 : 1;
    }
    for (int64_t at = begin; at < end;) {
      int64_t count = std::min(longest, end - at);
      for (const Source& input : inputs) count = input.limit(at, count);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].repeats()) continue;
        if (const int64_t period = inputs[i].period()) {
          run.in[i] = buffers.in[i] + at % period * inputs[i].compute_size();
          continue;
        }
        const bool repeats = can.repeats && inputs[i].repeats_in_row();
        run.in[i] = inputs[i].fetch(at, repeats ? 1 : count, buffers.in[i]);
        run.step[i] = repeats ? 0 : 1;
      }
      std::byte* to = out.raw() + at * size;
      run.streams = streams && !buffered && reinterpret_cast<uintptr_t>(to) % 64 == 0;
      body(run, buffered ? buffers.out : to, count);
      if (converts) {
        convert_out(buffers.out, 1, to, 1, count);
      } else if (buffered) {
        stream_bytes(buffers.out, to, count * size);
      }
      at += count;
    }
    if (streams) end_stream();
  });
}

}  // namespace wick::cpu
