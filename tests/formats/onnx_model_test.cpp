// Files put together by hand, so that they can be wrong in every way.
#include "formats/onnx/onnx_model.h"

#include <gtest/gtest.h>

#include "formats/npy_reader.h"
#include "formats/npy_writer.h"
#include "support/errors.h"
#include "support/file_bytes.h"
#include "support/onnx_builder.h"
#include "tensor/create.h"

namespace wick {
namespace {

using onnx_file::bytes;
using onnx_file::GraphText;
using onnx_file::number;
using onnx_file::varint;

OnnxModel read(const std::string& file) { return OnnxModel::read(file_in_memory(file, "x.onnx")); }

TEST(OnnxModel, ReadsWhatIsThere) {
  const OnnxModel model = read(GraphText()
                                   .input("x", {2, -5})
                                   .constant("w", tensor({1.f, 2.f}))
                                   .node("Conv", {"x", "", "w"}, {"y"},
                                         {{"pads", std::vector<int64_t>{1, -2}},
                                          {"alpha", 0.5f},
                                          {"mode", std::string("same")},
                                          {"body", {}, GraphText().output("z", {}).text()}})
                                   .output("y", {2, 2}, onnx_file::kI64)
                                   .model(13));
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.producer, "test");
  ASSERT_EQ(model.opsets.size(), 3U);
  EXPECT_EQ(model.opsets[0].version, 13);
  ASSERT_EQ(model.graph.nodes.size(), 1U);
  const OnnxNode& node = model.graph.nodes[0];
  EXPECT_EQ(node.op, "Conv");
  EXPECT_EQ(node.inputs, (std::vector<std::string_view>{"x", "", "w"}));
  EXPECT_EQ(node.attributes[0].ints, (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(node.attributes[1].f, 0.5f);
  EXPECT_EQ(node.attributes[2].s, "same");
  EXPECT_EQ(node.attributes[3].graphs.at(0).outputs.at(0).name, "z");
  EXPECT_EQ(model.graph.initializers.at(0).dims, std::vector<int64_t>{2});
  EXPECT_EQ(model.graph.initializers.at(0).raw.size(), 8U);
  ASSERT_TRUE(model.graph.inputs.at(0).type.dims);
  EXPECT_EQ(model.graph.inputs[0].type.dims->at(0).size, 2);
  EXPECT_EQ(model.graph.inputs[0].type.dims->at(1).name, "d5");
  EXPECT_EQ(model.graph.outputs.at(0).type.element, onnx_file::kI64);
}

TEST(OnnxModel, SaysWhatIsWrong) {
  EXPECT_ERROR(read(""), kBadFile, "x.onnx: byte 0: the file holds no graph");
  EXPECT_ERROR(read("GGUF and more"), kBadFile, "x.onnx: byte ");
  EXPECT_ERROR(read(varint(7 << 3 | 2) + varint(100) + "abc"), kBadFile,
               "byte 2: a value of 100 bytes, but its message has 3 left");
  EXPECT_ERROR(read(bytes(7, "") + bytes(7, "")), kBadFile, "the file holds two graphs");
  EXPECT_ERROR(read(bytes(7, bytes(1, bytes(4, "\xFF\xFE")))), kBadFile, "is no text");
  EXPECT_ERROR(read(bytes(7, bytes(1, bytes(4, std::string(5000, 'x'))))), kBadFile, "a name has more than 4096 bytes");
  EXPECT_ERROR(read(bytes(7, bytes(5, bytes(3, "")))), kBadFile, "a tensor is stored in segments");
  EXPECT_ERROR(read(bytes(7, bytes(1, bytes(5, bytes(7, "12345"))))), kBadFile, "a list of floats ends inside one");
  std::string nested = "";
  for (int i = 0; i < 20; ++i) nested = bytes(1, bytes(5, bytes(6, nested)));
  EXPECT_ERROR(read(bytes(7, nested)), kBadFile, "graphs are nested deeper than 16");
  std::string many;
  for (int i = 0; i < (1 << 20) + 1; ++i) many += bytes(1, "");
  EXPECT_ERROR(read(bytes(7, many)), kBadFile, "the model has more than 1048576 parts");
}

TEST(Npy, ReadsWhatItWrites) {
  const Tensor x = randn({3, 1, 5}, 1);
  const std::string file = npy_bytes(x);
  const NpyArray array = read_npy(std::as_bytes(std::span(file)), "x.npy");
  EXPECT_EQ(array.type, "<f4");
  EXPECT_EQ(array.dims, (std::vector<int64_t>{3, 1, 5}));
  EXPECT_EQ(std::memcmp(array.bytes.data(), x.raw(), array.bytes.size()), 0);
  const auto archive = file_in_memory(npz_bytes({{"a.npy", file}, {"b.npy", npy_bytes(scalar(2))}}), "x.npz");
  const auto arrays = read_npz(*archive);
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].first, "a");
  EXPECT_EQ(arrays[1].first, "b");
  EXPECT_EQ(arrays[0].second.dims, array.dims);
  EXPECT_TRUE(arrays[1].second.dims.empty());
  const auto bad = [](const std::string& text) { return read_npy(std::as_bytes(std::span(text)), "x.npy"); };
  EXPECT_ERROR(bad("PK"), kBadFile, "is no .npy file");
  EXPECT_ERROR(bad(file.substr(0, 40)), kBadFile, "x.npy");
  std::string columns = file;
  columns.replace(columns.find("False"), 5, "True ");
  EXPECT_ERROR(bad(columns), kBadFile, "is in column order");
  EXPECT_ERROR(read_npz(*file_in_memory(std::string(100, 'x'), "x.npz")), kBadFile, "is no .npz file");
  for (size_t cut = 1; cut < 120; cut += 7) {
    const std::string whole(reinterpret_cast<const char*>(archive->bytes().data()), archive->bytes().size());
    EXPECT_ERROR(read_npz(*file_in_memory(whole.substr(cut), "x.npz")), kBadFile, "x.npz");
  }
}

}  // namespace
}  // namespace wick
