#include "runtime_bridge/plan_store_address.h"

#include <charconv>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr int kMostPort = 65535, kMostDatabase = 1 << 20;

class AddressReader {
 public:
  AddressReader(std::string_view option, std::string_view text) : option_(option), text_(text) {}

  [[nodiscard]] PlanStoreAddress read() const {
    PlanStoreAddress address;
    std::string_view rest = text_;
    if (rest.starts_with("rediss://")) {
      address.tls = true;
    } else if (!rest.starts_with("redis://")) {
      refuse("expected redis://HOST or rediss://HOST, got '" + std::string(text_) + "'",
             "rediss:// is with TLS; for example redis://10.0.0.1:6379/0");
    }
    rest.remove_prefix(rest.find("//") + 2);
    if (rest.find_first_of("?#") != std::string_view::npos) {
      refuse("has options behind its '" + std::string(1, rest[rest.find_first_of("?#")]) + "'",
             "leave them out: the database is a number behind a slash (redis://10.0.0.1:6379/0), "
             "and all else has options of its own (--store-ca, --store-password-file)");
    }
    if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
      address.user = rest.substr(0, at);
      rest.remove_prefix(at + 1);
      if (address.user.find(':') != std::string::npos) {
        refuse("holds a password, which all users of this machine see on a command line",
               "put it into a file and name that with --store-password-file, or into the "
               "environment as PENSTOCK_STORE_PASSWORD");
      }
      if (address.user.find('@') != std::string::npos) {
        refuse("has two @, and one ends the user", "redis://planner@10.0.0.1:6379/0");
      }
    }
    if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
      const std::string_view database = rest.substr(slash + 1);
      if (!database.empty()) address.database = number(database, "database", 0, kMostDatabase);
      rest = rest.substr(0, slash);
    }
    read_host(rest, address);
    return address;
  }

 private:
  void read_host(std::string_view rest, PlanStoreAddress& address) const {
    std::size_t end = rest.find(':');
    if (rest.starts_with('[')) {
      const std::size_t bracket = rest.find(']');
      if (bracket == std::string_view::npos) refuse("has no ] behind its [", "[::1]:6379");
      address.host = rest.substr(1, bracket - 1);
      end = bracket + 1 < rest.size() ? bracket + 1 : std::string_view::npos;
      if (end != std::string_view::npos && rest[end] != ':') {
        refuse("has something behind its ]", "[::1]:6379");
      }
    } else {
      address.host = rest.substr(0, end);
    }
    if (address.host.empty()) refuse("names no host", "redis://10.0.0.1:6379/0");
    if (end != std::string_view::npos) {
      address.port = number(rest.substr(end + 1), "port", 1, kMostPort);
    }
  }

  [[nodiscard]] int number(std::string_view digits, const std::string& what, int least,
                           int most) const {
    int value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc{} && end == digits.data() + digits.size() && value >= least &&
        value <= most) {
      return value;
    }
    refuse("'" + std::string(digits) + "' is no " + what,
           "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& help) const {
    throw_bad_input(std::string(option_) + ": " + what + "\nhelp: " + help);
  }

  std::string_view option_, text_;
};

}  // namespace

PlanStoreAddress read_store_address(std::string_view option, std::string_view text) {
  return AddressReader(option, text).read();
}

std::string words_of(const PlanStoreAddress& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return std::string(address.tls ? "rediss://" : "redis://") +
         (address.user.empty() ? "" : address.user + "@") +
         (is_ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port) +
         "/" + std::to_string(address.database);
}

}  // namespace penstock
