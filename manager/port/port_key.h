// The secret of a manager's port: who has it may command the job. It lives in a file of mode 0600,
// and never in an argument, an environment variable, a log line or on the wire.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

class PortKey {
 public:
  // Of at least 32 bytes.
  explicit PortKey(std::string bytes);

  // HMAC-SHA-256 over the text, in hexadecimal.
  [[nodiscard]] std::string sign(std::string_view text) const;
  // Takes the same time wherever the two differ.
  [[nodiscard]] bool is_signature(std::string_view text, std::string_view signature) const;

  // Derived from the key, and good for reading only: Prometheus has to send it as it is.
  [[nodiscard]] std::string read_token() const;
  [[nodiscard]] bool is_read_token(std::string_view token) const;

 private:
  std::string bytes_;
};

// `count` random bytes of the kernel, in hexadecimal.
std::string random_hex(std::size_t count);

// Reads the key, and refuses a file that others may read, that belongs to another user, or that
// holds fewer than 32 bytes.
PortKey read_port_key(const std::string& path);
// The same after making the file where there is none. The token for reading is written beside it,
// PATH.read.
PortKey make_port_key(const std::string& path);

}  // namespace penstock
