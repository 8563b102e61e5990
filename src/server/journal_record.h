#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wick {

// A request that was accepted, and the response once there is one. Copies share the long texts.
struct JournalEntry {
  std::string id;
  int64_t created = 0;   // Unix seconds
  int64_t finished = 0;  // the same; 0: not yet
  std::string owner;     // the name of the API key it came with
  std::string key;       // Idempotency-Key; empty: none
  std::string model;
  int64_t seed = 0;                             // drawn when it was accepted, so that computing it again gives the same
  uint64_t body_hash = 0;                       // tells another request under the same key from a repeated one
  std::shared_ptr<const std::string> body;      // JSON; null once it is finished
  std::shared_ptr<const std::string> response;  // JSON; null until then

  bool is_finished() const { return response != nullptr; }
};

uint64_t hash_of(std::string_view body);

// A line of JSON of the journal: {"record": "accepted" or "finished", ...} or {"record": "deleted", "id": "..."}. Each
// says all that is to be known of its entry, so that none depends on another that may be damaged.
std::string record_text(const JournalEntry& entry);
std::string deleted_record_text(std::string_view id);

struct JournalRecord {
  bool is_deletion = false;  // then only the id of the entry counts
  JournalEntry entry;
};
// Throws Error(kBadFile) for what is no such record.
JournalRecord parse_record(std::string_view text);

}  // namespace wick
