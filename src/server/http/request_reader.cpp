#include "server/http/request_reader.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "base/utf8.h"
#include "server/http/error_response.h"
#include "server/http/target.h"

namespace wick {
namespace {

namespace http = boost::beast::http;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

// The first line ends like one of HTTP: "GET / HTTP/2.0".
bool names_other_version(const boost::beast::flat_buffer& buffer) {
  const auto bytes = buffer.cdata();
  std::string_view line(static_cast<const char*>(bytes.data()), bytes.size());
  line = line.substr(0, line.find("\r\n"));
  line.remove_prefix(line.size() - std::min(line.size(), std::string_view(" HTTP/2.0").size()));
  return line.starts_with(" HTTP/") && line.size() == 9 && line[7] == '.' && !line.ends_with(" HTTP/1.1");
}

}  // namespace

RequestReader::RequestReader(const HttpLimits& limits) : limits_(limits) {
  parser_.header_limit(static_cast<uint32_t>(std::min<size_t>(limits.header_bytes, UINT32_MAX)));
  parser_.body_limit(limits.body_bytes);
}

RequestReader::Step RequestReader::bad(int status, std::string_view message) {
  is_bad_ = true;
  problem_ = error_response(status, message);
  return Step::kBad;
}

RequestReader::Step RequestReader::bad(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return bad(431, cat("The header of the request is longer than ", limits_.header_bytes, " bytes."));
  }
  if (error == http::error::body_limit) {
    return bad(413, cat("The body of the request is longer than ", limits_.body_bytes, " bytes."));
  }
  return bad(400, cat("The request is not valid HTTP: ", error.message(), "."));
}

RequestReader::Step RequestReader::read(boost::beast::flat_buffer& buffer) {
  while (buffer.size() > 0) {
    boost::system::error_code error;
    const size_t used = parser_.put(buffer.data(), error);
    buffer.consume(used);
    bytes_ += used;
    // Beast counts only what it has not yet taken in, so that many short lines would pass.
    if (!has_head_ && (parser_.is_header_done() ? bytes_ : bytes_ + buffer.size()) > limits_.header_bytes) {
      return bad(http::make_error_code(http::error::header_limit));
    }
    if (error == http::error::bad_version && names_other_version(buffer)) {
      return bad(505, "The server speaks HTTP/1.1 and HTTP/1.0 only.");
    }
    if (error && error != http::error::need_more) return bad(error);
    if (!has_head_ && parser_.is_header_done()) return take_head();
    if (parser_.is_done()) {
      request_.body = std::move(parser_.get().body());
      return Step::kWhole;
    }
    if (error) {
      // Lines between chunks and trailers must be there whole before Beast takes them.
      if (buffer.size() > limits_.header_bytes) return bad(400, "A line between chunks of the body is too long.");
      break;
    }
  }
  return Step::kMore;
}

RequestReader::Step RequestReader::take_head() {
  has_head_ = true;
  parser_.eager(true);
  const auto& message = parser_.get();
  request_.method = view(message.method_string());
  int hosts = 0;
  bool is_chunked = false;
  for (const auto& field : message) {
    std::string name = lower_ascii(view(field.name_string()));
    const std::string_view value = view(field.value());
    if (name == "host") ++hosts;
    if (name == "transfer-encoding") {
      if (is_chunked || lower_ascii(value) != "chunked" || is_http10()) {
        return bad(501, cat("The transfer encoding ", in_quotes(value), " is not supported here."));
      }
      is_chunked = true;
    }
    if (name == "expect") {
      if (lower_ascii(value) != "100-continue") return bad(417, cat("The server cannot meet 'Expect: ", value, "'."));
      awaits_continue_ = !is_http10();
    }
    request_.headers.emplace_back(std::move(name), value);
  }
  if (hosts > 1 || (hosts == 0 && !is_http10())) return bad(400, "The request must have one Host field.");
  if (request_.method == "OPTIONS" && message.target() == "*") {
    request_.path.assign(1, '*');
    return Step::kHead;
  }
  auto target = parse_target(view(message.target()));
  if (!target) return bad(400, "The request's target is not a path with valid escapes and UTF-8.");
  request_.path = std::move(target->path);
  request_.query = std::move(target->query);
  return Step::kHead;
}

}  // namespace wick
