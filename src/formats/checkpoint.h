#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "formats/metadata.h"
#include "tensor/tensor.h"

namespace wick {

// A tensor as a file lists it.
struct TensorEntry {
  std::string name;
  std::string type;            // as the file spells it: "BF16", "Q4_K"
  std::optional<DType> dtype;  // that get() gives; empty: a type that can be listed but not read
  Shape shape;                 // outermost first
  int64_t bytes = 0;           // in the file
  int file = 0;                // index into Checkpoint::files()
  int64_t offset = 0;          // of the data within that file
};

struct CheckpointState;

// One view over any source of weights: a .safetensors file, a folder with model.safetensors or a sharded
// model.safetensors.index.json, that index itself, a .gguf file or the first file of a split one, a ggml-*.bin of
// whisper.cpp (which then looks like safetensors with a config.json). Opening reads and checks the headers only;
// tensors are views of the mapping, their pages are read when touched and shared between processes. A value: copies
// share the mapping. Throws Error(kBadFile) naming the file and the field at fault, Error(kIo) when it cannot be read.
class Checkpoint {
 public:
  enum class Kind : uint8_t { kSafetensors, kGguf, kGgmlWhisper };

  static Checkpoint open(const std::filesystem::path& path);
  // The same for a single file that is open already, or in memory. There is no folder, and no config but the one given.
  static Checkpoint parse(std::shared_ptr<const MappedFile> file, Json config = {});

  Checkpoint();  // holds nothing

  Kind kind() const;
  const std::vector<std::shared_ptr<const MappedFile>>& files() const;
  const std::filesystem::path& folder() const;  // where config.json and tokenizer files lie

  const std::vector<TensorEntry>& entries() const;  // in file order
  const TensorEntry* find(std::string_view name) const;
  // A view of the mapped bytes; integers that have no dtype (I16, U16, U64) are widened copies, and numbers that lie
  // off their alignment are copied. Throws Error(kInvalidArgument) with the nearest name when there is none,
  // Error(kUnsupported) for types only listed.
  Tensor get(std::string_view name) const;
  Tensor get(const TensorEntry& entry) const;  // one of entries()
  // Lets the operating system drop the pages of a tensor that has been converted or copied.
  void forget(const TensorEntry& entry) const;

  const Metadata& metadata() const;  // GGUF keys; the safetensors __metadata__ as text
  // config.json beside safetensors, or what a ggml-*.bin says in its terms; null when there is none (and for GGUF).
  const Json& config() const;

 private:
  explicit Checkpoint(std::shared_ptr<const CheckpointState> state);

  std::shared_ptr<const CheckpointState> state_;
};

}  // namespace wick
