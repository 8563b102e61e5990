#include "hub/checksum.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr size_t kBlock = size_t{1} << 20;

using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Digest begin(const EVP_MD* kind) {
  Digest digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!digest || EVP_DigestInit_ex(digest.get(), kind, nullptr) != 1) {
    throw Error(ErrorCode::kUnsupported, cat("OpenSSL here computes no ", EVP_MD_get0_name(kind)));
  }
  return digest;
}

std::string end(const Digest& digest) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(digest.get(), bytes, &size);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw failed();
  }
  ~InputFile() { ::close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  size_t read(std::vector<char>& block) const {
    ssize_t count = 0;
    do {
      count = ::read(fd_, block.data(), block.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) throw failed();
    return static_cast<size_t>(count);
  }

 private:
  Error failed() const { return {ErrorCode::kIo, cat(path_, ": cannot read: ", std::strerror(errno))}; }

  std::filesystem::path path_;
  int fd_;
};

std::string add_file(const Digest& digest, const std::filesystem::path& path, const std::function<bool()>& stop) {
  const InputFile file(path);
  std::vector<char> block(kBlock);
  while (const size_t count = file.read(block)) {
    if (stop && stop()) return "";
    EVP_DigestUpdate(digest.get(), block.data(), count);
  }
  return end(digest);
}

}  // namespace

std::string sha256_of(const std::filesystem::path& path, const std::function<bool()>& stop) {
  return add_file(begin(EVP_sha256()), path, stop);
}

std::string git_blob_of(const std::filesystem::path& path, const std::function<bool()>& stop) {
  const Digest digest = begin(EVP_sha1());
  const std::string head = cat("blob ", std::filesystem::file_size(path));
  EVP_DigestUpdate(digest.get(), head.c_str(), head.size() + 1);
  return add_file(digest, path, stop);
}

}  // namespace wick
