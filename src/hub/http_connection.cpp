#include "hub/http_connection.h"

#include <algorithm>
#include <charconv>
#include <exception>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "hub/curl_library.h"

namespace wick {
namespace {

constexpr int kMaxRedirects = 10;
constexpr long kConnectSeconds = 20, kSilentSeconds = 30;
constexpr long kBufferBytes = 256 << 10;

struct Origin {
  std::string scheme, host, port;
  bool operator==(const Origin&) const = default;
};

// By libcurl's own reading of the address, so that there is no second opinion about where a request goes.
Origin origin_of(const CurlLibrary& curl, const std::string& address) {
  Origin origin;
  CURLU* url = curl.url();
  const auto part = [&](CURLUPart which, std::string& out) {
    char* text = nullptr;
    if (curl.url_get(url, which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return;
    out = text;
    curl.free(text);
  };
  if (curl.url_set(url, CURLUPART_URL, address.c_str(), 0) == CURLUE_OK) {
    part(CURLUPART_SCHEME, origin.scheme);
    part(CURLUPART_HOST, origin.host);
    part(CURLUPART_PORT, origin.port);
    origin.host = lower_ascii(origin.host);
  }
  curl.url_cleanup(url);
  return origin;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Answers that another try gets again.
bool is_final_problem(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_URL_MALFORMAT ||
         code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_FAILED_INIT || code == CURLE_OUT_OF_MEMORY;
}

}  // namespace

struct HttpConnection::Impl {
  const CurlLibrary& curl = CurlLibrary::get();
  CURL* handle = curl.easy_init();
  Origin endpoint;
  std::string authorization;  // a field of the request; empty: none
  std::function<bool()> stop;

  // Of the transfer that runs now.
  const HttpGet* request = nullptr;
  HttpHead head;
  bool began = false;
  std::exception_ptr thrown;

  explicit Impl(std::function<bool()> stop) : stop(std::move(stop)) {}
  ~Impl() { curl.easy_cleanup(handle); }

  void read_field(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // also behind a 100 Continue
      head = HttpHead();
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string::npos) return;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (same_letters(name, "content-range")) head.content_range = value;
    if (same_letters(name, "x-error-code")) head.error_code = value;
  }

  void take_status() {
    long status = 0;
    curl_off_t length = -1, wait = 0;
    curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    curl.easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl.easy_getinfo(handle, CURLINFO_RETRY_AFTER, &wait);
    head.status = static_cast<int>(status);
    head.content_length = length;
    head.retry_after = static_cast<double>(wait);
  }

  bool wanted() const { return head.status == 200 || head.status == 206; }

  void begin_body() {
    if (began) return;
    began = true;
    take_status();
    if (wanted() && request->begin) request->begin(head);
  }

  size_t take_body(const char* data, size_t size) {
    try {
      begin_body();
      if (wanted() && request->body) request->body(std::as_bytes(std::span(data, size)));
      return size;
    } catch (...) {
      thrown = std::current_exception();
      return 0;
    }
  }

  static size_t on_header(char* data, size_t, size_t count, void* self) {
    static_cast<Impl*>(self)->read_field({data, count});
    return count;
  }
  static size_t on_body(char* data, size_t, size_t count, void* self) {
    return static_cast<Impl*>(self)->take_body(data, count);
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Impl*>(self)->stop() ? 1 : 0;
  }

  CURLcode perform(const std::string& url) {
    curl.easy_reset(handle);  // keeps the connections
    curl_slist* fields = nullptr;
    // A token follows no redirect to another place.
    if (!authorization.empty() && origin_of(curl, url) == endpoint) {
      fields = curl.slist_append(fields, authorization.c_str());
    }
    char reason[CURL_ERROR_SIZE] = "";
    const std::string range = cat(request->first, "-", request->last);
    const auto set = [&](CURLoption option, auto value) { curl.easy_setopt(handle, option, value); };
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTPHEADER, fields);
    set(CURLOPT_USERAGENT, "wick/" WICK_VERSION);
    if (request->last >= 0) set(CURLOPT_RANGE, range.c_str());
    set(CURLOPT_HEADERFUNCTION, &Impl::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Impl::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_XFERINFOFUNCTION, &Impl::on_progress);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
    set(CURLOPT_BUFFERSIZE, kBufferBytes);
    set(CURLOPT_ERRORBUFFER, reason);
    head = HttpHead();
    began = false;
    thrown = nullptr;
    const CURLcode code = curl.easy_perform(handle);
    set(CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
    set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
    curl.slist_free_all(fields);
    problem = code == CURLE_OK ? "" : reason[0] ? reason : curl.easy_strerror(code);
    return code;
  }
  std::string problem;
};

HttpConnection::HttpConnection(const std::string& endpoint, const std::string& token, std::function<bool()> stop)
    : impl_(std::make_unique<Impl>(std::move(stop))) {
  impl_->endpoint = origin_of(impl_->curl, endpoint);
  const std::string& scheme = impl_->endpoint.scheme;
  if (scheme != "https" && scheme != "http") {
    throw Error(ErrorCode::kInvalidArgument,
                cat("HF_ENDPOINT is ", in_quotes(endpoint), ", expected an https address"));
  }
  if (token.empty()) return;
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7F; })) {
    throw Error(ErrorCode::kInvalidArgument, "HF_TOKEN holds a blank, a control character or one that is not ASCII");
  }
  impl_->authorization = cat("Authorization: Bearer ", token);
}

HttpConnection::~HttpConnection() = default;

HttpResult HttpConnection::get(const HttpGet& request) {
  Impl& impl = *impl_;
  impl.request = &request;
  std::string url = request.url;
  for (int hop = 0;; ++hop) {
    const CURLcode code = impl.perform(url);
    if (impl.thrown) std::rethrow_exception(impl.thrown);
    if (code != CURLE_OK) return {impl.head, impl.problem, is_final_problem(code)};
    impl.take_status();
    if (!is_redirect(impl.head.status)) {
      impl.begin_body();  // of an empty answer
      return {impl.head, "", false};
    }
    char* next = nullptr;
    impl.curl.easy_getinfo(impl.handle, CURLINFO_REDIRECT_URL, &next);
    if (!next) return {impl.head, "a redirect that says not where to", true};
    if (hop == kMaxRedirects) return {impl.head, cat("more than ", kMaxRedirects, " redirects"), true};
    const bool was_safe = origin_of(impl.curl, url).scheme == "https";
    url = next;
    if (was_safe && origin_of(impl.curl, url).scheme != "https")
      return {impl.head, "a redirect from https to http", true};
  }
}

}  // namespace wick
