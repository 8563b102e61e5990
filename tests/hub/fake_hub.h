#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace wick {

std::string sha256_text(std::string_view bytes);
std::string git_blob_text(std::string_view bytes);

// What a server answers may be wrong in all these ways. Counts are used up one request at a time.
struct Misbehaviour {
  bool ignores_ranges = false;
  std::atomic<int> rate_limits = 0;    // files answered with 429
  std::atomic<int> failures = 0;       // files answered with 500
  std::atomic<int> cuts = 0;           // bodies of files cut somewhere
  std::atomic<bool> cuts_all = false;  // every body is cut behind `cut_after` bytes
  size_t cut_after = 0;                // 0: at random
  std::string retry_after = "0";
  std::string content_range;      // sent instead of the right one
  bool endless = false;           // bodies go on, without a length
  int status = 0;                 // of every answer
  std::string error_code;         // X-Error-Code of it
  std::string listing;            // sent instead of the right one
  std::string redirect;           // files are redirected there
  std::function<void()> on_file;  // called when a file is asked for
};

// A small HTTP server on 127.0.0.1 that behaves like the hub: a list of files with checksums, small files itself, large
// ones by a redirect to a second port. Stops with the object.
class FakeHub {
 public:
  struct Request {
    bool to_storage = false;  // the second port
    std::string path, range, authorization;
  };

  explicit FakeHub(std::string repo = "org/tiny");
  ~FakeHub();
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  // Files of at least 1,000 bytes are large ones.
  void add(const std::string& name, std::string bytes) { files_[name] = std::move(bytes); }
  // What the list says of a file when it lies.
  std::map<std::string, std::string> claimed_checksum;
  std::map<std::string, int64_t> claimed_size;
  Misbehaviour wrong;

  // Begins to listen; files and what is wrong are to be set before, or later inside change().
  std::string endpoint();
  template <typename Change>
  void change(const Change& change) {
    const std::lock_guard lock(mutex_);
    change();
  }
  std::vector<Request> requests() const;
  std::vector<Request> file_requests() const;  // those that were answered with bytes of files, or should have been
  const std::string commit = "0123456789abcdef0123456789abcdef01234567";

 private:
  struct Listener {
    int fd = -1, port = 0;
  };
  static Listener listen_somewhere();
  void accept_loop(const Listener& listener, bool is_storage);
  void serve(int fd, bool is_storage);
  bool answer(int fd, const Request& request, int number);
  bool send_file(int fd, const Request& request, const std::string& bytes, int number);
  std::string listing() const;

  std::string repo_;
  std::map<std::string, std::string> files_;
  Listener hub_, storage_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::atomic<bool> ending_ = false;
  std::thread accepts_hub_, accepts_storage_;
};

}  // namespace wick
