#include "server/http/multipart.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace wick {
namespace {

TEST(Multipart, FindsTheBoundary) {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=utf-8; BOUNDARY=\"a b;c\""), "a b;c");
  EXPECT_EQ(multipart_boundary("multipart/mixed; boundary=abc"), "");
  EXPECT_EQ(multipart_boundary("multipart/form-data"), "");
  EXPECT_EQ(multipart_boundary(""), "");
}

TEST(Multipart, ReadsParts) {
  const std::string body =
      "what stands before\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\".wav\"\r\n"
      "Content-Type: audio/wav\r\n\r\nRIFF\r\n--y\r\ndata\r\n--x\r\n"
      "content-disposition:form-data;name=model\r\n\r\n\r\n--x--\r\nand behind";
  const auto parts = parse_multipart(body, "x");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "file");
  EXPECT_EQ(parts[0].file_name, "a \"b\".wav");
  EXPECT_EQ(parts[0].content_type, "audio/wav");
  EXPECT_EQ(parts[0].body, "RIFF\r\n--y\r\ndata");
  EXPECT_EQ(parts[1].name, "model");
  EXPECT_EQ(parts[1].body, "");
  EXPECT_TRUE(parse_multipart("--x--", "x").empty());
}

TEST(Multipart, SaysWhatIsDamaged) {
  EXPECT_ERROR(parse_multipart("", "x"), kInvalidArgument, "its boundary does not come");
  EXPECT_ERROR(parse_multipart("--x", "x"), kInvalidArgument, "it ends behind a boundary");
  EXPECT_ERROR(parse_multipart("--x\r\na: b", "x"), kInvalidArgument, "the header of a part does not end");
  EXPECT_ERROR(parse_multipart("--x\r\na: b\r\n\r\n1\r\n--x--", "x"), kInvalidArgument, "a part has no name");
  EXPECT_ERROR(parse_multipart("--x\r\n\r\n1\r\n--x--", "x"), kInvalidArgument, "a part has no name");
  EXPECT_ERROR(parse_multipart("--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1", "x"), kInvalidArgument,
               "the part 'a' does not end");
  EXPECT_ERROR(parse_multipart("--", ""), kInvalidArgument, "its boundary is empty or too long");
  std::string many;
  for (int i = 0; i < 65; ++i) many += "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n";
  EXPECT_ERROR(parse_multipart(many + "--x--", "x"), kInvalidArgument, "more than 64 parts");
  // Cut anywhere, it is a sentence and not a part that is not there.
  const std::string good = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--";
  ASSERT_EQ(parse_multipart(good, "x").size(), 1u);
  for (size_t length = 0; length < good.size() - 2; ++length) {
    EXPECT_ERROR(parse_multipart(good.substr(0, length), "x"), kInvalidArgument, "the form is damaged");
  }
}

}  // namespace
}  // namespace wick
