#include "support/damaged_files.h"

#include "support/file_bytes.h"

namespace wick {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4K = 12;
constexpr uint64_t kHuge = uint64_t{1} << 62;

std::string one_tensor(const std::string& fields) { return cat("{\"a\":{", fields, "}}"); }

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// One f32 tensor 'a' of 8 elements, with the offset given.
GgufBytes with_offset(uint64_t offset) { return GgufBytes(1, 0).tensor("a", {8}, kF32, offset).pad().data(64); }

GgufBytes nested_array(int depth) {
  GgufBytes file(0, 1);
  file.key("k", 9);
  for (int i = 1; i < depth; ++i) file.add(uint32_t{9}).add(uint64_t{1});
  return file.add(uint32_t{0}).add(uint64_t{1}).add(uint8_t{7});
}

constexpr GgmlBytes::Settings kGgmlSettings = {9, 4, 32, 2, 1, 8, 32, 2, 1, 1, 2008};

GgmlBytes ggml_with(int setting, int32_t value) {
  GgmlBytes::Settings settings = kGgmlSettings;
  settings[static_cast<size_t>(setting)] = value;
  return GgmlBytes(settings);
}

GgmlBytes ggml_tensor(std::string_view name, const std::vector<int32_t>& sizes, uint32_t type) {
  return GgmlBytes(kGgmlSettings).vocabulary({"a"}).tensor(name, sizes, type);
}

}  // namespace

std::string good_safetensors() {
  return safetensors_bytes(R"({"__metadata__":{"format":"pt","note":"a \"b\" \u00e9 \ud83d\ude00"},)"
                           R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
                           R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                           R"("h":{"dtype":"I16","shape":[2],"data_offsets":[4,8]},)"
                           R"("u":{"dtype":"U64","shape":[1],"data_offsets":[20,28]},)"
                           R"("four":{"dtype":"F4","shape":[4],"data_offsets":[28,30],"extra":[1,{"x":null}]},)"
                           R"("none":{"dtype":"U8","shape":[0,7],"data_offsets":[30,30]}})",
                           30);
}

std::string good_gguf() {
  GgufBytes file(3, 15);
  file.key("general.architecture", 8).text("tiny");
  file.key("general.alignment", 4).add(uint32_t{32});
  file.key("u8", 0).add(uint8_t{200});
  file.key("i8", 1).add(int8_t{-3});
  file.key("u16", 2).add(uint16_t{60000});
  file.key("i16", 3).add(int16_t{-30000});
  file.key("i32", 5).add(int32_t{-7});
  file.key("f32", 6).add(1.5f);
  file.key("bool", 7).add(uint8_t{1});
  file.key("u64", 10).add(uint64_t{1} << 63);
  file.key("i64", 11).add(int64_t{-1});
  file.key("f64", 12).add(0.1);
  file.array("texts", 8, 2).text("one").text("");
  file.array("numbers", 5, 3).add(int32_t{1}).add(int32_t{-2}).add(int32_t{3});
  file.array("nested", 9, 2).add(uint32_t{4}).add(uint64_t{1}).add(uint32_t{9}).add(uint32_t{7}).add(uint64_t{0});
  file.tensor("weight", {256, 2}, kQ4K, 0).tensor("bias", {3}, kF32, 288).tensor("ids", {2}, 25, 320);
  return file.pad().data(288).data(12).pad().data(4).bytes();
}

std::string good_ggml() {
  GgmlBytes file(kGgmlSettings);
  file.vocabulary({"a", "", "\xFF"});
  file.tensor("decoder.blocks.0.attn.query.weight", {32, 2}, 8).data(std::string(2 * 34, '\x01'));
  file.tensor("encoder.conv1.bias", {1, 3}, kF32).data(std::string(12, '\x01'));
  return file.tensor("odd", {3}, 1).data("123456").bytes();
}

std::string good_index() {
  return R"({"metadata":{"total_size":12,"deep":[[{}]]},"weight_map":{"a":"x-1.safetensors","b":"x-2.safetensors"}})";
}

