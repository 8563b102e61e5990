#include "fuzz/api_request_harness.h"

#include <cmath>
#include <cstdlib>

#include "base/json.h"
#include "server/api/api.h"
#include "server/api/completions/completion_request.h"
#include "server/api/responses/responses_request.h"
#include "server/api/token_requests.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

// What engines rely on, whatever was sent.
void check(const SamplingRequest& request) {
  require(!request.temperature || (*request.temperature >= 0 && *request.temperature <= 2));
  require(!request.top_p || (*request.top_p >= 0 && *request.top_p <= 1));
  require(!request.timeout || (*request.timeout > 0 && *request.timeout < 1e6));
}

void check(const ChatRequest& request) {
  check(static_cast<const SamplingRequest&>(request));
  require(!request.messages.empty());
  require(request.n >= 1 && request.n <= kMostChoices);
  for (const auto& [token, bias] : request.logit_bias.entries) require(std::abs(bias) <= 100);
}

void read(int endpoint, const HttpRequest& request) {
  const Json body = json_body(request);
  switch (endpoint) {
    case 0: return check(ChatRequest::parse(body));
    case 1: {
      const CompletionRequest completion = CompletionRequest::parse(body);
      check(completion);
      return require(!completion.prompt.prompts.empty() && completion.max_tokens >= 0);
    }
    case 2: return check(ResponsesRequest::parse(body).as_chat());
    case 3: static_cast<void>(TokenizeRequest::parse(body)); return;
    default: static_cast<void>(DetokenizeRequest::fields().read(body)); return;
  }
}

}  // namespace

void fuzz_api_request(std::string_view bytes) {
  if (bytes.empty()) return;
  HttpRequest request;
  request.body = bytes.substr(1);
  try {
    read(static_cast<unsigned char>(bytes[0]) % 5, request);
  } catch (const RequestError& error) {
    require(*error.what() != '\0');
    require(error.status() >= 400 && error.status() < 500);
    const HttpResponse answer = error_response(error.status(), error.what(), {}, error.param(), error.word());
    require(!Json::parse(answer.body, "the answer").at("error").at("message").as_text().empty());
  }
}

}  // namespace wick
