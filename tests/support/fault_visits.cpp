#include "support/fault_visits.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

using nlohmann::json;

constexpr char kChat[] = "/v1/chat/completions", kText[] = "/v1/completions";

// What is wrong with an error as OpenAI's clients expect it.
std::string problem_of_error(const HttpAnswer& answer, int low, int high) {
  if (answer.status < low || answer.status > high) return cat("status ", answer.status, ": ", answer.body);
  const json body = json::parse(answer.body, nullptr, false);
  const bool is_error = body.is_object() && body.contains("error") && body["error"].is_object() &&
                        body["error"].value("message", "").size() > 3 && body["error"]["type"].is_string() &&
                        body["error"].contains("param") && body["error"].contains("code");
  return is_error ? "" : cat("not an error: ", answer.body);
}

std::string post_head(std::string_view target, size_t length) {
  return cat("POST ", target, " HTTP/1.1\r\nHost: x\r\nContent-Length: ", length, "\r\n\r\n");
}

std::string repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

struct Wrong {
  const char* target;
  const char* body;
};

constexpr char kTokens[] = "/tokenize", kResponses[] = "/v1/responses";

// JSON that is no request.
constexpr Wrong kWrongBodies[] = {
    {kChat, "null"},
    {kChat, "[]"},
    {kChat, "\"text\""},
    {kChat, "{}"},
    {kChat, ""},
    {kChat, R"({"messages": []})"},
    {kChat, R"({"messages": "hello"})"},
    {kChat, R"({"messages": [{}]})"},
    {kChat, R"({"messages": [{"role": "nobody", "content": "a1"}]})"},
    {kChat, R"({"messages": [{"role": "user", "content": {"text": "a1"}}]})"},
    {kChat, R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"},
    {kText, R"({"prompt": []})"},
    {kText, R"({"prompt": [[]]})"},
    {kText, R"({"prompt": [-1]})"},
    {kText, R"({"prompt": [192]})"},
    {kText, R"({"prompt": [2147483648]})"},
    {kText, R"({"prompt": [1, "a1"]})"},
    {kText, R"({"prompt": {"a1": 1}})"},
    {kText, R"({"prompt": ""})"},
    {kText, R"({"prompt": "a1", "temperature": 1e308})"},
    {kText, R"({"prompt": "a1", "temperature": -0.1})"},
    {kText, R"({"prompt": "a1", "temperature": "hot"})"},
    {kText, R"({"prompt": "a1", "temperature": 1e400})"},
    {kText, R"({"prompt": "a1", "top_p": 1.5})"},
    {kText, R"({"prompt": "a1", "top_k": -1})"},
    {kText, R"({"prompt": "a1", "top_k": 1e300})"},
    {kText, R"({"prompt": "a1", "n": 0})"},
    {kText, R"({"prompt": "a1", "n": 1000000000})"},
    {kText, R"({"prompt": "a1", "n": 1.5})"},
    {kText, R"({"prompt": "a1", "max_tokens": -7})"},
    {kText, R"({"prompt": "a1", "max_tokens": 1e30})"},
    {kText, R"({"prompt": "a1", "max_tokens": 99999999999999999999999})"},
    {kText, R"({"prompt": "a1", "max_tokens": true})"},
    {kText, R"({"prompt": "a1", "seed": 1e300})"},
    {kText, R"({"prompt": "a1", "seed": "x"})"},
    {kText, R"({"prompt": "a1", "stop": [["x"]]})"},
    {kText, R"({"prompt": "a1", "stop": 7})"},
    {kText, R"({"prompt": "a1", "logit_bias": {"-1": 1}})"},
    {kText, R"({"prompt": "a1", "logit_bias": {"999999999999": 1}})"},
    {kText, R"({"prompt": "a1", "logit_bias": {"192": 1}})"},
    {kText, R"({"prompt": "a1", "logit_bias": {"1": 1e30}})"},
    {kText, R"({"prompt": "a1", "logit_bias": [1]})"},
    {kText, R"({"prompt": "a1", "logprobs": 1000})"},
    {kText, R"({"prompt": "a1", "timeout": 1e300})"},
    {kText, R"({"prompt": "a1", "timeout": -1})"},
    {kText, R"({"prompt": "a1", "priority": "urgent"})"},
    {kText, R"({"prompt": "a1", "mirostat": 1})"},
    {kText, R"({"prompt": "a1", "dry_breakers": [1]})"},
    {kText, R"({"prompt": "a1", "grammar": "root ::= nowhere"})"},
    {kText, R"({"prompt": "a1", "grammar": "root ::= root \"x\""})"},
    {kText, R"({"prompt": "a1", "grammar": "root ::= \"x\"{1,1000000000}"})"},
    {kText, R"({"prompt": "a1", "grammar": "root ::= \"not a word of the vocabulary\""})"},
    {kText, R"({"prompt": "a1", "stream": "yes"})"},
    {kText, R"({"prompt": "a1", "model": 3})"},
    {kText, R"({"prompt": "a1", "prompt": "a2"})"},
    {kChat, R"({"messages": [{"role": "user", "content": "a1"}], "tools": [1]})"},
    {kChat, R"({"messages": [{"role": "user", "content": "a1"}], "tool_choice": "required"})"},
    {kChat, R"({"messages": [{"role": "user", "content": "a1"}], "response_format": {"type": "poem"}})"},
    {kChat, R"({"messages": [{"role": "user", "content": "a1"}], "response_format": {"type": "json_schema",
        "json_schema": {"name": "x", "schema": {"$ref": "#/nowhere"}}}})"},
    {kChat, R"({"messages": [{"role": "user", "content": "a1"}], "top_logprobs": 3})"},
    {kChat, R"({"messages": [{"role": "user", "content": "a1"}], "chat_template_kwargs": {"messages": []}})"},
    {kResponses, R"({"input": []})"},
    {kResponses, R"({"input": 1})"},
    {kResponses, R"({"input": "a1", "max_output_tokens": -1})"},
    {kTokens, R"({})"},
    {kTokens, R"({"content": 1})"},
    {"/detokenize", R"({"tokens": [1e9]})"},
    {"/detokenize", R"({"tokens": "a1"})"},
};

