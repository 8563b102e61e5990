#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/api/field_kinds.h"

namespace wick {

// Responses that can be asked for again and continued, in memory. When there are too many, the oldest of the client
// with most go. Thread-safe.
class ResponseStore {
 public:
  explicit ResponseStore(size_t most_bytes = size_t{64} << 20) : most_bytes_(most_bytes) {}

  struct Stored {
    std::string owner;   // the name of the API key it came with: others do not see it
    std::string client;  // whose share of the room it takes
    std::string input;   // JSON: the items of the whole conversation that was answered
    std::string output;  // the response as JSON; empty: the journal has it
  };
  // What one may take: the whole conversation and the response. A larger one is not kept.
  size_t most_each() const { return most_bytes_ / 64; }
  void keep(const std::string& id, Stored stored);
  std::shared_ptr<const Stored> find(std::string_view owner, std::string_view id) const;  // null: there is none
  bool erase(std::string_view owner, std::string_view id);

 private:
  struct Slot {
    std::shared_ptr<const Stored> stored;
    uint64_t number = 0;
    size_t bytes = 0;
  };
  struct Client {
    std::map<uint64_t, std::string> ids;  // the oldest first
    size_t bytes = 0;
  };
  using Slots = std::map<std::string, Slot, std::less<>>;
  void drop(Slots::iterator slot);

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  Slots slots_;
  std::map<std::string, Client> clients_;
  uint64_t last_number_ = 0;
  size_t bytes_ = 0;
};

// The items of "input": a text is one, and each has an id.
OrderedJson input_items(const Json& input);

}  // namespace wick
