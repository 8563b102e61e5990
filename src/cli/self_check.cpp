#include "cli/self_check.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "ops/ops.h"
#include "tensor/create.h"
#if WICK_CUDA
#include "backends/cuda/runtime/devices.h"
#endif

namespace wick {
namespace {

constexpr double kAllowedError = 1e-5;

struct Case {
  const char* name;
  std::function<Tensor(Device)> compute;
};

// Sizes are awkward on purpose: no multiple of a vector or a tile.
std::vector<Case> cases() {
  return {
      {"matmul",
       [](Device device) {
         return matmul(randn({65, 131}, 1, DType::kF32, device), randn({131, 67}, 2, DType::kF32, device));
       }},
      {"softmax",
       [](Device device) {
         return softmax(randn({33, 517}, 3, DType::kF32, device), -1);
       }},
      {"rms_norm",
       [](Device device) {
         return rms_norm(randn({33, 517}, 4, DType::kF32, device), randn({517}, 5, DType::kF32, device));
       }},
      {"attention",
       [](Device device) {
         AttentionOptions options;
         options.causal = true;
         return scaled_dot_product_attention(randn({1, 4, 37, 65}, 6, DType::kF32, device),
                                             randn({1, 2, 41, 65}, 7, DType::kF32, device),
                                             randn({1, 2, 41, 65}, 8, DType::kF32, device), options);
       }},
  };
}

// Largest |a - b| as a part of the largest |b|; infinite when a value is not a number.
double max_error(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  double worst = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(x[i] - y[i]);
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
    size = std::max(size, std::abs(y[i]));
  }
  return worst / size;
}

Check check_against_reference(const Case& example, Device device) {
  const double error = max_error(example.compute(device), example.compute(Device::reference()));
  return {cat(example.name, ", ", device, " against reference"), error <= kAllowedError,
          fmt::format("max error {:.2g}, allowed {:.0g}", error, kAllowedError)};
}

class PoolSize {
 public:
  PoolSize() : before_(ThreadPool::instance().size()) {}
  ~PoolSize() { ThreadPool::instance().resize(before_); }
  PoolSize(const PoolSize&) = delete;
  PoolSize& operator=(const PoolSize&) = delete;

 private:
  int before_;
};

// Large enough that the kernels split the work.
std::vector<Tensor> threaded_results(int threads) {
  ThreadPool::instance().resize(threads);
  const Tensor a = randn({257, 259}, 9), b = randn({259, 263}, 10), x = randn({129, 4097}, 11);
  return {matmul(a, b), softmax(x, -1), sum(x, {0}), mul(x, x)};
}

Check check_threads() {
  const PoolSize restore;
  const int many = std::max(2, ThreadPool::instance().size());
  const auto one = threaded_results(1), several = threaded_results(many);
  bool same = true;
  for (size_t i = 0; i < one.size(); ++i) {
    same = same && std::memcmp(one[i].raw(), several[i].raw(), one[i].numel() * sizeof(float)) == 0;
  }
  return {"same bits with any number of threads", same,
          cat("1 and ", many, " threads ", same ? "agree" : "differ", " in ", one.size(), " ops")};
}

Check check_mapped_file() {
  std::string path = (std::filesystem::temp_directory_path() / "wick-doctor-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return {"temporary file, written and mapped", false, cat(path, ": ", std::strerror(errno))};
  std::vector<char> bytes(1 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + (i >> 8));
  const bool written = write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(file);
  bool same = false;
  if (written) {
    const auto mapped = MappedFile::open(path);
    same =
        mapped->bytes().size() == bytes.size() && std::memcmp(mapped->bytes().data(), bytes.data(), bytes.size()) == 0;
  }
  std::filesystem::remove(path);
  return {"temporary file, written and mapped", same,
          cat("1 MiB in ", std::filesystem::temp_directory_path(),
              same      ? ""
              : written ? " reads back wrong"
                        : " failed")};
}

std::vector<Device> devices() {
  std::vector<Device> found{Device::cpu()};
#if WICK_CUDA
  const auto count = static_cast<int>(list_cuda_devices().devices.size());
  for (int i = 0; i < count; ++i) found.push_back(Device::cuda(i));
#endif
  return found;
}

Check guarded(std::string name, const std::function<Check()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return {std::move(name), false, error.what()};
  }
}

}  // namespace

std::vector<Check> run_self_checks() {
  std::vector<Check> checks;
  for (const Device device : devices()) {
    for (const Case& example : cases()) {
      checks.push_back(
          guarded(cat(example.name, ", ", device), [&] { return check_against_reference(example, device); }));
    }
  }
  checks.push_back(guarded("threads", check_threads));
  checks.push_back(guarded("mapped file", check_mapped_file));
  return checks;
}

}  // namespace wick