// Bytes that no JSON text may have.
constexpr std::string_view kBadTexts[] = {
    "\xFF",
    "\xC0\xAF",
    "\xED\xA0\x80",
    "\xE2\x82",
    "\xF4\x90\x80\x80",
    "\x80",
    R"(\ud800)",
    R"(\udc00\ud800)",
    R"(\ud800\u0041)",
    "\x01",
    "\n",
    R"(\x41)",
    R"(\u12G4)",
    std::string_view("\0", 1),
};

// Requests that are not HTTP as it should be; %t is a target.
constexpr const char* kBadHeads[] = {
    "POST %t HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nContent-Length: 12abc\r\n\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    "POST %t HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nContent-Length: 33554433\r\n\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    "POST %t HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\nContent-Length: 2\r\n\r\n{}",
    "POST %t HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "POST %t HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 2\r\n\r\n{}",
    "POST %t HTTP/2.0\r\nHost: x\r\n\r\n",
    "POST %t HTTP/1.1\r\nHost x\r\n\r\n",
    "POST %t%ff HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST %t\r\n\r\n",
    " POST %t HTTP/1.1\r\nHost: x\r\n\r\n",
};

}  // namespace

const std::vector<FaultVisit::Kind>& FaultVisit::kinds() {
  static const std::vector<Kind> kinds = {{"whole answer", 120, &FaultVisit::whole},
                                          {"stream", 120, &FaultVisit::stream},
                                          {"slow reader", 30, &FaultVisit::slow_reader},
                                          {"slow sender", 30, &FaultVisit::slow_sender},
                                          {"body in chunks", 30, &FaultVisit::chunked_body},
                                          {"pipelined", 30, &FaultVisit::pipelined},
                                          {"half-open", 40, &FaultVisit::half_open},
                                          {"deadline", 40, &FaultVisit::deadline},
                                          {"probe", 20, &FaultVisit::probe},
                                          {"leaves in the header", 30, &FaultVisit::leaves_in_header},
                                          {"leaves in the body", 30, &FaultVisit::leaves_in_body},
                                          {"leaves while waiting", 80, &FaultVisit::leaves_waiting},
                                          {"leaves in a stream", 80, &FaultVisit::leaves_in_stream},
                                          {"leaves the live state", 10, &FaultVisit::leaves_watching},
                                          {"damaged JSON", 100, &FaultVisit::damaged_json},
                                          {"bad text", 50, &FaultVisit::bad_text},
                                          {"deep nesting", 20, &FaultVisit::deep_nesting},
                                          {"wrong value", 80, &FaultVisit::wrong_value},
                                          {"too long", 20, &FaultVisit::too_long},
                                          {"wrong path", 20, &FaultVisit::wrong_path},
                                          {"bad head", 40, &FaultVisit::bad_head},
                                          {"garbage", 40, &FaultVisit::garbage}};
  return kinds;
}

