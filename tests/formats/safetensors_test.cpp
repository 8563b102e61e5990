#include "formats/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include "support/damaged_files.h"
#include "support/errors.h"
#include "support/file_bytes.h"

namespace wick {
namespace {

Checkpoint open(const std::string& header, const std::string& data) {
  return Checkpoint::parse(file_in_memory(safetensors_bytes(header, 0) + data, "model.safetensors"));
}

template <typename T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

TEST(Safetensors, ListsTensorsByOffsetWithMetadata) {
  const Checkpoint checkpoint = Checkpoint::parse(file_in_memory(good_safetensors(), "good"));
  EXPECT_EQ(checkpoint.kind(), Checkpoint::Kind::kSafetensors);
  std::vector<std::string> names;
  for (const TensorEntry& entry : checkpoint.entries()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "h", "b", "u", "four", "none"}));
  EXPECT_EQ(checkpoint.get("b").shape(), Shape({2, 3}));
  EXPECT_EQ(checkpoint.get("b").dtype(), DType::kBF16);
  EXPECT_EQ(checkpoint.get("a").item(), 0);
  EXPECT_EQ(checkpoint.get("none").numel(), 0);
  EXPECT_EQ(checkpoint.metadata().text("format"), "pt");
  EXPECT_EQ(checkpoint.metadata().text("note"), "a \"b\" \u00e9 \U0001F600");
  EXPECT_TRUE(checkpoint.config().is_null());
}

TEST(Safetensors, EveryTypeOfTheFormat) {
  struct Row {
    const char* name;
    int bytes;
    std::optional<DType> dtype;
  };
  const Row rows[] = {{"BOOL", 1, DType::kU8},
                      {"U8", 1, DType::kU8},
                      {"I8", 1, DType::kI8},
                      {"F8_E5M2", 1, DType::kF8E5M2},
                      {"F8_E4M3", 1, DType::kF8E4M3},
                      {"F8_E8M0", 1, DType::kF8E8M0},
                      {"I16", 2, DType::kI32},
                      {"U16", 2, DType::kI32},
                      {"F16", 2, DType::kF16},
                      {"BF16", 2, DType::kBF16},
                      {"I32", 4, DType::kI32},
                      {"U32", 4, DType::kU32},
                      {"F32", 4, DType::kF32},
                      {"F64", 8, DType::kF64},
                      {"I64", 8, DType::kI64},
                      {"U64", 8, DType::kI64},
                      {"C64", 8, {}},
                      {"F4", 1, {}},
                      {"F6_E2M3", 3, {}},
                      {"F6_E3M2", 3, {}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const int count = std::string_view(row.name).starts_with("F6_") ? 4 : row.name == std::string("F4") ? 2 : 1;
    const Checkpoint checkpoint =
        open(cat(R"({"a":{"dtype":")", row.name, R"(","shape":[)", count, R"(],"data_offsets":[0,)", row.bytes, "]}}"),
             std::string(row.bytes, '\0'));
    EXPECT_EQ(checkpoint.find("a")->type, row.name);
    EXPECT_EQ(checkpoint.find("a")->dtype, row.dtype);
    if (row.dtype) {
      EXPECT_EQ(checkpoint.get("a").dtype(), *row.dtype);
    } else {
      EXPECT_ERROR(checkpoint.get("a"), kUnsupported,
                   cat("model.safetensors: tensor 'a' is ", row.name, ", which can be listed but not read"));
    }
  }
}

TEST(Safetensors, IntegersWithoutADtypeAreWidened) {
  const Checkpoint checkpoint = open(
      R"({"i":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},
                                         "u":{"dtype":"U16","shape":[2],"data_offsets":[4,8]},
                                         "w":{"dtype":"U64","shape":[1],"data_offsets":[8,16]},
                                         "x":{"dtype":"U64","shape":[1],"data_offsets":[16,24]}})",
      raw<int16_t>({-32768, 5}) + raw<uint16_t>({65535, 6}) + raw<uint64_t>({uint64_t{1} << 40, uint64_t{1} << 63}));
  EXPECT_EQ(checkpoint.get("i").to_vector<int32_t>(), (std::vector<int32_t>{-32768, 5}));
  EXPECT_EQ(checkpoint.get("u").to_vector<int32_t>(), (std::vector<int32_t>{65535, 6}));
  EXPECT_EQ(checkpoint.get("w").to_vector<int64_t>(), (std::vector<int64_t>{int64_t{1} << 40}));
  EXPECT_ERROR(checkpoint.get("x"), kUnsupported, "tensor 'x' holds 9223372036854775808, which i64 cannot hold");
}

// The header's length is not a multiple of 8 here, so one of the two lies off its alignment.
TEST(Safetensors, UnalignedNumbersAreCopied) {
  const Checkpoint checkpoint = open(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                                         "f":{"dtype":"F64","shape":[2],"data_offsets":[1,17]}})",
                                     "x" + raw<double>({1.5, -2}));
  EXPECT_EQ(checkpoint.get("f").to_vector<double>(), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(checkpoint.get("f").raw()) % alignof(double), 0u);
}

TEST(Safetensors, NamesTheNearestTensor) {
  const Checkpoint checkpoint = open(R"({"model.norm.weight":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "");
  EXPECT_ERROR(checkpoint.get("model.norm.wieght"), kInvalidArgument,
               "model.safetensors: there is no tensor 'model.norm.wieght'; the nearest name is 'model.norm.weight'");
  EXPECT_ERROR(checkpoint.get("x"), kInvalidArgument, "there is no tensor 'x'");
  EXPECT_EQ(checkpoint.find("x"), nullptr);
}

TEST(Safetensors, MetadataIsLimited) {
  std::string header = R"({"__metadata__":{"first":"")";
  for (int i = 0; i < 70000; ++i) header += cat(",\"", i, "\":\"\"");
  EXPECT_ERROR(open(header + "}}", ""), kBadFile, "model.safetensors: '__metadata__' has more than 65536 names");
}

TEST(Safetensors, CopiesShareTheBytesAndKeepThemAlive) {
  Tensor tensor;
  Checkpoint copy;
  EXPECT_TRUE(copy.entries().empty());
  {
    const Checkpoint checkpoint = open(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "\1\2\3");
    copy = checkpoint;
    tensor = copy.get("a");
    EXPECT_EQ(checkpoint.get("a").raw(), tensor.raw());
  }
  EXPECT_NE(copy.find("a"), nullptr);
  copy = {};
  EXPECT_EQ(tensor.to_vector<uint8_t>(), (std::vector<uint8_t>{1, 2, 3}));
}

}  // namespace
}  // namespace wick
