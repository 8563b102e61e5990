#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "server/http/http_limits.h"

namespace wick {

// Who takes of what all share: an IPv4 address, or the 64 bits that an IPv6 network hands to one customer.
std::string client_key(const boost::asio::ip::address& address);

// How much memory large bodies of requests take, together and per client. A client has half of it at most, so that one
// alone keeps nobody out. Thread-safe; lives as long as a room does.
class BodyMemory : public std::enable_shared_from_this<BodyMemory> {
 public:
  explicit BodyMemory(const HttpLimits& limits) : most_(limits.bodies_bytes), free_(limits.large_body_bytes) {}

  // The memory of one body, given back with it. One thread at a time.
  class Room {
   public:
    Room(std::shared_ptr<BodyMemory> memory, std::string client)
        : memory_(std::move(memory)), client_(std::move(client)) {}
    ~Room() { memory_->give_back(client_, taken_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    // What it takes from now on. False, and as before, when there is not that much left; what is not large always fits.
    bool resize(size_t bytes);

   private:
    std::shared_ptr<BodyMemory> memory_;
    std::string client_;
    size_t taken_ = 0;
  };
  std::shared_ptr<Room> room(std::string client) {
    return std::make_shared<Room>(shared_from_this(), std::move(client));
  }
  size_t taken() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  bool take(const std::string& client, size_t bytes);
  void give_back(const std::string& client, size_t bytes);

  const size_t most_, free_;
  mutable std::mutex mutex_;
  size_t all_ = 0;
  std::unordered_map<std::string, size_t> of_client_;
};

}  // namespace wick
