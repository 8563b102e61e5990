#include "server/http/clients/client_shares.h"

#include <algorithm>

namespace wick {

std::string client_key(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  if (!address.is_v6()) return address.to_string();
  ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  auto bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return ip::address_v6(bytes).to_string();
}

bool BodyMemory::Room::resize(size_t bytes) {
  if (bytes <= memory_->free_) bytes = 0;
  if (bytes > taken_ && !memory_->take(client_, bytes - taken_)) return false;
  if (bytes < taken_) memory_->give_back(client_, taken_ - bytes);
  taken_ = bytes;
  return true;
}

bool BodyMemory::take(const std::string& client, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = of_client_.find(client);
  const size_t own = known == of_client_.end() ? 0 : known->second;
  if (bytes > most_ - all_ || own + bytes > most_ / 2) return false;
  all_ += bytes;
  of_client_[client] = own + bytes;
  return true;
}

void BodyMemory::give_back(const std::string& client, size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  all_ -= bytes;
  const auto known = of_client_.find(client);
  known->second -= bytes;
  if (known->second == 0) of_client_.erase(known);
}

}  // namespace wick
