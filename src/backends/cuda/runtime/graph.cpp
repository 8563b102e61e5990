#include "backends/cuda/runtime/capture.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/runtime.h"
#include "ops/device_graph.h"

namespace wick {
namespace cuda {
namespace {

class Graph final : public DeviceGraph {
 public:
  explicit Graph(Device device) : device_(device), memory_(device) {}
  ~Graph() override {
    if (program_) (void)cudaGraphExecDestroy(program_);
  }

  // On a stream of its own, so that other threads' work does not get in.
  void capture(FunctionRef<void()> body) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), device_, "create stream");
    cudaGraph_t graph = nullptr;
    cudaError_t ended = cudaSuccess;
    try {
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), device_, "begin graph");
      const Capture capture(device_, memory_, stream);
      try {
        body();
      } catch (...) {
        if (cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph) (void)cudaGraphDestroy(graph);
        cudaGetLastError();
        throw;
      }
      ended = cudaStreamEndCapture(stream, &graph);
    } catch (...) {
      (void)cudaStreamDestroy(stream);
      throw;
    }
    (void)cudaStreamDestroy(stream);
    check(ended, device_, "end graph");
    const cudaError_t made = cudaGraphInstantiate(&program_, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(made, device_, "make graph");
  }

  void start() override { check(cudaGraphLaunch(program_, runtime(device_).stream), device_, "start graph"); }

 private:
  Device device_;
  GraphMemory memory_;
  cudaGraphExec_t program_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceGraph> capture_graph(Device device, FunctionRef<void()> body) {
  auto graph = std::make_unique<Graph>(device);
  graph->capture(body);
  return graph;
}

}  // namespace cuda

}  // namespace wick
