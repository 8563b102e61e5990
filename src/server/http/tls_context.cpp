#include "server/http/tls_context.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

namespace asio = boost::asio;

void check(const boost::system::error_code& error, const std::filesystem::path& path, std::string_view what) {
  if (error) throw Error(ErrorCode::kBadFile, cat(path, ": ", what, ": ", error.message()));
}

}  // namespace

asio::ssl::context tls_context(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  boost::system::error_code error;
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression);
  context.use_certificate_chain_file(certificate.string(), error);
  check(error, certificate, "no certificate in PEM");
  context.use_private_key_file(key.string(), asio::ssl::context::pem, error);
  check(error, key, "no key in PEM that fits the certificate");
  return context;
}

}  // namespace wick
