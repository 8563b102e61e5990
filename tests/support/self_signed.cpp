#include "support/self_signed.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>

#include "base/error.h"

namespace wick {
namespace {

template <typename T, void (*free_it)(T*)>
struct Free {
  void operator()(T* thing) const { free_it(thing); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

void check(bool worked) {
  if (!worked) throw Error(ErrorCode::kInternal, "OpenSSL could not make a certificate");
}

}  // namespace

void write_self_signed(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  const std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>> pair(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Free<X509, X509_free>> signed_one(X509_new());
  check(pair && signed_one);
  X509* x509 = signed_one.get();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -60);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, pair.get());
  X509_NAME* name = X509_get_subject_name(x509);
  const auto* host = reinterpret_cast<const unsigned char*>("localhost");
  check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0) == 1);
  X509_set_issuer_name(x509, name);
  check(X509_sign(x509, pair.get(), EVP_sha256()) != 0);
  const std::unique_ptr<std::FILE, CloseFile> certificate_file(std::fopen(certificate.c_str(), "wb"));
  const std::unique_ptr<std::FILE, CloseFile> key_file(std::fopen(key.c_str(), "wb"));
  check(certificate_file && key_file);
  check(PEM_write_X509(certificate_file.get(), x509) == 1);
  check(PEM_write_PrivateKey(key_file.get(), pair.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
}

}  // namespace wick
