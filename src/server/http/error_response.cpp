#include "server/http/error_response.h"

#include <new>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_write.h"
#include "server/http/valid_text.h"

namespace wick {
namespace {

std::string_view usual_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status < 500 ? "invalid_request_error" : "server_error";
  }
}

void append_text_or_null(std::string& out, std::string_view text) {
  if (text.empty()) {
    out += "null";
  } else {
    append_json_text(out, valid_text(text));
  }
}

std::string error_field(const HttpResponse& error, const char* name) {
  const auto body = nlohmann::json::parse(error.body, nullptr, false);
  if (!body.is_object() || !body.contains("error") || !body["error"].is_object()) return error.body;
  return body["error"].value(name, "");
}

struct Kind {
  int status;
  std::string_view word;
};

Kind kind_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return {400, "invalid_value"};
    case ErrorCode::kBadFile: return {400, "invalid_file"};
    case ErrorCode::kUnsupported: return {400, "unsupported"};
    case ErrorCode::kOutOfMemory: return {503, "out_of_memory"};
    default: return {500, "internal_error"};
  }
}

}  // namespace

HttpResponse error_response(int status, std::string_view message, std::string_view type, std::string_view param,
                            std::string_view code) {
  HttpResponse response;
  response.status = status;
  response.body = R"({"error":{"message":)";
  append_json_text(response.body, valid_text(message));
  response.body += R"(,"type":)";
  append_json_text(response.body, valid_text(type.empty() ? usual_type(status) : type));
  response.body += R"(,"param":)";
  append_text_or_null(response.body, param);
  response.body += R"(,"code":)";
  append_text_or_null(response.body, code);
  response.body += "}}\n";
  return response;
}

std::string error_message(const HttpResponse& error) { return error_field(error, "message"); }
std::string error_type(const HttpResponse& error) { return error_field(error, "type"); }

HttpResponse error_response(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    const auto [status, word] = kind_of(known.code());
    return error_response(status, known.what(), {}, {}, word);
  } catch (const std::bad_alloc&) {
    return error_response(503, "There is not enough memory for this request.", {}, {}, "out_of_memory");
  } catch (const std::exception& other) {
    return error_response(500, other.what(), {}, {}, "internal_error");
  } catch (...) {
    return error_response(500, "The request failed for a reason without a name.", {}, {}, "internal_error");
  }
}

}  // namespace wick
