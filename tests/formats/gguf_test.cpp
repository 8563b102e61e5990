#include "formats/gguf/gguf.h"

#include <gtest/gtest.h>

#include "formats/gguf/gguf_types.h"
#include "support/damaged_files.h"
#include "support/errors.h"
#include "support/file_bytes.h"

namespace wick {
namespace {

Checkpoint open(const std::string& bytes) { return Checkpoint::parse(file_in_memory(bytes, "model.gguf")); }

TEST(Gguf, ReadsEveryKindOfValue) {
  const Checkpoint checkpoint = open(good_gguf());
  const Metadata& metadata = checkpoint.metadata();
  EXPECT_EQ(checkpoint.kind(), Checkpoint::Kind::kGguf);
  EXPECT_EQ(metadata.text("general.architecture"), "tiny");
  EXPECT_EQ(metadata.integer("u8"), 200);
  EXPECT_EQ(metadata.integer("i8"), -3);
  EXPECT_EQ(metadata.integer("u16"), 60000);
  EXPECT_EQ(metadata.integer("i16"), -30000);
  EXPECT_EQ(metadata.integer("i32"), -7);
  EXPECT_EQ(metadata.integer("i64"), -1);
  EXPECT_EQ(metadata.number("f32"), 1.5);
  EXPECT_EQ(metadata.number("f64"), 0.1);
  EXPECT_EQ(metadata.number("i8"), -3);
  EXPECT_TRUE(metadata.boolean("bool"));
  EXPECT_EQ(metadata.array("texts").texts("texts"), (std::vector<std::string_view>{"one", ""}));
  EXPECT_EQ(metadata.array("numbers").integers("numbers"), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(metadata.array("numbers").numbers("numbers"), (std::vector<double>{1, -2, 3}));
  EXPECT_EQ(metadata.array("nested").type, MetaType::kArray);
  EXPECT_EQ(metadata.array("nested").bytes.size(), 28u);
}

TEST(Gguf, EveryWrongKindIsNamed) {
  const Checkpoint checkpoint = open(good_gguf());
  const Metadata& metadata = checkpoint.metadata();
  EXPECT_ERROR(metadata.text("no"), kBadFile, "model.gguf: 'no' is missing");
  EXPECT_ERROR(metadata.text("u8"), kBadFile, "model.gguf: 'u8' is u8, expected text");
  EXPECT_ERROR(metadata.integer("f32"), kBadFile, "model.gguf: 'f32' is f32, expected an integer");
  EXPECT_ERROR(metadata.integer("u64"), kBadFile, "model.gguf: 'u64' is 9223372036854775808, which is out of range");
  EXPECT_ERROR(metadata.number("texts"), kBadFile, "model.gguf: 'texts' is array, expected a number");
  EXPECT_ERROR(metadata.boolean("u8"), kBadFile, "model.gguf: 'u8' is u8, expected true or false");
  EXPECT_ERROR(metadata.array("u8"), kBadFile, "model.gguf: 'u8' is u8, expected an array");
  EXPECT_ERROR(metadata.array("numbers").texts("numbers"), kBadFile,
               "model.gguf: 'numbers' is an array of i32, expected an array of text");
  EXPECT_ERROR(metadata.array("texts").integers("texts"), kBadFile,
               "model.gguf: 'texts' is an array of text, expected an array of integers");
  EXPECT_ERROR(metadata.array("nested").numbers("nested"), kBadFile,
               "model.gguf: 'nested' is an array of array, expected an array of numbers");
}

TEST(Gguf, ReadsTensorsOutermostFirst) {
  const Checkpoint checkpoint = open(good_gguf());
  ASSERT_EQ(checkpoint.entries().size(), 3u);
  const TensorEntry& weight = *checkpoint.find("weight");
  EXPECT_EQ(weight.shape, Shape({2, 256}));
  EXPECT_EQ(weight.type, "Q4_K");
  EXPECT_EQ(weight.dtype, DType::kQ4_K);
  EXPECT_EQ(weight.bytes, 288);
  EXPECT_EQ(checkpoint.get("weight").shape(), Shape({2, 256}));
  EXPECT_EQ(checkpoint.get("ids").to_vector<int32_t>(), (std::vector<int32_t>{0x0101, 0x0101}));
}

TEST(Gguf, TypesAgreeWithTheirDtypes) {
  int known = 0;
  for (uint32_t code = 0; code < 64; ++code) {
    const GgufType* type = gguf_type(code);
    if (!type) continue;
    ++known;
    SCOPED_TRACE(type->name);
    if (!type->dtype || type->name == "I16") continue;
    EXPECT_EQ(type->block_weights, block_weights(*type->dtype));
    EXPECT_EQ(type->block_bytes, block_bytes(*type->dtype));
    EXPECT_EQ(gguf_type(*type->dtype), type);
  }
  EXPECT_EQ(known, 32);
  EXPECT_EQ(gguf_type(DType::kU32), nullptr);
  EXPECT_EQ(gguf_type(DType::kGroup4), nullptr);
}

TEST(Gguf, Version2AndOtherAlignments) {
  EXPECT_EQ(open(GgufBytes(0, 0, 2).bytes()).entries().size(), 0u);
  for (const uint32_t alignment : {1u, 8u, 64u, 4096u}) {
    GgufBytes file(2, 1);
    file.key("general.alignment", 4).add(alignment);
    const uint64_t second = (3 + alignment - 1) / alignment * alignment;
    file.tensor("a", {3}, 24, 0).tensor("b", {1}, 0, second).pad(alignment).data(3).pad(alignment).add(2.5f);
    EXPECT_EQ(open(file.bytes()).get("b").item(), 2.5) << alignment;
  }
}

// A writer that does not know of mappings may change a file under them.
TEST(Gguf, TextsThatChangedAreFound) {
  auto bytes = std::make_shared<std::string>(GgufBytes(0, 1).array("k", 8, 1).text("abcdefgh").bytes());
  const Checkpoint checkpoint = Checkpoint::parse(MappedFile::in_memory("m", std::as_bytes(std::span(*bytes)), bytes));
  EXPECT_EQ(checkpoint.metadata().array("k").texts("k")[0], "abcdefgh");
  bytes->at(bytes->size() - 16) = 9;
  EXPECT_ERROR(checkpoint.metadata().array("k").texts("k"), kBadFile, "m: 'k' changed while the file was open");
}

TEST(Gguf, KeysAreLimited) {
  EXPECT_ERROR(open(GgufBytes(0, 70000).data(1 << 20).bytes()), kBadFile,
               "model.gguf: the header claims 70000 keys, the most is 65536");
}

TEST(Gguf, OrderGapsAndEmptyTensors) {
  GgufBytes file(3, 0);
  file.tensor("late", {1}, 24, 96).tensor("none", {0, 5}, 0, 0).tensor("early", {1}, 24, 0).pad().data(97);
  const Checkpoint checkpoint = open(file.bytes());
  EXPECT_EQ(checkpoint.entries()[0].name, "none");
  EXPECT_EQ(checkpoint.entries()[1].name, "early");
  EXPECT_EQ(checkpoint.entries()[2].name, "late");
  EXPECT_EQ(checkpoint.get("none").numel(), 0);
}

}  // namespace
}  // namespace wick
