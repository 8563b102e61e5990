#pragma once

#include <boost/asio/ssl/context.hpp>
#include <filesystem>

namespace wick {

// For a server with this certificate (PEM, with the chain behind it) and its key (PEM). TLS 1.2 and later. Throws
// Error(kBadFile) naming the file and OpenSSL's reason.
boost::asio::ssl::context tls_context(const std::filesystem::path& certificate, const std::filesystem::path& key);

}  // namespace wick
