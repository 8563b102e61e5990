#pragma once

#include <boost/asio/ip/address.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// The names that a server answers to. A page can have its own name lead to any address ("DNS rebinding"), also to that
// of a server that only this machine should reach; but a browser tells the name it asked for.
class HostNames {
 public:
  // `names`: beside those that belong to `address`, where the server listens: at this machine alone, its loopback
  // names; at all addresses, any address and "localhost"; else the address itself. "*": every name. Throws
  // Error(kInvalidArgument) for what is no name or address.
  HostNames(const boost::asio::ip::address& address, const std::vector<std::string>& names);

  // Whether `host` is one of them; it is a Host field, "example.org:8080".
  bool has(std::string_view host) const;

 private:
  boost::asio::ip::address address_;
  std::vector<std::string> names_;  // in lower case
  bool all_ = false;
};

}  // namespace wick