std::vector<DamagedFile> damaged_safetensors() {
  const auto tensor = [](const std::string& fields, size_t bytes) {
    return safetensors_bytes(one_tensor(fields), bytes);
  };
  const auto deep = cat("{\"a\":{\"x\":", nested(65), "}}");
  return {
      {"empty", "", "has 0 bytes, too short for a safetensors file"},
      {"short", "abc", "has 3 bytes, too short for a safetensors file"},
      {"header past the end", safetensors_bytes("{}", 0, 64), "the header claims 64 bytes but the file has 10"},
      {"huge header", safetensors_bytes("{}", 0, INT64_MAX),
       "the header claims 9223372036854775807 bytes but the file has 10"},
      {"no json", safetensors_bytes("nonsense", 0), "not valid JSON at byte 0: expected an object"},
      {"a list", safetensors_bytes("[1]", 0), "the header is a list, expected an object"},
      {"text after the header", safetensors_bytes("{}x", 0),
       "not valid JSON at byte 2: text after the end of the document"},
      {"cut inside a name", safetensors_bytes("{\"ab", 0), "not valid JSON at byte 4: text without a closing quote"},
      {"invalid UTF-8 name", safetensors_bytes("{\"\xC3(\":{}}", 0), "not valid JSON at byte 2: invalid UTF-8"},
      {"half a surrogate", safetensors_bytes("{\"\\ud800\":{}}", 0),
       "not valid JSON at byte 8: half of a surrogate pair"},
      {"deep nesting", safetensors_bytes(deep, 0), "not valid JSON at byte 74: nested more than 64 levels deep"},
      {"dtype missing", tensor(R"("shape":[],"data_offsets":[0,4])", 4), "tensor 'a': 'dtype' is missing"},
      {"shape missing", tensor(R"("dtype":"F32","data_offsets":[0,4])", 4), "tensor 'a': 'shape' is missing"},
      {"offsets missing", tensor(R"("dtype":"F32","shape":[1])", 4), "tensor 'a': 'data_offsets' is missing"},
      {"field twice", tensor(R"("dtype":"F32","dtype":"F32")", 4), "tensor 'a': 'dtype' is given twice"},
      {"dtype of the wrong kind", tensor(R"("dtype":3)", 4), "tensor 'a': 'dtype' is a number, expected text"},
      {"unknown dtype", tensor(R"("dtype":"F33")", 4), "tensor 'a': dtype 'F33' is not one of the format"},
      {"shape of text", tensor(R"("shape":["1"])", 4), "tensor 'a': 'shape' is text, expected a whole number"},
      {"fractional shape", tensor(R"("shape":[1.5])", 4), "tensor 'a': 'shape' is '1.5', expected a whole number"},
      {"number too large", tensor(R"("shape":[9223372036854775808])", 4),
       "tensor 'a': 'shape' is '9223372036854775808', which is out of range"},
      {"negative size", tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4),
       "tensor 'a': shape: [-1] has the negative size -1"},
      {"rank", tensor(R"("shape":[1,1,1,1,1,1,1,1,1])", 4), "tensor 'a': 'shape' has more than 8 dimensions"},
      {"product overflow",
       tensor(R"("dtype":"U8","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,0])", 0),
       "tensor 'a': shape: [4611686018427387904, 4611686018427387904] has more elements than 63 bits can count"},
      {"byte overflow", tensor(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])", 0),
       "tensor 'a': F32 [4611686018427387904] does not take the 0 bytes of its data_offsets"},
      {"wrong size", tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4),
       "tensor 'a': F32 [2] does not take the 4 bytes of its data_offsets"},
      {"half a byte", tensor(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])", 1),
       "tensor 'a': F4 [3] does not take the 1 bytes of its data_offsets"},
      {"zero dimension with bytes", tensor(R"("dtype":"F32","shape":[0,4],"data_offsets":[0,4])", 4),
       "tensor 'a': F32 [0, 4] does not take the 4 bytes of its data_offsets"},
      {"one offset", tensor(R"("data_offsets":[0])", 4), "tensor 'a': 'data_offsets' is not [begin, end]"},
      {"three offsets", tensor(R"("data_offsets":[0,1,2])", 4), "tensor 'a': 'data_offsets' has more than two numbers"},
      {"offsets backwards", tensor(R"("data_offsets":[4,0])", 4), "tensor 'a': 'data_offsets' is not [begin, end]"},
      {"negative offset", tensor(R"("data_offsets":[-4,0])", 4), "tensor 'a': 'data_offsets' is not [begin, end]"},
      {"data too short", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 3),
       "the tensors end at byte 4 of the data but it has 3"},
      {"data left over", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 9),
       "the tensors end at byte 4 of the data but it has 9"},
      {"gap", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 8),
       "tensor 'a' begins at byte 4 of the data, expected 0 (gap)"},
      {"overlap",
       safetensors_bytes(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                         R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                         6),
       "tensor 'b' begins at byte 2 of the data, expected 4 (overlap)"},
      {"name twice",
       safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                         2),
       "tensor 'a' is listed twice"},
      {"metadata twice", safetensors_bytes(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "the name '__metadata__' is given twice"},
      {"metadata key twice", safetensors_bytes(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
       "'__metadata__': the name 'k' is given twice"},
      {"metadata of numbers", safetensors_bytes(R"({"__metadata__":{"k":1}})", 0),
       "'__metadata__': 'k' is a number, expected text"},
  };
}

