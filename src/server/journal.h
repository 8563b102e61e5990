#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/journal_file.h"
#include "server/journal_record.h"

namespace wick {

struct JournalOptions {
  std::filesystem::path folder;
  int64_t most_entries = 10'000;                  // finished or not
  int64_t most_bytes = int64_t{256} << 20;        // of their records; they are also in memory
  int64_t keep_seconds = 24 * 60 * 60;            // a finished response; one that is not stays until it is
  int64_t compact_from_bytes = int64_t{1} << 20;  // a smaller file is left as it is
  std::function<int64_t()> now;                   // Unix seconds; empty: the system's clock
};

// Requests that outlive the process: each is on the disk before it counts as accepted, and its response before anybody
// can see it. Of a request without a response nobody has seen one, so it may be computed again. Thread-safe; writers
// take turns and wait for the disk, readers wait for nobody.
class Journal {
 public:
  // Reads what an earlier process left. Throws Error(kIo) naming the folder when another process uses it or it cannot
  // be read and written. Damage does not throw: see findings().
  explicit Journal(JournalOptions options);

  // A sentence for each thing that was wrong with the file. A record that was never finished is cut off. What is
  // damaged is left out, what stands before and behind it is kept, and a copy of the file stays beside the new one.
  const std::vector<std::string>& findings() const { return findings_; }
  const JournalOptions& options() const { return options_; }

  enum class Verdict : uint8_t {
    kNew,
    kKnown,      // the same request came before under this key
    kOtherBody,  // another request came before under this key
    kTooMany,    // most_entries
    kTooLarge,   // most_bytes
  };
  struct Acceptance {
    Verdict verdict;
    JournalEntry entry;  // kNew, kKnown
  };
  // All but `created`, `finished`, `body_hash` and `response` is to be set; the id must be new. Throws Error(kIo) when
  // it cannot be written.
  Acceptance accept(JournalEntry request);

  struct Result {
    std::string id, response;
  };
  // The ids of those that were waiting for a response; the others had one or are gone, and nothing changes. Throws
  // Error(kIo) when they cannot be written; then nothing has changed.
  std::vector<std::string> finish(std::vector<Result> results);
  // False when there is no such entry. Throws Error(kIo) when it cannot be written.
  bool erase(std::string_view id);

  std::optional<JournalEntry> find(std::string_view id) const;
  std::vector<JournalEntry> pending() const;  // in the order they were accepted
  // Forgets what has been kept long enough and makes the file smaller where it pays. Throws Error(kIo).
  void tidy();

  struct Size {
    int64_t entries = 0, pending = 0, file_bytes = 0;
  };
  Size size() const;

 private:
  struct Slot {
    JournalEntry entry;
    int64_t record_bytes = 0;
    uint64_t number = 0;  // in the order of acceptance
  };
  using Slots = std::unordered_map<std::string, Slot>;
  using Key = std::pair<std::string, std::string>;  // owner, key

  bool take(std::string_view text, int64_t record_bytes);
  void put(JournalEntry entry, int64_t record_bytes);
  struct Place;
  Place make_place(const JournalEntry& entry, int64_t record_bytes);
  void put(Place place) noexcept;
  void drop(Slots::iterator slot);
  void drop(Slots::iterator slot, const Key& its_key) noexcept;
  bool is_expired(const JournalEntry& entry) const;
  void forget_expired();
  void report(const JournalScan& scan);
  void append(std::string_view frames);
  void rewrite();

  JournalOptions options_;
  FolderLock lock_;
  std::vector<std::string> findings_;

  std::mutex writing_;        // of the file; taken before state_
  mutable std::mutex state_;  // of what follows
  Slots slots_;
  std::map<Key, std::string> ids_by_key_;
  uint64_t last_number_ = 0;
  int64_t live_bytes_ = 0;  // of the records that count
  int64_t pending_ = 0, file_bytes_ = 0;

  std::optional<JournalFile> file_;  // last: reading it fills the rest
};

}  // namespace wick
