#include "hub/fetch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr double kLongestWait = 60, kLongestAsked = 300;  // seconds
constexpr auto kNap = std::chrono::milliseconds(20);

struct RangeIgnored {};

bool may_pass(int status) { return status == 408 || status == 429 || status >= 500; }

Error bad_answer(const RepoFile& file, const std::string& what) {
  return {ErrorCode::kBadFile, cat(in_quotes(file.name), ": ", what)};
}

Error other_size(const RepoFile& file, const std::string& got) {
  return bad_answer(file, cat("the server has ", got, " bytes, the list of files says ", file.bytes));
}

// "bytes 5-9/100" must answer what was asked for; "*" for the whole is allowed.
void check_range(const RepoFile& file, const HttpGet& request, const std::string& range) {
  const std::string expected = cat("bytes ", request.first, "-", request.last, "/");
  if (!range.starts_with(expected)) {
    throw bad_answer(
        file, cat("asked for ", expected.substr(0, expected.size() - 1), ", the server answers ", in_quotes(range)));
  }
  const std::string whole = range.substr(expected.size());
  if (whole != "*" && whole != cat(file.bytes)) throw other_size(file, in_quotes(whole));
}

}  // namespace

Fetcher::Fetcher(const PullOptions& options, const ModelName& name, std::function<bool()> stop)
    : options_(options), name_(name), stop_(std::move(stop)), connection_(options.endpoint, options.token, stop_) {}

bool Fetcher::wait(double seconds) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stop_() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kNap);
  return !stop_();
}

Error Fetcher::refused(const HttpHead& head, const std::string& what) const {
  const std::string page = cat(options_.endpoint, "/", name_.repo);
  const auto error = [&](const std::string& sentence) { return Error(ErrorCode::kInvalidArgument, sentence); };
  const bool has_token = !options_.token.empty();
  if (head.error_code == "GatedRepo") {
    return error(
        has_token ? cat(name_.repo, ": is gated, and the account of HF_TOKEN has no access yet; ask for it at ", page)
                  : cat(name_.repo, ": is gated; ask for access at ", page, " and set HF_TOKEN"));
  }
  if (head.error_code == "RevisionNotFound") {
    return error(cat(name_.repo, ": has no revision ", in_quotes(name_.revision)));
  }
  if (head.status == 401 || head.status == 403) {
    return error(has_token ? cat(name_.repo, ": HTTP ", head.status, ": HF_TOKEN is not valid or has no access to it")
                           : cat(name_.repo, ": HTTP ", head.status,
                                 ": there is no such model, or it is private or gated; for those set HF_TOKEN"));
  }
  if (head.status == 404 && what == name_.repo)
    return error(cat(name_.repo, ": there is no such model at ", options_.endpoint));
  return {ErrorCode::kIo, cat(what, ": ", options_.endpoint, " answers with HTTP ", head.status)};
}

// Calls attempt() until it says that all has arrived. False when stopped. An attempt returns its result and whether it
// brought anything new.
template <typename Try>
bool Fetcher::persist(const std::string& what, const Try& attempt) {
  for (int failed = 0;;) {
    if (stop_()) return false;
    bool brought = false;
    const HttpResult result = attempt(brought);
    if (stop_()) return false;
    const bool good = result.head.status == 200 || result.head.status == 206;
    if (result.problem.empty() && good) return true;
    if (result.problem.empty() && !may_pass(result.head.status)) throw refused(result.head, what);
    failed = brought ? 1 : failed + 1;
    if (failed >= options_.tries || result.is_final) {
      const std::string why = result.problem.empty() ? cat("HTTP ", result.head.status) : result.problem;
      const std::string tries = result.is_final ? "" : cat(" (tried ", failed, " times)");
      throw Error(ErrorCode::kIo, cat(what, ": ", options_.endpoint, ": ", why, tries));
    }
    const double backoff = std::min(kLongestWait, options_.first_wait * std::exp2(failed - 1));
    if (!wait(std::max(backoff, std::min(kLongestAsked, result.head.retry_after)))) return false;
  }
}

std::string Fetcher::text(const std::string& url, size_t most) {
  std::string body;
  HttpGet request;
  request.url = url;
  request.body = [&](std::span<const std::byte> bytes) {
    if (bytes.size() > most - body.size()) {
      throw Error(ErrorCode::kBadFile, cat(name_.repo, ": the list of files has more than ", most, " bytes"));
    }
    body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const bool whole = persist(name_.repo, [&](bool&) {
    body.clear();
    return connection_.get(request);
  });
  return whole ? body : "";
}

Fetched Fetcher::piece(const std::string& url, const RepoFile& file, PartialFile& partial, int64_t piece,
                       Arrivals& arrived) {
  const int64_t end = partial.end(piece);
  HttpGet request;
  request.url = url;
  request.begin = [&](const HttpHead& head) {
    if (request.last < 0) {
      if (head.content_length >= 0 && head.content_length != file.bytes)
        throw other_size(file, cat(head.content_length));
    } else if (head.status == 200) {
      throw RangeIgnored();
    } else {
      check_range(file, request, head.content_range);
    }
  };
  request.body = [&](std::span<const std::byte> bytes) {
    if (static_cast<int64_t>(bytes.size()) > end - partial.next(piece)) {
      throw bad_answer(file, cat("the server sends more than the ", file.bytes, " bytes of the list of files"));
    }
    partial.write(piece, bytes);
    arrived.bytes += static_cast<int64_t>(bytes.size());
  };
  try {
    const bool done = persist(in_quotes(file.name), [&](bool& brought) {
      const int64_t begin = partial.next(piece);
      if (begin == end) return HttpResult{{.status = 200}, "", false};
      request.first = begin;
      request.last = begin == 0 && end == file.bytes ? -1 : end - 1;
      HttpResult result = connection_.get(request);
      brought = partial.next(piece) > begin;
      if (result.head.status == 416) throw other_size(file, "fewer");
      const bool good = result.head.status == 200 || result.head.status == 206;
      if (good && result.problem.empty() && partial.next(piece) < end) result.problem = "the connection was cut";
      return result;
    });
    return done ? Fetched::kDone : Fetched::kStopped;
  } catch (const RangeIgnored&) {
    return Fetched::kRangeIgnored;
  }
}

Fetched Fetcher::whole(const std::string& url, const RepoFile& file, PartialFile& partial, Arrivals& arrived) {
  HttpGet request;
  request.url = url;
  int64_t count = 0;
  request.begin = [&](const HttpHead& head) {
    if (head.content_length >= 0 && head.content_length != file.bytes) throw other_size(file, cat(head.content_length));
  };
  request.body = [&](std::span<const std::byte> bytes) {
    if (static_cast<int64_t>(bytes.size()) > file.bytes - count) {
      throw bad_answer(file, cat("the server sends more than the ", file.bytes, " bytes of the list of files"));
    }
    partial.write(0, bytes);
    count += static_cast<int64_t>(bytes.size());
    arrived.bytes += static_cast<int64_t>(bytes.size());
  };
  const bool done = persist(in_quotes(file.name), [&](bool&) {
    partial.restart_whole();
    arrived.wasted += std::exchange(count, 0);
    HttpResult result = connection_.get(request);
    const bool good = result.head.status == 200 || result.head.status == 206;
    if (good && result.problem.empty() && count < file.bytes) result.problem = "the connection was cut";
    return result;
  });
  return done ? Fetched::kDone : Fetched::kStopped;
}

}  // namespace wick
