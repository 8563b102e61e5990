// Tensors of ONNX files put together by hand, so that they can be wrong in every way.
#include "formats/onnx/onnx_tensors.h"

#include <gtest/gtest.h>

#include <random>

#include "support/errors.h"
#include "support/file_bytes.h"

namespace wick {
namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(int field, uint64_t value) { return varint(static_cast<uint64_t>(field) << 3) + varint(value); }
std::string bytes(int field, const std::string& value) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}
std::string tensor(const std::string& name, const std::vector<uint64_t>& sizes, uint64_t type, const std::string& raw) {
  std::string out;
  for (const uint64_t size : sizes) out += number(1, size);
  return out + number(2, type) + bytes(8, name) + bytes(9, raw);
}
std::string constant(const std::string& output, const std::string& value) {
  return bytes(1, bytes(2, output) + bytes(4, "Constant") + bytes(5, bytes(1, "value") + bytes(5, value)));
}
// A node with a graph per name.
std::string branches(const std::vector<std::pair<std::string, std::string>>& graphs) {
  std::string node = bytes(2, "out") + bytes(4, "If");
  for (const auto& [name, graph] : graphs) node += bytes(5, bytes(6, graph) + bytes(1, name));
  return bytes(1, node);
}
std::string model(const std::string& graph) { return number(1, 8) + bytes(2, "test") + bytes(7, graph); }

OnnxTensors read(const std::string& file) { return OnnxTensors::read(file_in_memory(file, "x.onnx")); }

std::string good_model() {
  const std::string inner = bytes(5, tensor("w", {2}, 1, floats({5, 6})));
  return model(
      bytes(5, tensor("w", {2, 1}, 1, floats({1, 2}))) + constant("c", tensor("", {}, 1, floats({7}))) +
      branches({{"then_branch", constant("o", tensor("w", {3}, 1, floats({2, 3, 4})))},
                {"else_branch", branches({{"then_branch", inner}})}}) +
      bytes(5, bytes(1, varint(2) + varint(2)) + number(2, 1) + bytes(8, "packed") + bytes(4, floats({1, 2, 3, 4}))) +
      bytes(5, number(1, 1) + number(2, 7) + bytes(7, varint(5)) + bytes(8, "one by one")) +
      bytes(5, tensor("strange", {1}, 99, "x")));
}

TEST(OnnxTensors, FindsInitialisersAndConstantsInEveryBranch) {
  const OnnxTensors tensors = read(good_model());
  EXPECT_EQ(tensors.entries().size(), 7U);
  EXPECT_EQ(tensors.get("", "w").to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(tensors.get("", "w").shape(), Shape({2, 1}));
  EXPECT_EQ(tensors.get("", "c").item(), 7);
  EXPECT_EQ(tensors.get("then_branch", "w").to_vector<float>(), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(tensors.get("else_branch/then_branch", "w").to_vector<float>(), (std::vector<float>{5, 6}));
  EXPECT_EQ(tensors.get("", "packed").to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(tensors.get("", "packed").shape(), Shape({2, 2}));
  EXPECT_FALSE(tensors.find("else_branch", "w"));
  EXPECT_ERROR(tensors.get("else_branch", "w"), kBadFile, "x.onnx: tensor 'w' is missing in 'else_branch'");
  EXPECT_ERROR(tensors.get("", "one by one"), kUnsupported, "'one by one' is not stored as plain bytes");
  EXPECT_ERROR(tensors.get("", "strange"), kUnsupported, "of a type that Wick does not have");
}

TEST(OnnxTensors, SaysWhatIsWrong) {
  const auto with = [](const std::string& tensor) { return model(bytes(5, tensor)); };
  EXPECT_ERROR(read(""), kBadFile, "x.onnx: byte 0: the file holds no graph");
  EXPECT_ERROR(read("GGUF and more"), kBadFile, "x.onnx: byte ");
  EXPECT_ERROR(read(varint(7 << 3 | 2) + varint(100) + "abc"), kBadFile,
               "byte 2: a value of 100 bytes, but its message has 3 left");
  EXPECT_ERROR(read(varint(7 << 3 | 2) + varint(UINT64_MAX)), kBadFile, "a value of 18446744073709551615 bytes");
  EXPECT_ERROR(read(varint(7 << 3 | 3)), kBadFile, "of the kind 3, which does not exist");
  EXPECT_ERROR(read(std::string(1, '\0')), kBadFile, "the number 0");
  EXPECT_ERROR(read(std::string(11, '\xff')), kBadFile, "more than ten bytes");
  EXPECT_ERROR(read(std::string(3, '\xff')), kBadFile, "a number goes beyond its message");
  EXPECT_ERROR(read(with(tensor("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, ""))), kBadFile, "as number 9 of its shape");
  EXPECT_ERROR(read(with(tensor("w", {UINT64_MAX}, 1, ""))), kBadFile, "a size of 18446744073709551615");
  EXPECT_ERROR(read(with(tensor("w", {1ULL << 40, 1ULL << 40}, 1, ""))), kBadFile, "tensor 'w'");
  EXPECT_ERROR(read(with(tensor("\xff", {1}, 1, ""))), kBadFile, "is no name for a tensor");
  EXPECT_ERROR(read(with(tensor("w", {3}, 1, floats({1, 2})))).get("", "w"), kBadFile, "is f32 [3], but has 8 bytes");
  EXPECT_ERROR(read(with(tensor("w", {2}, 1, "1234567"))).get("", "w"), kBadFile, "but has 7 bytes");
  EXPECT_ERROR(read(with(tensor("w", {1ULL << 62}, 11, floats({1, 2})))).get("", "w"), kBadFile, "but has 8 bytes");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep = branches({{"b", deep}});
  EXPECT_ERROR(read(model(deep)), kBadFile, "graphs are nested deeper than 16");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += branches({{"b", ""}});
  EXPECT_ERROR(read(model(many)), kBadFile, "there are too many");
  EXPECT_ERROR(read(model(branches({{std::string(65, 'b'), ""}}))), kBadFile, "too long a name");
  many.clear();
  for (int i = 0; i < (1 << 17) + 1; ++i) many += bytes(5, "");
  EXPECT_ERROR(read(model(many)), kBadFile, "more than 131072 tensors");
}

// Whatever is listed of a damaged file is inside of it: the sanitizers would notice.
TEST(OnnxTensors, DamagedFilesGetASentence) {
  const std::string good = good_model();
  int errors = 0, fine = 0;
  const auto visit = [&](const std::string& file) {
    try {
      const OnnxTensors tensors = read(file);
      for (const OnnxTensor& entry : tensors.entries()) {
        try {
          fine += tensors.get(entry.branch, entry.name).numel() >= 0;
        } catch (const Error&) {
          ++errors;
        }
      }
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kBadFile) << error.what();
      ++errors;
    }
  };
  for (size_t size = 0; size < good.size(); ++size) visit(good.substr(0, size));
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes)
      bad[random() % bad.size()] = static_cast<char>(random());
    visit(bad);
  }
  EXPECT_GT(errors, 5000);
  EXPECT_GT(fine, 5000);
}

}  // namespace
}  // namespace wick
