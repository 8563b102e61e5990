#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "hub/http_connection.h"
#include "hub/partial_file.h"
#include "hub/pull.h"

namespace wick {

// Counted by all workers together.
struct Arrivals {
  std::atomic<int64_t> bytes = 0;   // that came over the network
  std::atomic<int64_t> wasted = 0;  // of them, thrown away again
};

enum class Fetched : uint8_t { kDone, kRangeIgnored, kStopped };

// Requests to the hub, tried again after what may pass: cut connections, silence, 408, 429 (as late as the server asks
// for) and 5xx. Whatever else goes wrong is an Error. One thread at a time.
class Fetcher {
 public:
  Fetcher(const PullOptions& options, const ModelName& name, std::function<bool()> stop);

  // The whole answer, which may have `most` bytes. Empty when stopped.
  std::string text(const std::string& url, size_t most);
  // The rest of a piece, from where it was left. Counts what arrives. kRangeIgnored: the server sends whole files only.
  Fetched piece(const std::string& url, const RepoFile& file, PartialFile& partial, int64_t piece, Arrivals& arrived);
  // The whole file without asking for a range; a cut begins again.
  Fetched whole(const std::string& url, const RepoFile& file, PartialFile& partial, Arrivals& arrived);

 private:
  template <typename Try>
  bool persist(const std::string& what, const Try& attempt);
  bool wait(double seconds) const;
  Error refused(const HttpHead& head, const std::string& what) const;

  const PullOptions& options_;
  ModelName name_;
  std::function<bool()> stop_;
  HttpConnection connection_;
};

}  // namespace wick
