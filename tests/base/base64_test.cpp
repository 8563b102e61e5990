#include "base/base64.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

TEST(Base64Test, WritesTheExamplesOfItsStandard) {
  // RFC 4648, section 10.
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foo"), "Zm9v");
  EXPECT_EQ(encode_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(encode_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64Test, ReadsWhatItWrites) {
  std::string bytes;
  for (int i = 0; i < 259; ++i) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

}  // namespace
}  // namespace wick