std::vector<DamagedFile> damaged_gguf() {
  const auto tensor = [](std::vector<uint64_t> sizes, uint32_t type) {
    return GgufBytes(1, 0).tensor("a", sizes, type, 0).pad().data(64).bytes();
  };
  return {
      {"magic only", "GGUF", "the header needs 4 bytes at byte 4 but the file has 4"},
      {"version 1", GgufBytes(0, 0, 1).bytes(), "is GGUF version 1, Wick reads versions 2 and 3"},
      {"version 4", GgufBytes(0, 0, 4).bytes(), "is GGUF version 4, Wick reads versions 2 and 3"},
      {"big endian", GgufBytes(0, 0, 0x03000000).bytes(), "is a big-endian GGUF file, Wick reads little-endian ones"},
      {"tensor count", GgufBytes(kHuge, 0).data(48).bytes(),
       "the header claims 4611686018427387904 tensors but the file has 48 bytes left"},
      {"key count", GgufBytes(0, UINT64_MAX).data(48).bytes(),
       "the header claims 18446744073709551615 keys but the file has 48 bytes left"},
      {"key longer than the file", GgufBytes(0, 1).add(kHuge).data(20).bytes(),
       "key 0 claims a text of 4611686018427387904 bytes at byte 32 but the file has 52"},
      {"empty key", GgufBytes(0, 1).key("", 0).add(uint64_t{1}).bytes(), "key '' is empty"},
      {"invalid UTF-8 key", GgufBytes(0, 1).key("a\xFF", 0).add(uint8_t{1}).bytes(), "key 'a\\xff' is not valid UTF-8"},
      {"key twice", GgufBytes(0, 2).key("k", 0).add(uint8_t{1}).key("k", 0).add(uint8_t{1}).bytes(),
       "key 'k' is given twice"},
      {"unknown type", GgufBytes(0, 1).key("k", 13).add(uint8_t{1}).bytes(), "key 'k' has the unknown type 13"},
      {"value cut", GgufBytes(0, 1).key("k", 10).add(uint32_t{1}).bytes(),
       "key 'k' needs 8 bytes at byte 37 but the file has 41"},
      {"text longer than the file", GgufBytes(0, 1).key("k", 8).add(UINT64_MAX).bytes(),
       "key 'k' claims a text of 18446744073709551615 bytes at byte 45 but the file has 45"},
      {"bool of 2", GgufBytes(0, 1).key("k", 7).add(uint8_t{2}).bytes(), "key 'k' holds the bool 2, expected 0 or 1"},
      {"bool array", GgufBytes(0, 1).array("k", 7, 2).add(uint8_t{1}).add(uint8_t{9}).bytes(),
       "key 'k' holds the bool 9, expected 0 or 1"},
      {"wrong array element type", GgufBytes(0, 1).array("k", 99, 1).add(uint8_t{1}).bytes(),
       "key 'k' has the unknown array element type 99"},
      {"array longer than the file", GgufBytes(0, 1).array("k", 10, kHuge).bytes(),
       "key 'k' claims an array of 4611686018427387904 u64 elements but the file has 0 bytes left"},
      {"array of texts longer than the file", GgufBytes(0, 1).array("k", 8, 3).text("abc").bytes(),
       "key 'k' claims an array of 3 text elements but the file has 11 bytes left"},
      {"text in an array longer than the file", GgufBytes(0, 1).array("k", 8, 1).add(uint64_t{5}).bytes(),
       "key 'k' claims a text of 5 bytes at byte 57 but the file has 57"},
      {"arrays in arrays", nested_array(9).bytes(), "key 'k' holds arrays nested more than 8 levels deep"},
      {"alignment of 0", GgufBytes(0, 1).key("general.alignment", 4).add(uint32_t{0}).bytes(),
       "'general.alignment' is 0, expected a power of two"},
      {"alignment of 24", GgufBytes(0, 1).key("general.alignment", 4).add(uint32_t{24}).bytes(),
       "'general.alignment' is 24, expected a power of two"},
      {"alignment of text", GgufBytes(0, 1).key("general.alignment", 8).text("32").bytes(),
       "'general.alignment' is text, expected an integer"},
      {"alignment past the end",
       GgufBytes(1, 1).key("general.alignment", 4).add(uint32_t{1} << 31).tensor("a", {0}, kF32, 0).data(32).bytes(),
       "tensor 'a' takes 0 bytes from byte 0 of the data, which has 0"},
      {"empty name", GgufBytes(1, 0).tensor("", {1}, kF32, 0).pad().data(4).bytes(), "tensor 0 has an empty name"},
      {"invalid UTF-8 name", GgufBytes(1, 0).tensor("\xED\xA0\x80", {1}, kF32, 0).pad().data(4).bytes(),
       "tensor '\\xed\\xa0\\x80' has a name that is not valid UTF-8"},
      {"name twice", GgufBytes(2, 0).tensor("a", {1}, kF32, 0).tensor("a", {1}, kF32, 32).pad().data(64).bytes(),
       "tensor 'a' is listed twice"},
      {"rank", GgufBytes(1, 0).text("a").add(uint32_t{4000000000}).data(64).bytes(),
       "tensor 'a' has 4000000000 dimensions, the most is 8"},
      {"size past 63 bits", tensor({UINT64_MAX}, kF32), "tensor 'a' has a dimension of 18446744073709551615 elements"},
      {"product overflow", tensor({kHuge, kHuge}, kF32),
       "tensor 'a' has a bad shape: [4611686018427387904, 4611686018427387904] has more elements than 63 bits can "
       "count"},
      {"byte overflow", tensor({kHuge}, kF32),
       "tensor 'a' of F32 [4611686018427387904] has more bytes than 63 bits can count"},
      {"absurd block count", tensor({uint64_t{1} << 50}, kQ4K),
       "tensor 'a' takes 633318697598976 bytes from byte 0 of the data, which has 64"},
      {"part of a block", tensor({100}, kQ4K),
       "tensor 'a' has rows of 100 elements, which do not divide into the Q4_K blocks of 256"},
      {"scalar of blocks", tensor({}, kQ4K),
       "tensor 'a' has rows of 1 elements, which do not divide into the Q4_K blocks of 256"},
      {"unknown tensor type", tensor({1}, 31), "tensor 'a' has the unknown type 31"},
      {"unaligned offset", with_offset(8).bytes(), "tensor 'a' has the offset 8, which is not a multiple of 32"},
      {"huge offset", with_offset(uint64_t{1} << 63).bytes(),
       "tensor 'a' has the offset 9223372036854775808, which is not a multiple of 32"},
      {"offset past the end", with_offset(64).bytes(),
       "tensor 'a' takes 32 bytes from byte 64 of the data, which has 64"},
      {"offset near the limit", with_offset(INT64_MAX - 31).bytes(),
       "tensor 'a' takes 32 bytes from byte 9223372036854775776 of the data, which has 64"},
      {"data cut", GgufBytes(1, 0).tensor("a", {8}, kF32, 0).pad().data(31).bytes(),
       "tensor 'a' takes 32 bytes from byte 0 of the data, which has 31"},
      {"overlap", GgufBytes(2, 0).tensor("a", {16}, kF32, 0).tensor("b", {8}, kF32, 32).pad().data(64).bytes(),
       "tensor 'b' begins at byte 32 of the data, inside 'a', which ends at 64"},
  };
}

