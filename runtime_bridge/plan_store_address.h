// Which store of plans is meant, and how it is reached.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct PlanStoreAddress {
  bool tls = false;
  std::string host;
  int port = 6379;
  int database = 0;
  std::string user;      // empty: the server's default user
  std::string password;  // empty: none. Comes from a file or the environment, never from a command
  // Files of PEM: who may have signed the server's certificate (empty: whom the machine trusts),
  // and the certificate and key that this process shows (empty: none).
  std::string authorities, certificate, key;
  bool operator==(const PlanStoreAddress&) const = default;
};

// redis://[USER@]HOST[:PORT][/DATABASE], with TLS rediss://. An IPv6 address stands in brackets.
// Error{kBadInput} with `option`, the value and what would be right; one with a password is
// refused without repeating it, since all users of a machine see its command lines.
PlanStoreAddress read_store_address(std::string_view option, std::string_view text);
// The same, written again.
std::string words_of(const PlanStoreAddress& address);

}  // namespace penstock
