#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hooks/hook_cache.h"
#include "hooks/hook_spec.h"

namespace wick {

// What hooks of one request see, pass after pass: some points, some positions, and no more than so many bytes. Written
// by the engine's thread; whoever reads waits until the request is over.
class CaptureLog : public std::enable_shared_from_this<CaptureLog> {
 public:
  // `points`: names of HookSite::parse. `positions`: counted from the start; empty: all.
  CaptureLog(std::vector<std::string> points, std::vector<int64_t> positions, int64_t most_bytes);

  // Has a spec report here, after the edits that it has by now. A pass that sees more than the bytes allow fails with
  // Error(kInvalidArgument). Must be owned by a shared_ptr, which the spec then shares.
  void watch(HookSpec& spec);

  int64_t bytes() const { return bytes_; }
  std::vector<std::string> names() const { return cache_.names(); }
  Tensor at(const std::string& name) const { return cache_.at(name); }
  Shape shape(const std::string& name) const;  // of at(name), which takes longer; throws std::out_of_range
  std::vector<std::string> missing() const;    // points that no pass had
  // Which tokens the rows are; those of hook_logits are only the ones that logits were computed for.
  std::vector<int64_t> positions() const;

  // As ActivationCache::load reads it. Throws Error(kInvalidArgument).
  std::string safetensors(std::span<const int32_t> tokens) const;

 private:
  struct Held {
    HookPoint point;
    int64_t bytes = 0;
    Shape shape;  // when its rows are joined
    std::vector<int64_t> positions;
  };
  void keep(const std::string& name, const Tensor& values, const HookMoment& moment);

  const std::vector<std::string> points_;
  const std::vector<int64_t> positions_;
  const int64_t most_bytes_;
  HookCache cache_;
  std::map<std::string, Held> held_;
  int64_t bytes_ = 0;
};

}  // namespace wick
