#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "formats/checkpoint.h"
#include "formats/gguf/gguf_types.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/safetensors/safetensors_writer.h"
#include "support/damaged_files.h"
#include "support/errors.h"
#include "support/file_bytes.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int files_in(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Bytes that differ from place to place.
std::vector<std::byte> pattern(int64_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i * 7 + seed * 31) & 0x3F);
  return bytes;
}

void expect_bytes(const Checkpoint& checkpoint, const std::string& name, const std::vector<std::byte>& expected) {
  const TensorEntry& entry = *checkpoint.find(name);
  ASSERT_EQ(entry.bytes, static_cast<int64_t>(expected.size()));
  const auto bytes = checkpoint.files()[entry.file]->bytes().subspan(entry.offset, entry.bytes);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin())) << name;
}

// Writes every spec with a pattern, last one first, and reads it back.
template <typename Writer>
Checkpoint round_trip(Writer& writer, const std::vector<TensorSpec>& specs, const fs::path& path) {
  const auto data = [&](size_t i) {
    return pattern(bytes_of(specs[i].dtype, specs[i].shape.numel()), static_cast<int>(i));
  };
  for (size_t i = specs.size(); i-- > 0;) writer.write(specs[i].name, data(i));
  EXPECT_FALSE(fs::exists(path));
  writer.finish();
  EXPECT_EQ(files_in(path.parent_path()), 1);
  const Checkpoint checkpoint = Checkpoint::open(path);
  EXPECT_EQ(checkpoint.entries().size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const TensorEntry* entry = checkpoint.find(specs[i].name);
    if (!entry) {
      ADD_FAILURE() << specs[i].name;
      continue;
    }
    EXPECT_EQ(entry->shape, specs[i].shape);
    EXPECT_EQ(entry->dtype, specs[i].dtype);
    expect_bytes(checkpoint, specs[i].name, data(i));
  }
  return checkpoint;
}

TEST(SafetensorsWriter, RoundTripsEveryDtype) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out.safetensors";
  std::vector<TensorSpec> specs;
  for (const DType dtype : {DType::kU8, DType::kF8E4M3, DType::kI8, DType::kF8E5M2, DType::kF8E8M0, DType::kF16,
                            DType::kBF16, DType::kI32, DType::kU32, DType::kF32, DType::kI64, DType::kF64}) {
    specs.push_back({cat("tensor of ", dtype), dtype, {5, 3}});
  }
  specs.push_back({"scalar \"quoted\" \\ \n \u00e9", DType::kF32, {}});
  specs.push_back({"empty", DType::kF64, {0, 4}});
  Metadata metadata;
  metadata.set_text("format", "pt");
  metadata.set_text("note", "tab\t\"quote\"");
  SafetensorsWriter writer(path, specs, metadata);
  const Checkpoint checkpoint = round_trip(writer, specs, path);
  EXPECT_EQ(checkpoint.metadata().text("note"), "tab\t\"quote\"");
  for (const TensorEntry& entry : checkpoint.entries()) {
    EXPECT_EQ(entry.offset % block_bytes(*entry.dtype), 0) << entry.name << " is not aligned";
  }
}

// The very bytes the format's own library writes for the same tensors: two of f32 and one of u8.
TEST(SafetensorsWriter, WritesTheLibrarysLayout) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out.safetensors";
  Metadata metadata;
  metadata.set_text("format", "pt");
  SafetensorsWriter writer(path, {{"c", DType::kU8, {2}}, {"a", DType::kF32, {1}}, {"b", DType::kF32, {1, 1}}},
                           metadata);
  writer.write("c", from_vector<uint8_t>({1, 2}, {2}));
  writer.write("a", from_vector<float>({1.0f}, {1}));
  writer.write("b", from_vector<float>({2.0f}, {1, 1}));
  writer.finish();
  std::string header = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]},)"
                       R"("c":{"dtype":"U8","shape":[2],"data_offsets":[8,10]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(contents(path), safetensors_bytes(header, 0) + std::string("\0\0\x80\x3f\0\0\0\x40\1\2", 10));
}