FaultVisit::FaultVisit(uint16_t port, const KnownAnswers& known, uint64_t seed)
    : port_(port), known_(known), random_(seed) {
  int sum = 0;
  for (const Kind& kind : kinds()) sum += kind.weight;
  auto at = static_cast<int>(below(static_cast<size_t>(sum)));
  kind_ = &*std::find_if(kinds().begin(), kinds().end(), [&](const Kind& kind) { return (at -= kind.weight) < 0; });
}

void FaultVisit::pause(size_t most_milliseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(below(1000 * most_milliseconds + 1)));
}

const KnownRequest& FaultVisit::some_request() { return known_.requests()[below(known_.requests().size())]; }

const KnownRequest& FaultVisit::some_stream() {
  while (true) {
    const KnownRequest& request = some_request();
    if (request.can_stream) return request;
  }
}

std::string FaultVisit::text_of(const KnownRequest& request, std::string_view more) {
  const std::string body = request.body(more);
  return post_head(request.target, body.size()) + body;
}

std::string FaultVisit::goes_on(HttpClient& client, const HttpAnswer& last) {
  if (last.field("connection") == "close") return client.is_at_end() ? "" : "more came on a connection at its end";
  const KnownRequest& request = some_request();
  return request.problem_of(client.request("POST", request.target, request.body()));
}

std::string FaultVisit::refused(std::string_view target, std::string_view body, int status) {
  HttpClient open = client();
  const HttpAnswer answer = open.request("POST", target, body);
  const std::string problem = problem_of_error(answer, status, status);
  if (!problem.empty()) return cat(problem, " for ", body.substr(0, 300));
  return one_in(4) ? goes_on(open, answer) : "";
}

void FaultVisit::leave(HttpClient& client) {
  if (one_in(2)) {
    client.reset();
  } else {
    client.close();
  }
}

std::string FaultVisit::whole() {
  HttpClient open = client();
  for (size_t left = 1 + below(3); left > 0; --left) {
    const KnownRequest& request = some_request();
    const std::string problem = request.problem_of(open.request("POST", request.target, request.body()));
    if (!problem.empty()) return problem;
  }
  return {};
}

std::string FaultVisit::stream() {
  const KnownRequest& request = some_stream();
  return request.problem_of_stream(client().request("POST", request.target, request.body(KnownRequest::kStream)));
}

std::string FaultVisit::slow_reader() {
  const KnownRequest& request = some_stream();
  HttpClient open = client();
  open.set_receive_buffer(1024);
  open.send(text_of(request, KnownRequest::kStream));
  pause(20);
  HttpAnswer answer = open.read_head();
  if (answer.status != 200) return cat("status ", answer.status);
  while (const auto chunk = open.read_chunk()) {
    answer.body += *chunk;
    pause(2);
  }
  return request.problem_of_stream(answer);
}

std::string FaultVisit::slow_sender() {
  const KnownRequest& request = some_request();
  const std::string text = text_of(request);
  HttpClient open = client();
  for (size_t at = 0; at < text.size();) {
    const size_t size = 1 + below(text.size() / 4);
    open.send(std::string_view(text).substr(at, size));
    at += size;
    pause(3);
  }
  return request.problem_of(open.read_answer());
}

std::string FaultVisit::chunked_body() {
  const KnownRequest& request = some_request();
  const std::string body = request.body();
  std::string text = cat("POST ", request.target, " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (size_t at = 0; at < body.size();) {
    const std::string piece = body.substr(at, 1 + below(9));
    text += cat(piece.size(), ";note=x\r\n", piece, "\r\n");
    at += piece.size();
  }
  HttpClient open = client();
  open.send(text + "0\r\nTrailer: x\r\n\r\n");
  return request.problem_of(open.read_answer());
}