std::vector<DamagedFile> damaged_ggml() {
  const std::string header(44, '\0');
  return {
      {"magic only", "lmgg", "the header needs 44 bytes at byte 4 but the file has 4"},
      {"another model", cat("lmgg", header, std::string(64, '\x02')),
       "is a ggml file from before GGUF and not one of Whisper; convert the model again"},
      {"other frequencies", GgmlBytes(kGgmlSettings, 200).bytes(),
       "is a ggml file from before GGUF and not one of Whisper; convert the model again"},
      {"no vocabulary", ggml_with(0, 0).bytes(), "the header has 0 as setting 1, expected 1 to 16777216"},
      {"negative layers", ggml_with(4, -1).bytes(), "the header has -1 as setting 5, expected 1 to 16777216"},
      {"many heads", ggml_with(7, INT32_MAX).bytes(), "the header has 2147483647 as setting 8, expected 1 to 16777216"},
      {"two widths", ggml_with(6, 64).bytes(), "the header has an encoder of width 32 and a decoder of 64"},
      {"old blocks", ggml_with(10, 1002).bytes(),
       "the header has blocks of version 1, Wick reads version 2; quantise the model again"},
      {"filters cut", GgmlBytes(kGgmlSettings).bytes().substr(0, 100),
       "the header needs 804 bytes at byte 56 but the file has 100"},
      {"more tokens than bytes", GgmlBytes(kGgmlSettings).add(int32_t{9}).add(int32_t{1}).bytes(),
       "the vocabulary claims 9 tokens, the model has 9 and the file 4 bytes left"},
      {"more tokens than settings", GgmlBytes(kGgmlSettings).add(int32_t{10}).data(std::string(99, '\0')).bytes(),
       "the vocabulary claims 10 tokens, the model has 9 and the file 99 bytes left"},
      {"long token", GgmlBytes(kGgmlSettings).add(int32_t{1}).add(UINT32_MAX).bytes(),
       "token 0 needs 4294967295 bytes at byte 868 but the file has 868"},
      {"rank", ggml_tensor("a", {1, 1, 1, 1, 1, 1, 1, 1, 1}, kF32).bytes(),
       "tensor 0 has 9 dimensions, expected 1 to 8"},
      {"no rank", ggml_tensor("a", {}, kF32).bytes(), "tensor 0 has 0 dimensions, expected 1 to 8"},
      {"negative size", ggml_tensor("a", {-2}, kF32).bytes(), "tensor 0 has a dimension of -2 elements"},
      {"product overflow", ggml_tensor("a", {INT32_MAX, INT32_MAX, INT32_MAX}, kF32).bytes(),
       "tensor 0 has a bad shape: [2147483647, 2147483647, 2147483647] has more elements than 63 bits can count"},
      {"byte overflow", ggml_tensor("a", {INT32_MAX, INT32_MAX, 2}, kF32).bytes(),
       "tensor 'a' of F32 [2, 2147483647, 2147483647] has more bytes than 63 bits can count"},
      {"no name", ggml_tensor("", {1}, kF32).bytes(), "tensor 0 has a name of 0 bytes"},
      {"invalid UTF-8 name", ggml_tensor("\xFF", {1}, kF32).bytes(), "tensor 0 has a name that is not valid UTF-8"},
      {"unknown type", ggml_tensor("a", {1}, 99).bytes(), "tensor 'a' has the unknown type 99"},
      {"part of a block", ggml_tensor("a", {33}, 8).bytes(),
       "tensor 'a' has rows of 33 elements, which do not divide into the Q8_0 blocks of 32"},
      {"data cut", ggml_tensor("a", {2}, kF32).data("1234567").bytes(),
       "tensor 'a' needs 8 bytes at byte 886 but the file has 893"},
      {"name twice", ggml_tensor("a", {0}, kF32).tensor("a", {0}, kF32).bytes(), "tensor 'model.a' is listed twice"},
  };
}

