#include "hub/fake_hub.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/text.h"

namespace wick {
namespace {

constexpr size_t kLarge = 1000;

std::string digest(const EVP_MD* kind, std::string_view bytes) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), sum, &size, kind, nullptr);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", sum[i]);
    text += digits;
  }
  return text;
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string field_of(const std::string& head, std::string_view name) {
  const size_t at = head.find(cat("\r\n", name, ": "));
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

bool send_answer(int fd, int status, std::string_view body, std::string_view fields = "") {
  return send_all(fd,
                  cat("HTTP/1.1 ", status, " Answer\r\nContent-Length: ", body.size(), "\r\n", fields, "\r\n", body));
}

// Takes one of a count; false when none is left.
bool take(std::atomic<int>& count) {
  int left = count.load();
  while (left > 0 && !count.compare_exchange_weak(left, left - 1)) {
  }
  return left > 0;
}

}  // namespace

std::string sha256_text(std::string_view bytes) { return digest(EVP_sha256(), bytes); }
std::string git_blob_text(std::string_view bytes) {
  std::string text = cat("blob ", bytes.size());
  text += '\0';
  return digest(EVP_sha1(), text.append(bytes));
}

FakeHub::Listener FakeHub::listen_somewhere() {
  Listener listener;
  listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener.fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener.fd, 64) != 0 ||
      getsockname(listener.fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the hub of the tests cannot listen");
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

FakeHub::FakeHub(std::string repo) : repo_(std::move(repo)), hub_(listen_somewhere()), storage_(listen_somewhere()) {}

FakeHub::~FakeHub() {
  ending_ = true;
  for (const Listener& listener : {hub_, storage_}) shutdown(listener.fd, SHUT_RDWR);
  for (std::thread* thread : {&accepts_hub_, &accepts_storage_}) {
    if (thread->joinable()) thread->join();
  }
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int fd : open_) close(fd);
  close(hub_.fd);
  close(storage_.fd);
}

std::string FakeHub::endpoint() {
  if (!accepts_hub_.joinable()) {
    accepts_hub_ = std::thread([this] { accept_loop(hub_, false); });
    accepts_storage_ = std::thread([this] { accept_loop(storage_, true); });
  }
  return cat("http://127.0.0.1:", hub_.port);
}

std::vector<FakeHub::Request> FakeHub::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<FakeHub::Request> FakeHub::file_requests() const {
  std::vector<Request> found;
  for (const Request& request : requests()) {
    if (request.to_storage || request.path.starts_with("/files/")) found.push_back(request);
  }
  return found;
}

void FakeHub::accept_loop(const Listener& listener, bool is_storage) {
  while (!ending_) {
    const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd, is_storage] { serve(fd, is_storage); });
  }
}

void FakeHub::serve(int fd, bool is_storage) {
  std::string text;
  char block[4096];
  for (;;) {
    size_t end = 0;
    while ((end = text.find("\r\n\r\n")) == std::string::npos) {
      const ssize_t count = recv(fd, block, sizeof(block), 0);
      if (count <= 0) return;
      text.append(block, static_cast<size_t>(count));
    }
    const std::string head = text.substr(0, end + 2);
    text.erase(0, end + 4);
    Request request;
    request.to_storage = is_storage;
    request.path = head.substr(4, head.find(' ', 4) - 4);
    request.range = field_of(head, "Range");
    request.authorization = field_of(head, "Authorization");
    int number = 0;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      number = static_cast<int>(requests_.size());
    }
    if (!answer(fd, request, number)) break;
  }
  shutdown(fd, SHUT_RDWR);
}

