#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "formats/safetensors/safetensors_writer.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

TEST(SafetensorsBytesTest, AreThoseOfTheFile) {
  const NamedTensor tensors[] = {{"half", randn({3, 5}, 1, DType::kF16)},
                                 {"one \"name\"", randn({7}, 2)},
                                 {"empty", zeros({0, 4})},
                                 {"wide", randn({2, 3}, 3, DType::kF64)}};
  Metadata metadata;
  metadata.set_text("key", "value");
  const TempFolder folder;
  const auto path = folder.path() / "a.safetensors";
  std::vector<TensorSpec> specs;
  for (const NamedTensor& tensor : tensors)
    specs.push_back({tensor.name, tensor.values.dtype(), tensor.values.shape()});
  SafetensorsWriter writer(path, specs, metadata);
  for (const NamedTensor& tensor : tensors) writer.write(tensor.name, tensor.values);
  writer.finish();
  std::ifstream file(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_GT(expected.size(), 100u);
  EXPECT_EQ(safetensors_bytes(tensors, metadata), expected);
}

TEST(SafetensorsBytesTest, RefusesWhatIsNotInOnePiece) {
  const Tensor square = randn({4, 4}, 1);
  const NamedTensor turned[] = {{"turned", square.with_layout(square.layout().transpose(0, 1))}};
  EXPECT_ERROR(safetensors_bytes(turned), kInvalidArgument, "not contiguous");
  const NamedTensor twice[] = {{"a", square}, {"a", square}};
  EXPECT_ERROR(safetensors_bytes(twice), kInvalidArgument, "given twice");
}

}  // namespace
}  // namespace wick
