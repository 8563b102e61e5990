#include "server/http/response_head.h"

#include <boost/beast/http/status.hpp>
#include <ctime>

#include "base/text.h"

namespace wick {
namespace {

std::string_view reason(int status) {
  const auto text = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return {text.data(), text.size()};
}

// "Sun, 06 Nov 1994 08:49:37 GMT", made once per second and thread.
std::string_view date() {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  thread_local std::time_t made = -1;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    char rest[40];
    std::strftime(rest, sizeof(rest), " %Y %H:%M:%S GMT", &utc);
    text = cat(kDays[utc.tm_wday], utc.tm_mday < 10 ? ", 0" : ", ", utc.tm_mday, " ", kMonths[utc.tm_mon], rest);
    made = now;
  }
  return text;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  const auto append = [&](std::string_view text) {
    for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  };
  append(name);
  out += ": ";
  append(value);
  out += "\r\n";
}

}  // namespace

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string response_head(const HttpResponse& response, const ResponseFacts& facts, const HttpFields& more_fields) {
  std::string head =
      cat("HTTP/1.1 ", response.status, " ", reason(response.status), "\r\nServer: wick/", WICK_VERSION,
          "\r\nDate: ", date(), "\r\nX-Request-Id: ", facts.request_id, "\r\nX-Content-Type-Options: nosniff\r\n");
  if (facts.framing != BodyFraming::kNone && !response.content_type.empty()) {
    append_field(head, "Content-Type", response.content_type);
  }
  if (facts.framing == BodyFraming::kLength) head += cat("Content-Length: ", response.body.size(), "\r\n");
  if (facts.framing == BodyFraming::kChunks) head += "Transfer-Encoding: chunked\r\n";
  const std::string_view then = facts.keep_alive ? "keep-alive" : "close";
  switch (response.status) {
    case 101: head += "Connection: Upgrade\r\n"; break;
    case 426: head += cat("Connection: Upgrade, ", then, "\r\n"); break;
    default: head += cat("Connection: ", then, "\r\n");
  }
  for (const auto& [name, value] : response.headers) append_field(head, name, value);
  for (const auto& [name, value] : more_fields) append_field(head, name, value);
  head += "\r\n";
  return head;
}

}  // namespace wick
