#include "formats/tensor_plan.h"

#include "base/checked.h"
#include "base/utf8.h"

namespace wick {
namespace {

Error bad_plan(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kInvalidArgument, cat(path, ": ", what)};
}

int64_t bytes_in_file(const TensorSpec& spec, const std::filesystem::path& path) {
  const int64_t row = spec.shape.rank() ? spec.shape.back() : 1;
  const auto bytes = checked_mul(spec.shape.numel() / block_weights(spec.dtype), block_bytes(spec.dtype));
  if (row % block_weights(spec.dtype) != 0 || !bytes) {
    throw bad_plan(path, cat("tensor ", in_quotes(spec.name), " of ", spec.dtype, " ", spec.shape,
                             " does not divide into blocks of ", block_weights(spec.dtype)));
  }
  return *bytes;
}

}  // namespace

TensorPlan::TensorPlan(std::vector<TensorSpec> specs, const std::filesystem::path& path) {
  for (TensorSpec& spec : specs) {
    if (!is_utf8(spec.name)) throw bad_plan(path, cat("the name ", in_quotes(spec.name), " is not valid UTF-8"));
    if (!places_.try_emplace(spec.name, items_.size()).second) {
      throw bad_plan(path, cat("tensor ", in_quotes(spec.name), " is given twice"));
    }
    const int64_t bytes = bytes_in_file(spec, path);
    items_.push_back({std::move(spec), bytes});
  }
}

TensorPlan::Item& TensorPlan::find(const OutputFile& file, std::string_view name) {
  const auto found = places_.find(std::string(name));
  if (found == places_.end()) throw bad_plan(file.path(), cat("tensor ", in_quotes(name), " was not declared"));
  Item& item = items_[found->second];
  if (item.written) throw bad_plan(file.path(), cat("tensor ", in_quotes(name), " was written already"));
  return item;
}

void TensorPlan::write(OutputFile& file, std::string_view name, std::span<const std::byte> data) {
  Item& item = find(file, name);
  if (static_cast<int64_t>(data.size()) != item.bytes) {
    throw bad_plan(file.path(), cat("tensor ", in_quotes(name), " was declared as ", item.spec.dtype, " ",
                                    item.spec.shape, ", ", item.bytes, " bytes, but ", data.size(), " are given"));
  }
  file.write_at(item.offset, data);
  item.written = true;
}

void TensorPlan::write(OutputFile& file, std::string_view name, const Tensor& tensor) {
  const Item& item = find(file, name);
  if (tensor.dtype() != item.spec.dtype || !(tensor.shape() == item.spec.shape)) {
    throw bad_plan(file.path(), cat("tensor ", in_quotes(name), " was declared as ", item.spec.dtype, " ",
                                    item.spec.shape, " but ", tensor.dtype(), " ", tensor.shape(), " is given"));
  }
  if (!tensor.is_contiguous() || !tensor.device().is_host()) {
    throw bad_plan(file.path(), cat("tensor ", in_quotes(name), " is not contiguous on the host"));
  }
  write(file, name, {tensor.raw(), static_cast<size_t>(item.bytes)});
}

void TensorPlan::check_complete(const OutputFile& file) const {
  for (const Item& item : items_) {
    if (!item.written) throw bad_plan(file.path(), cat("tensor ", in_quotes(item.spec.name), " was never written"));
  }
}

}  // namespace wick