TEST(GgufWriter, RoundTripsEveryType) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out.gguf";
  std::vector<TensorSpec> specs;
  for (uint32_t code = 0; code < 64; ++code) {
    const GgufType* type = gguf_type(code);
    if (!type || !type->dtype || gguf_type(*type->dtype) != type) continue;
    specs.push_back({cat("blk.", code, ".weight"), *type->dtype, {3, type->block_weights}});
  }
  EXPECT_EQ(specs.size(), 30u);
  specs.push_back({"deep", DType::kF32, {2, 1, 3, 5}});
  specs.push_back({"scalar", DType::kF32, {}});
  GgufWriter writer(path, {}, specs);
  const Checkpoint checkpoint = round_trip(writer, specs, path);
  for (const TensorEntry& entry : checkpoint.entries()) EXPECT_EQ(entry.offset % 32, 0) << entry.name;
  EXPECT_EQ(fs::file_size(path) % 32, 0u);
}

TEST(GgufWriter, CopiesMetadataVerbatim) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out.gguf";
  Metadata metadata = Checkpoint::parse(file_in_memory(good_gguf(), "good")).metadata();
  EXPECT_ERROR(GgufWriter(path, metadata, {}), kInvalidArgument, "out.gguf: 'nested' holds arrays inside an array");
  metadata.erase("nested");
  metadata.set_u32("general.alignment", 64);
  metadata.set_texts("words", {"a", "", "\xFF"});
  metadata.set_i32s("ids", {1, -1});
  metadata.set_f32s("scores", {0.5f, -2});
  metadata.set_bool("flag", false);
  metadata.set_f32("scale", 0.1f);
  metadata.set_text("general.architecture", "changed");
  GgufWriter writer(path, metadata, {{"a", DType::kI8, {3}}, {"b", DType::kI8, {1}}});
  writer.write("a", pattern(3, 0));
  writer.write("b", pattern(1, 1));
  writer.finish();

  const Checkpoint checkpoint = Checkpoint::open(path);
  const auto& items = checkpoint.metadata().items();
  ASSERT_EQ(items.size(), metadata.items().size());
  for (size_t i = 0; i < items.size(); ++i) {
    const auto& [key, value] = items[i];
    const auto& [expected_key, expected] = metadata.items()[i];
    EXPECT_EQ(key, expected_key);
    EXPECT_EQ(value.type, expected.type) << key;
    if (const auto* array = std::get_if<MetaArray>(&value.value)) {
      const auto& wanted = std::get<MetaArray>(expected.value);
      EXPECT_EQ(array->type, wanted.type);
      EXPECT_EQ(array->count, wanted.count);
      EXPECT_TRUE(std::equal(array->bytes.begin(), array->bytes.end(), wanted.bytes.begin(), wanted.bytes.end()));
    } else {
      EXPECT_TRUE(value.value.index() == expected.value.index()) << key;
    }
  }
  EXPECT_EQ(checkpoint.metadata().text("general.architecture"), "changed");
  EXPECT_EQ(checkpoint.metadata().integer("i64"), -1);
  EXPECT_EQ(checkpoint.metadata().number("scale"), 0.1f);
  EXPECT_EQ(checkpoint.metadata().array("words").texts("words")[2], "\xFF");
  EXPECT_EQ(checkpoint.find("b")->offset % 64, 0);
}

