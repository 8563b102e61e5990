#include "server/websocket/web_socket_handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/text.h"
#include "base/utf8.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

// The first of the items of all fields of that name, "a, b, c", that the condition holds for; empty: none.
template <typename Condition>
std::string_view find_item(const HttpRequest& request, std::string_view name, const Condition& condition) {
  for (const auto& [field, value] : request.headers) {
    if (field != name) continue;
    for (std::string_view rest = value; !rest.empty();) {
      std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      item = trimmed(item, " \t");
      if (!item.empty() && condition(item)) return item;
    }
  }
  return {};
}

bool has_word(const HttpRequest& request, std::string_view name, std::string_view word) {
  return !find_item(request, name, [&](std::string_view item) { return same_letters(item, word); }).empty();
}

HttpResponse upgrade_needed(std::string_view message) {
  HttpResponse response = error_response(426, message, {}, {}, "upgrade_required");
  response.headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
  return response;
}

// Shows that the key was read, RFC 6455, 4.2.2.
std::string accept_text(std::string_view key) {
  const std::string text = cat(key, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::array<unsigned char, 4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1> encoded;
  const int size = EVP_EncodeBlock(encoded.data(), digest.data(), SHA_DIGEST_LENGTH);
  return std::string(reinterpret_cast<const char*>(encoded.data()), static_cast<size_t>(size));
}

}  // namespace

std::optional<HttpResponse> web_socket_refusal(const HttpRequest& request, bool is_http10) {
  if (request.method != "GET" || is_http10 || !has_word(request, "upgrade", "websocket") ||
      !has_word(request, "connection", "upgrade")) {
    return upgrade_needed(
        cat(in_quotes(request.path),
            " is a web socket: ask for it by HTTP/1.1 with GET, 'Connection: Upgrade' and 'Upgrade: websocket'."));
  }
  const std::string_view version = request.header("sec-websocket-version").value_or("");
  if (version != "13") {
    return upgrade_needed(cat("The server speaks version 13 of web sockets, not ", in_quotes(version), "."));
  }
  const auto keys = std::count_if(request.headers.begin(), request.headers.end(),
                                  [](const auto& field) { return field.first == "sec-websocket-key"; });
  const auto key = decode_base64(request.header("sec-websocket-key").value_or(""));
  if (keys != 1 || !key || key->size() != 16) {
    return error_response(400, "A web socket needs one Sec-WebSocket-Key with 16 bytes in Base64.");
  }
  return std::nullopt;
}

HttpResponse web_socket_acceptance(const HttpRequest& request, std::string_view protocol) {
  HttpResponse response;
  response.status = 101;
  response.headers = {{"Upgrade", "websocket"},
                      {"Sec-WebSocket-Accept", accept_text(request.header("sec-websocket-key").value_or(""))}};
  // Protocols, unlike other words, are told apart by case.
  const auto agreed =
      find_item(request, "sec-websocket-protocol", [&](std::string_view item) { return item == protocol; });
  if (!agreed.empty()) response.headers.emplace_back("Sec-WebSocket-Protocol", std::string(agreed));
  return response;
}

std::string_view protocol_key(const HttpRequest& request) {
  constexpr std::string_view kPrefix = "openai-insecure-api-key.";
  const auto item =
      find_item(request, "sec-websocket-protocol", [&](std::string_view text) { return text.starts_with(kPrefix); });
  return item.empty() ? item : item.substr(kPrefix.size());
}

}  // namespace wick
