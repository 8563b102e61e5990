#include "base/error.h"
#include "hub/http_connection.h"

namespace wick {

struct HttpConnection::Impl {};

HttpConnection::HttpConnection(const std::string&, const std::string&, std::function<bool()>) {
  throw Error(
      ErrorCode::kUnsupported,
      "this build of Wick cannot download: libcurl was not there when it was built; tools/install-deps hub gets "
      "it");
}
HttpConnection::~HttpConnection() = default;

HttpResult HttpConnection::get(const HttpGet&) { return {}; }

}  // namespace wick