std::string FaultVisit::pipelined() {
  std::vector<const KnownRequest*> requests;
  std::string text;
  for (size_t left = 2 + below(3); left > 0; --left) {
    requests.push_back(&some_request());
    text += text_of(*requests.back());
  }
  const bool ends_in_garbage = one_in(2);
  if (ends_in_garbage) text += cat("\x16\x03\x01", repeated("\xC3(", 1 + below(40)), "\r\n\r\n");
  HttpClient open = client();
  open.send(text);
  for (const KnownRequest* request : requests) {
    const std::string problem = request->problem_of(open.read_answer());
    if (!problem.empty()) return problem;
  }
  return ends_in_garbage ? problem_of_error(open.read_answer(), 400, 400) : "";
}

// Such a client cannot be told from one that has gone: it gets the answer whole and right, or none.
std::string FaultVisit::half_open() {
  const KnownRequest& request = some_request();
  HttpClient open = client();
  open.send(text_of(request));
  pause(2);
  open.finish_sending();
  return open.is_at_end() ? "" : request.problem_of(open.read_answer());
}

std::string FaultVisit::deadline() {
  const KnownRequest& request = known_.long_request();
  const std::string more = cat(R"("timeout": )", 0.001 * static_cast<double>(1 + below(12)));
  const HttpAnswer answer = client().request("POST", request.target, request.body(more));
  if (answer.status != 200) return cat("status ", answer.status, ": ", answer.body);
  const std::string text = texts_of(request.target, answer.body).at(0);
  return request.answers[0].starts_with(text) ? "" : cat("not a beginning of the answer: ", text);
}

std::string FaultVisit::probe() {
  constexpr const char* kProbes[] = {"/health", "/ready", "/v1/models", "/v1/models/tiny", "/openapi.json", "/metrics"};
  const std::string_view target = kProbes[below(std::size(kProbes))];
  const HttpAnswer answer = client().get(target);
  if (answer.status != 200) return cat("status ", answer.status, " at ", target);
  const bool is_right =
      target == "/metrics" ? answer.body.find("wick_http_connections") != std::string::npos : json::accept(answer.body);
  return is_right ? "" : cat(target, " has ", answer.body);
}

std::string FaultVisit::leaves_in_header() {
  const KnownRequest& request = some_request();
  const std::string head = post_head(request.target, 100);
  HttpClient open = client();
  open.send(std::string_view(head).substr(0, below(head.size())));
  pause(2);
  leave(open);
  return {};
}

std::string FaultVisit::leaves_in_body() {
  const std::string text = text_of(some_request()), body = text.substr(text.find("\r\n\r\n") + 4);
  HttpClient open = client();
  open.send(std::string_view(text).substr(0, text.size() - 1 - below(body.size())));
  pause(2);
  leave(open);
  return {};
}

std::string FaultVisit::leaves_waiting() {
  HttpClient open = client();
  open.send(one_in(3) ? text_of(known_.long_request()) : text_of(some_request()));
  pause(8);
  leave(open);
  return {};
}

std::string FaultVisit::leaves_in_stream() {
  const KnownRequest& request = one_in(2) ? known_.long_request() : some_stream();
  HttpClient open = client();
  open.send(text_of(request, KnownRequest::kStream));
  const HttpAnswer head = open.read_head();
  if (head.status != 200) return cat("status ", head.status);
  for (size_t left = below(5); left > 0 && open.read_chunk(); --left) pause(1);
  leave(open);
  return {};
}

std::string FaultVisit::leaves_watching() {
  HttpClient open = client();
  open.send(cat("GET /v1/engine?model=", one_in(2) ? "tiny" : "ember", " HTTP/1.1\r\nHost: x\r\n\r\n"));
  if (!one_in(3)) {
    const HttpAnswer head = open.read_head();
    if (head.status != 200) return cat("status ", head.status);
    const auto chunk = open.read_chunk();
    if (!chunk || !chunk->starts_with("data: {")) return cat("no event: ", chunk.value_or("the end"));
  }
  leave(open);
  return {};
}

