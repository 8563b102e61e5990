// PyTorch's archives: read without carrying out what their pickles name.
#include "support/torch_archive.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/checkpoint.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

class TorchArchive : public testing::Test {
 protected:
  static std::string floats(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
  static std::string archive(const std::string& pickle, const std::string& data = floats({1, 2, 3, 4, 5, 6, 7, 8})) {
    ZipWriter zip;
    zip.add("linear/data.pkl", pickle);
    zip.add("linear/byteorder", "little");
    zip.add("linear/data/0", data);
    zip.add("linear/version", "3\n");
    return zip.finish();
  }
  Checkpoint open(const std::string& bytes, const char* name = "linear.pt") const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    return Checkpoint::open(folder_.path() / name);
  }
  static StatePickle good() {
    StatePickle pickle;
    pickle.add("weight", "FloatStorage", "0", 8, {2, 3}, {3, 1}).add("bias", "FloatStorage", "0", 8, {2}, {1}, 6);
    return pickle;
  }
  TempFolder folder_;
};

TEST_F(TorchArchive, HoldsItsTensors) {
  const Checkpoint file = open(archive(good().finish()));
  EXPECT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.get("weight").shape(), (Shape{2, 3}));
  EXPECT_EQ(file.get("weight").to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file.get("bias").to_vector<float>(), (std::vector<float>{7, 8}));
  StatePickle kinds;
  kinds.add("h", "HalfStorage", "0", 16, {4, 4}, {4, 1}).add("l", "LongStorage", "0", 4, {4}, {1});
  kinds.add("one", "FloatStorage", "0", 8, {}, {}).add("thin", "FloatStorage", "0", 8, {1, 8}, {99, 1});
  const Checkpoint others = open(archive(kinds.finish()));
  EXPECT_EQ(others.get("h").dtype(), DType::kF16);
  EXPECT_EQ(others.get("l").dtype(), DType::kI64);
  EXPECT_EQ(others.get("one").to_vector<float>(), (std::vector<float>{1}));
  EXPECT_EQ(others.get("thin").shape(), (Shape{1, 8}));
}

TEST_F(TorchArchive, AFolderMayHaveNothingElse) {
  open(archive(good().finish()), "pytorch_model.bin");
  EXPECT_NE(Checkpoint::open(folder_.path()).find("weight"), nullptr);
}

TEST_F(TorchArchive, NothingElseIsCarriedOut) {
  const auto refused = [&](const std::string& pickle, const char* what) {
    EXPECT_ERROR(open(archive(pickle)), kUnsupported, what);
  };
  refused(StatePickle().raw(cat(StatePickle::word("x"), "cos\nsystem\n(", StatePickle::word("true"), "tR")).finish(),
          "a call of 'os");
  refused(cat("\x80\x02", "cos\nsystem\n(", StatePickle::word("true"), "tR."), "a call of 'os");
  refused("\x80\x04.", "a pickle of protocol 4");
  refused(cat("\x80\x02", "i."), "a pickle with step 105");
  refused(cat("\x80\x02", "]."), "holds a value");
  refused(StatePickle().raw(cat(StatePickle::word("epoch"), "K\x07")).finish(), "something under 'epoch'");
  refused(StatePickle().add("x", "QInt8Storage", "0", 8, {8}, {1}).finish(), "QInt8Storage");
  refused(StatePickle().add("x", "FloatStorage", "0", 8, {2, 3}, {1, 2}).finish(), "in another order than its rows'");
}

TEST_F(TorchArchive, DamageIsASentence) {
  const auto refused = [&](const std::string& bytes, const char* what) { EXPECT_ERROR(open(bytes), kBadFile, what); };
  const std::string pickle = good().finish();
  refused(archive(pickle, floats({1, 2, 3, 4, 5, 6, 7})), "does not fit the 28 bytes of its storage");
  refused(archive(StatePickle().add("x", "FloatStorage", "9", 8, {8}, {1}).finish()),
          "storage '9' is not in the archive");
  refused(archive(StatePickle().add("x", "FloatStorage", "0", 8, {2}, {1}, -1).finish()), "does not fit");
  refused(archive(StatePickle().add("x", "FloatStorage", "0", 8, {-2}, {1}).finish()), "tensor 'x'");
  refused(archive(StatePickle().add("x", "FloatStorage", "0", 8, {1 << 30, 1 << 30, 1 << 30}, {1, 1, 1}).finish()),
          "'x'");
  refused(archive(pickle.substr(0, pickle.size() - 1)), "needs 1 bytes");
  for (const char* steps : {"R", "t", "u", "s", "b", "h\x09", "\x86", "Q"}) {
    try {
      open(archive(cat("\x80\x02", steps, ".")));
      ADD_FAILURE() << steps;
    } catch (const Error&) {
    }
  }
  ZipWriter packed;
  packed.add("linear/data.pkl", pickle, 8);
  EXPECT_ERROR(open(packed.finish()), kUnsupported, "'linear/data.pkl' is compressed");
  ZipWriter other;
  other.add("readme", "hello");
  refused(other.finish(), "none that torch.save() wrote");
  // Cut anywhere or with any byte changed it is read, or refused.
  const std::string whole = archive(pickle);
  for (size_t end = 4; end < whole.size(); end += 3) EXPECT_ANY_THROW(open(whole.substr(0, end))) << end;
  for (size_t i = 4; i < whole.size(); ++i) {
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      try {
        const Checkpoint read = open(changed);
        for (const TensorEntry& entry : read.entries()) EXPECT_LE(entry.offset + entry.bytes, std::ssize(changed));
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace wick