std::vector<DamagedFile> damaged_indexes() {
  const auto map = [](const std::string& items) { return cat(R"({"weight_map":{)", items, "}}"); };
  return {
      {"no map", "{        }", "'weight_map' is missing"},
      {"empty map", map(""), "'weight_map' names no tensor"},
      {"map of the wrong kind", R"({"weight_map":[]})", "'weight_map' is a list, expected an object"},
      {"map twice", R"({"weight_map":{"a":"x"},"weight_map":{}})", "the name 'weight_map' is given twice"},
      {"file of the wrong kind", map(R"("a":1)"), "'weight_map': 'a' is a number, expected text"},
      {"tensor twice", map(R"("a":"x","a":"x")"), "tensor 'a' is listed twice"},
      {"a folder", map(R"("a":"sub/x.safetensors")"), "the shard name 'sub/x.safetensors' is not a plain file name"},
      {"up and away", map(R"("a":"..")"), "the shard name '..' is not a plain file name"},
      {"backslash", map(R"("a":"c:\\x")"), "the shard name 'c:\\x' is not a plain file name"},
      {"zero byte", map(R"("a":"x\u0000y")"), "the shard name 'x\\x00y' is not a plain file name"},
      {"no name", map(R"("a":"")"), "the shard name '' is not a plain file name"},
      {"deep nesting", cat(R"({"metadata":)", nested(65), "}"),
       "not valid JSON at byte 76: nested more than 64 levels deep"},
      {"deep objects",
       [] {
         std::string text = R"({"metadata":)";
         for (int i = 0; i < 100; ++i) text += R"({"a":)";
         return text;
       }(),
       "not valid JSON at byte 332: nested more than 64 levels deep"},
      {"cut", R"({"weight_map":{"a":"x")", "not valid JSON at byte 22: expected ',' or '}'"},
      {"comma at the end", R"({"weight_map":{"a":"x",}})", "not valid JSON at byte 23: expected a name in quotes"},
      {"invalid UTF-8", map("\"\xFF\":\"x\""), "not valid JSON at byte 16: invalid UTF-8"},
  };
}

}  // namespace wick
