#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

namespace wick {

// One answered request as the log tells it.
struct LogEntry {
  std::chrono::system_clock::time_point time;  // of the first byte
  uint64_t id = 0;
  std::string client;
  std::string key_name;
  std::string method;
  std::string path;
  int status = 0;  // 499: the client went before there was one
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  double seconds = 0;
  bool complete = true;      // false: the client did not get all of it
  std::string request_body;  // both only where bodies are logged
  std::string response_body;
};

// Requests as lines of JSON. Thread-safe; a line is written whole, at the end of the file.
class RequestLog {
 public:
  enum class Bodies { kNo, kYes };
  static constexpr size_t kMaxBody = 64 << 10;  // what is logged of one body

  // "-" is standard error. Throws Error(kIo) when the file cannot be opened.
  explicit RequestLog(const std::filesystem::path& path, Bodies bodies = Bodies::kNo);
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  bool wants_bodies() const { return bodies_ == Bodies::kYes; }
  void write(const LogEntry& entry);

 private:
  std::mutex mutex_;
  int fd_ = -1;
  bool owned_ = false;
  Bodies bodies_;
};

}  // namespace wick
