#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace wick {

// A .safetensors file, mapped. Opening reads and checks the header only; tensors are views of the mapping and keep it
// alive. Throws Error(kBadFile) naming the file and the field at fault.
//
// Layout: u64 header length (little endian) | JSON header: name -> {dtype, shape, data_offsets [begin, end]} | data
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  std::vector<std::string> names() const;  // sorted
  bool contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  // Throws Error(kInvalidArgument) when there is no tensor of that name.
  Tensor get(std::string_view name) const;
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }

 private:
  struct Entry {
    DType dtype;
    Shape shape;
    int64_t begin;  // within the data section
    int64_t end;
  };
  void check_data_section(int64_t data_bytes) const;

  std::shared_ptr<const MappedFile> file_;
  int64_t data_start_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace wick
