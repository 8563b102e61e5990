#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/runtime.h"

namespace wick::cuda {

struct AttentionPlan;
struct Step;

// The steps of a pass with one token, done by one kernel that stays on the device: between two steps its blocks wait
// for each other, which takes less time than ending a kernel and starting the next one, and while they wait the next
// weights are on their way. Steps give the same bits as the kernels that they stand for.
class StepProgram {
 public:
  // What the program needs is kept in `kept` as long as its graph may run.
  StepProgram(Device device, std::vector<std::unique_ptr<Scratch>>& kept);
  ~StepProgram();
  StepProgram(const StepProgram&) = delete;
  StepProgram& operator=(const StepProgram&) = delete;

  // False: not a step; it has to be a kernel of its own.
  bool add(const WeightPlan& plan);
  bool add(const AttentionPlan& plan, DType pool);

  // Starts what was added so far.
  void start();

 private:
  bool take(DType weights, DType pool, int dim, size_t input_bytes);

  Device device_;
  std::vector<std::unique_ptr<Scratch>>& kept_;
  std::vector<Step> steps_;
  DType weights_ = DType::kF32, pool_ = DType::kF32;  // of the steps so far; f32: none yet
  int dim_ = 0;
  size_t input_bytes_ = 0;  // of shared memory for x
};

// Where this thread's steps go while it records a graph; null: nowhere.
StepProgram* step_program();

}  // namespace wick::cuda
