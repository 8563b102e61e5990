#include "server/http/host_names.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

namespace ip = boost::asio::ip;

// Without port, brackets and the dot of a full name; in lower case.
std::string bare_name(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    host = end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

std::optional<ip::address> address_of(const std::string& name) {
  boost::system::error_code error;
  const ip::address address = ip::make_address(name, error);
  if (error) return std::nullopt;
  if (address.is_v6() && address.to_v6().is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  return address;
}

}  // namespace

HostNames::HostNames(const ip::address& address, const std::vector<std::string>& names) : address_(address) {
  for (const std::string& name : names) {
    all_ = all_ || name == "*";
    const bool is_plain = name.find_first_of("/ ?#@*,") == std::string::npos;
    const std::string bare = address_of(name) ? name : bare_name(name);
    if (name != "*" && (!is_plain || bare.empty())) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("allowed host ", in_quotes(name), ": expected '*' or a name, 'example.org'"));
    }
    names_.push_back(bare);
  }
}

bool HostNames::has(std::string_view host) const {
  const std::string name = bare_name(host);
  if (all_ || std::find(names_.begin(), names_.end(), name) != names_.end()) return true;
  const bool is_local = address_.is_loopback() || address_.is_unspecified();
  if (name == "localhost") return is_local;
  const auto asked = address_of(name);
  if (!asked) return false;
  return address_.is_unspecified() || asked == address_ || (address_.is_loopback() && asked->is_loopback());
}

}  // namespace wick