TEST(Writers, RefuseWhatDoesNotFit) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out";
  const auto gguf = [&](const TensorSpec& spec) { GgufWriter(path, {}, {spec}); };
  EXPECT_ERROR(gguf({"a", DType::kU32, {1}}), kInvalidArgument, "out: tensor 'a' of u32: GGUF has no such type");
  EXPECT_ERROR(gguf({std::string(64, 'n'), DType::kF32, {1}}), kInvalidArgument, "has a name of 64 bytes");
  EXPECT_ERROR(gguf({"", DType::kF32, {1}}), kInvalidArgument, "has a name of 0 bytes");
  EXPECT_ERROR(gguf({"a", DType::kF32, {1, 1, 1, 1, 1}}), kInvalidArgument, "tensor 'a' has 5 dimensions");
  EXPECT_ERROR(gguf({"a", DType::kQ4_0, {33}}), kInvalidArgument, "q4_0 [33] does not divide into blocks of 32");
  EXPECT_ERROR(gguf({"a\xFF", DType::kF32, {1}}), kInvalidArgument, "the name 'a\\xff' is not valid UTF-8");
  EXPECT_ERROR(SafetensorsWriter(path, {{"a", DType::kQ4_0, {32}}}), kInvalidArgument,
               "out: tensor 'a' of q4_0: safetensors has no such type");
  EXPECT_ERROR(SafetensorsWriter(path, {{"a", DType::kF32, {1}}, {"a", DType::kF32, {1}}}), kInvalidArgument,
               "out: tensor 'a' is given twice");
  Metadata metadata;
  metadata.set_u32("n", 1);
  EXPECT_ERROR(SafetensorsWriter(path, {}, metadata), kInvalidArgument, "out: the metadata 'n' is not valid text");
  metadata.set_u32("general.alignment", 24);
  EXPECT_ERROR(GgufWriter(path, metadata, {}), kInvalidArgument, "'general.alignment' must be a power of two");
  metadata.erase("general.alignment");
  metadata.set("n", {MetaType::kU8, uint64_t{256}});
  EXPECT_ERROR(GgufWriter(path, metadata, {}), kInvalidArgument, "out: 'n' is 256, which u8 cannot hold");
  metadata.set("n", {MetaType::kText, uint64_t{256}});
  EXPECT_ERROR(GgufWriter(path, metadata, {}), kInvalidArgument, "out: 'n' does not hold text");

  SafetensorsWriter writer(path, {{"a", DType::kF32, {2}}, {"b", DType::kF32, {2}}});
  EXPECT_ERROR(writer.write("c", pattern(8, 0)), kInvalidArgument, "out: tensor 'c' was not declared");
  EXPECT_ERROR(writer.write("a", pattern(7, 0)), kInvalidArgument,
               "out: tensor 'a' was declared as f32 [2], 8 bytes, but 7 are given");
  EXPECT_ERROR(writer.write("a", zeros({2, 1})), kInvalidArgument,
               "out: tensor 'a' was declared as f32 [2] but f32 [2, 1] is given");
  writer.write("a", zeros({2}));
  EXPECT_ERROR(writer.write("a", zeros({2})), kInvalidArgument, "out: tensor 'a' was written already");
  EXPECT_ERROR(writer.finish(), kInvalidArgument, "out: tensor 'b' was never written");
  EXPECT_FALSE(fs::exists(path));
}

TEST(Writers, LeaveNothingBehindAndKeepTheOldFile) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out.gguf";
  std::ofstream(path) << "old";
  {
    GgufWriter writer(path, {}, {{"a", DType::kF32, {2}}});
    writer.write("a", zeros({2}));
    EXPECT_EQ(contents(path), "old");
  }
  EXPECT_EQ(files_in(folder.path()), 1);
  EXPECT_EQ(contents(path), "old");
  EXPECT_ERROR(GgufWriter(folder.path() / "no" / "out.gguf", {}, {}), kIo, "out.gguf: cannot create: No such file");
  EXPECT_ERROR(GgufWriter(folder.path(), {}, {}), kIo, "cannot write: Is a directory");
}

#if defined(__linux__)
// A limit on the size of files stands in for a disk that is full.
TEST(Writers, AFullDiskIsAnErrorAndLeavesNothing) {
  const TempFolder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_ERROR(GgufWriter(folder.path() / "a.gguf", {}, {{"a", DType::kF32, {1 << 20}}}), kIo,
               "a.gguf: cannot write: File too large");
  EXPECT_ERROR(SafetensorsWriter(folder.path() / "a.safetensors", {{"a", DType::kF32, {1 << 20}}}), kIo,
               "a.safetensors: cannot write: File too large");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(files_in(folder.path()), 0);
}
#endif

}  // namespace
}  // namespace wick