// Whether it is still JSON, another reader says.
std::string FaultVisit::damaged_json() {
  const KnownRequest& request = some_request();
  std::string body = request.body();
  for (size_t left = 1 + below(4); left > 0 && !body.empty(); --left) {
    const size_t at = below(body.size());
    const auto byte =
        static_cast<char>(one_in(2) ? below(256) : static_cast<unsigned char>("{}[]\",:\\0e-"[below(11)]));
    switch (below(5)) {
      case 0: body[at] = byte; break;
      case 1: body.insert(at, 1, byte); break;
      case 2: body.erase(at, 1 + below(8)); break;
      case 3: body.insert(at, body.substr(below(body.size()), below(30))); break;
      default: body.resize(at);
    }
  }
  if (!json::accept(body)) return refused(request.target, body);
  const HttpAnswer answer = client().request("POST", request.target, body);
  if (answer.status != 200) return problem_of_error(answer, 400, 404);
  return json::accept(answer.body) || answer.field("content-type") == "text/event-stream" ? "" : answer.body;
}

std::string FaultVisit::bad_text() {
  const KnownRequest& request = some_request();
  std::string body = request.body();
  std::vector<size_t> places;  // behind which a text begins
  for (size_t at = body.find('"'); at != std::string::npos; at = body.find('"', at + 1)) places.push_back(at);
  body.insert(places[below(places.size() / 2) * 2] + 1, kBadTexts[below(std::size(kBadTexts))]);
  return refused(request.target, body);
}

std::string FaultVisit::deep_nesting() {
  const size_t depth = 300 + below(one_in(4) ? 1000000 : 1000);
  const bool lists = one_in(2);
  std::string nest = repeated(lists ? "[" : R"({"a":)", depth);
  if (one_in(2)) nest += cat("1", repeated(lists ? "]" : "}", depth));
  switch (below(3)) {
    case 0: return refused(kChat, nest);
    case 1: return refused(kText, cat(R"({"prompt": )", nest, "}"));
    default: return refused(kText, cat(R"({"prompt": "a1", "unknown": )", nest, "}"));
  }
}

std::string FaultVisit::wrong_value() {
  const Wrong& wrong = kWrongBodies[below(std::size(kWrongBodies))];
  return refused(wrong.target, wrong.body);
}

std::string FaultVisit::too_long() {
  const auto least = static_cast<size_t>(KnownAnswers::kTinyContext) + 1;
  const std::string text = repeated("a7 ", least + below(one_in(10) ? 300000 : 2000));
  switch (below(3)) {
    case 0: return refused(kText, cat(R"({"prompt": ")", text, R"("})"));
    case 1: return refused(kChat, cat(R"({"messages": [{"role": "user", "content": ")", text, R"("}]})"));
    default: return refused("/v1/responses", cat(R"({"input": ")", text, R"("})"));
  }
}

std::string FaultVisit::wrong_path() {
  HttpClient open = client();
  const KnownRequest& request = some_request();
  switch (below(3)) {
    case 0: return problem_of_error(open.request("POST", "/v1/nothing", request.body()), 404, 404);
    case 1: return problem_of_error(open.request("DELETE", request.target), 405, 405);
    default: return refused(kText, R"({"prompt": "a1", "model": "nobody"})", 404);
  }
}

std::string FaultVisit::bad_head() {
  std::string text = one_in(12) ? cat("POST %t HTTP/1.1\r\nHost: x\r\nX-Long: ", repeated("x", 20000 + below(20000)))
                                : kBadHeads[below(std::size(kBadHeads))];
  text.replace(text.find("%t"), 2, kText);
  HttpClient open = client();
  open.try_send(text);
  const HttpAnswer answer = open.read_answer();
  if (answer.status == 501 || answer.status == 505) return problem_of_error(answer, 501, 505);
  const std::string problem = problem_of_error(answer, 400, 431);
  return problem.empty() ? "" : cat(problem, " for ", text.substr(0, 200));
}

std::string FaultVisit::garbage() {
  std::string bytes;
  for (size_t left = 1 + below(one_in(4) ? 30000 : 300); left > 0; --left) bytes += static_cast<char>(below(256));
  if (one_in(3)) bytes.insert(0, std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11));
  HttpClient open = client();
  open.try_send(bytes);
  open.finish_sending();
  const std::string answer = open.read_to_end();
  return answer.empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 5") ? "" : answer;
}

}  // namespace wick