std::string FakeHub::listing() const {
  nlohmann::json siblings = nlohmann::json::array();
  for (const auto& [name, bytes] : files_) {
    const bool is_large = bytes.size() >= kLarge;
    const auto lie = claimed_checksum.find(name);
    const auto size = claimed_size.find(name);
    const std::string sum = lie != claimed_checksum.end() ? lie->second
                            : is_large                    ? sha256_text(bytes)
                                                          : git_blob_text(bytes);
    nlohmann::json entry = {{"rfilename", name},
                            {"size", size != claimed_size.end() ? size->second : static_cast<int64_t>(bytes.size())},
                            {"blobId", is_large ? std::string(40, 'f') : sum}};
    if (is_large) entry["lfs"] = {{"sha256", sum}, {"size", bytes.size()}, {"pointerSize", 134}};
    siblings.push_back(entry);
  }
  return nlohmann::json{{"id", repo_}, {"sha", commit}, {"siblings", siblings}}.dump();
}

// False ends the connection.
bool FakeHub::answer(int fd, const Request& request, int number) {
  if (wrong.status != 0) {
    return send_answer(fd, wrong.status, "no", cat("X-Error-Code: ", wrong.error_code, "\r\n"));
  }
  if (!request.to_storage && request.path == cat("/api/models/", repo_, "/revision/main?blobs=true")) {
    return send_answer(fd, 200, wrong.listing.empty() ? listing() : wrong.listing);
  }
  const std::string resolve = cat("/", repo_, "/resolve/", commit, "/");
  const bool is_resolve = request.path.starts_with(resolve);
  const bool is_file = request.path.starts_with("/files/");
  if (!is_resolve && !is_file) return send_answer(fd, 404, "no", "X-Error-Code: RepoNotFound\r\n");
  const std::string name = request.path.substr(is_resolve ? resolve.size() : std::string("/files/").size());
  const auto file = files_.find(name);
  if (file == files_.end()) return send_answer(fd, 404, "no", "X-Error-Code: EntryNotFound\r\n");
  if (is_resolve) {
    if (wrong.on_file) wrong.on_file();
    if (take(wrong.rate_limits)) return send_answer(fd, 429, "", cat("Retry-After: ", wrong.retry_after, "\r\n"));
    if (take(wrong.failures)) return send_answer(fd, 500, "oh");
    const bool is_large = file->second.size() >= kLarge;
    const std::string target = !wrong.redirect.empty() ? wrong.redirect
                               : is_large              ? cat("http://127.0.0.1:", storage_.port, "/files/", name)
                                          : cat("/files/", name);  // on the same server, as the hub does it
    return send_answer(fd, 302, "elsewhere", cat("Location: ", target, "\r\n"));
  }
  return send_file(fd, request, file->second, number);
}

bool FakeHub::send_file(int fd, const Request& request, const std::string& bytes, int number) {
  if (wrong.endless) {
    if (!send_all(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")) return false;
    while (!ending_ && send_all(fd, std::string(65536, 'x'))) {
    }
    return false;
  }
  size_t first = 0, last = bytes.size() - 1;
  const bool ranged = !request.range.empty() && !wrong.ignores_ranges;
  if (ranged && std::sscanf(request.range.c_str(), "bytes=%zu-%zu", &first, &last) != 2) return false;
  if (ranged && (first >= bytes.size() || last < first)) return send_answer(fd, 416, "");
  last = std::min(last, bytes.size() - 1);
  const std::string body = bytes.empty() ? "" : bytes.substr(first, last - first + 1);
  const std::string range =
      wrong.content_range.empty() ? cat("bytes ", first, "-", last, "/", bytes.size()) : wrong.content_range;
  const std::string head = ranged ? cat("HTTP/1.1 206 Part\r\nContent-Range: ", range, "\r\n") : "HTTP/1.1 200 OK\r\n";
  if (!send_all(fd, cat(head, "Content-Length: ", body.size(), "\r\n\r\n"))) return false;
  if (wrong.cuts_all || take(wrong.cuts)) {
    std::mt19937 random(static_cast<unsigned>(number));
    const size_t cut = wrong.cut_after > 0 ? wrong.cut_after : random() % (body.size() + 1);
    send_all(fd, std::string_view(body).substr(0, cut));
    return false;
  }
  return send_all(fd, body);
}

}  // namespace wick
