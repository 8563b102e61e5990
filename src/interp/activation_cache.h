#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint.h"
#include "tensor/tensor.h"

namespace wick {

// What was captured of a batch of texts, by text and name ("blocks.3.hook_resid_post"). A value: copies share the
// tensors, which lie in memory or, when they were spilled, in a mapped file.
class ActivationCache {
 public:
  // How many texts the batch had, captured or not.
  size_t texts() const { return positions_.size(); }
  std::vector<std::string> names(size_t text = 0) const;
  bool has(std::string_view name, size_t text = 0) const;
  // [positions, ...]; attention scores and patterns are [heads, positions, context]. Throws Error(kInvalidArgument)
  // listing what there is.
  Tensor at(std::string_view name, size_t text = 0) const;
  // Which positions the rows are, in order.
  const std::vector<int64_t>& positions(size_t text = 0) const;
  int64_t bytes() const;  // of all tensors

  // As safetensors: tensors under their names, behind "<text>/" when there are several texts, with the positions as
  // metadata. Throw Error(kIo); load throws Error(kBadFile) for a file that is not of this kind.
  void save(const std::filesystem::path& path) const;
  static ActivationCache load(const std::filesystem::path& path);

  explicit ActivationCache(std::vector<std::vector<int64_t>> positions = {});
  void add(std::string name, size_t text, Tensor values);

 private:
  const std::map<std::string, Tensor, std::less<>>& of(size_t text) const;

  std::vector<std::vector<int64_t>> positions_;                   // one list per text
  std::vector<std::map<std::string, Tensor, std::less<>>> rows_;  // one map per text
};

// The name of a tensor in a file of `texts` texts.
std::string stored_name(std::string_view name, size_t text, size_t texts);

}  // namespace wick
