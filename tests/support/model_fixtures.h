#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "support/fixtures.h"
#include "support/test_sequence.h"

namespace wick {

// The folder of a family's fixture: that of the source tree, if it is there.
inline std::filesystem::path family_folder(const std::string& name) {
  const auto folders = fixture_folders(name);
  if (folders.empty()) throw std::runtime_error(no_fixture(name));
  return folders.front();
}

// The largest difference, as a share of the spread of the expected values. Infinities must meet their like.
inline double relative_error(const Tensor& actual, const Tensor& expected) {
  const std::vector<float> a = actual.to_vector<float>(), e = expected.to_vector<float>();
  if (a.size() != e.size() || e.empty()) return INFINITY;
  double worst = 0, low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isinf(e[i]) && a[i] == e[i]) continue;
    const double difference = std::abs(static_cast<double>(a[i]) - e[i]);
    if (!std::isfinite(difference)) return INFINITY;
    worst = std::max(worst, difference);
    low = std::min<double>(low, e[i]);
    high = std::max<double>(high, e[i]);
  }
  return worst == 0 ? 0 : worst / (high - low);
}

// Tokens that mean nothing, the same for the same seed.
inline std::vector<int32_t> some_tokens(size_t count, uint32_t seed, int32_t vocabulary = 192) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    tokens.push_back(static_cast<int32_t>((seed >> 8) % static_cast<uint32_t>(vocabulary)));
  }
  return tokens;
}

// A copy of a model's folder whose config.json has `from` replaced by `to`, which must be there.
inline void copy_model(const std::filesystem::path& folder, const std::filesystem::path& copy, const std::string& from,
                       const std::string& to) {
  std::filesystem::create_directories(copy);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors" || entry.path().extension() == ".json") {
      std::filesystem::copy_file(entry.path(), copy / entry.path().filename(),
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  std::ifstream in(folder / "config.json");
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("config.json has no " + from);
  text.replace(at, from.size(), to);
  std::ofstream(copy / "config.json", std::ios::trunc) << text;
}

// Sets the number of threads, and back again.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(ThreadPool::instance().size()) { ThreadPool::instance().resize(threads); }
  ~ThreadCount() { ThreadPool::instance().resize(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

}  // namespace wick
