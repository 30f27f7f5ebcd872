// OpenSSL's HMAC, random bytes and comparison. The file holds the key as hexadecimal text, so that
// it survives editors and copies; it is made with O_EXCL under another name and linked into its
// place, so that two managers that begin at once end up with one key, and none reads half a file.
#include "manager/port/port_key.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::size_t kLeastBytes = 32;
constexpr std::size_t kMostHex = 1024;

std::string hex(const unsigned char* bytes, std::size_t count) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 15U];
  }
  return text;
}

bool is_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// A descriptor that closes itself.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  int number;
};

[[noreturn]] void no_key(const std::string& path, const std::string& what,
                         const std::string& help) {
  throw Error(ErrorKind::kMissingResource, path + ": " + what + "\nhelp: " + help);
}

void write_secret(const std::string& path, const std::string& text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written =
      file.number >= 0 &&
      ::write(file.number, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file.number) == 0;
  if (!written) no_key(path, std::strerror(errno), "choose a run folder that can be written");
}

// Where `path` is not there yet: another that made it first has made it.
void place_secret(const std::string& path, const std::string& text) {
  const std::string draft = path + "." + random_hex(8);
  write_secret(draft, text);
  const bool placed = ::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST;
  const int error = errno;
  ::unlink(draft.c_str());
  if (!placed) no_key(path, std::strerror(error), "choose a run folder that can be written");
}

std::string read_secret(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.number < 0) {
    no_key(path, std::strerror(errno),
           "the manager makes this file when it starts; copy it from its run folder, and name the "
           "copy "
           "with --key FILE");
  }
  struct stat facts {};
  if (::fstat(file.number, &facts) != 0 || !S_ISREG(facts.st_mode))
    no_key(path, "is not a regular file", "name the key file");
  if ((facts.st_mode & 077U) != 0 || facts.st_uid != ::geteuid()) {
    no_key(path, "a key must belong to you, and nobody else may read it", "chmod 600 " + path);
  }
  std::string text(kMostHex + 1, '\0');
  const ssize_t count = ::read(file.number, text.data(), text.size());
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

PortKey::PortKey(std::string bytes) : bytes_(std::move(bytes)) {
  if (bytes_.size() < kLeastBytes) throw_bad_input("a key has at least 32 bytes");
}

std::string PortKey::sign(std::string_view text) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> result{};
  unsigned int size = 0;
  const auto* made =
      HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), result.data(), &size);
  if (made == nullptr) throw Error(ErrorKind::kInternal, "HMAC-SHA-256 failed");
  return hex(result.data(), size);
}

bool PortKey::is_signature(std::string_view text, std::string_view signature) const {
  return is_equal(sign(text), signature);
}

// Another text than any command, which begins with '{'.
std::string PortKey::read_token() const { return sign("penstock: may read"); }
bool PortKey::is_read_token(std::string_view token) const { return is_equal(read_token(), token); }

std::string random_hex(std::size_t count) {
  std::vector<unsigned char> bytes(count);
  if (RAND_bytes(bytes.data(), static_cast<int>(count)) != 1) {
    throw Error(ErrorKind::kMissingResource, "the system has no random numbers");
  }
  return hex(bytes.data(), count);
}

PortKey read_port_key(const std::string& path) {
  const std::string text = read_secret(path);
  if (text.size() < 2 * kLeastBytes || text.size() > kMostHex ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    no_key(path, "a key is 64 to 1,024 hexadecimal digits",
           "remove the file, and start the manager, which makes a new one");
  }
  return PortKey(text);
}

PortKey make_port_key(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) place_secret(path, random_hex(kLeastBytes) + "\n");
  PortKey key = read_port_key(path);
  const std::string reading = path + ".read";
  if (::lstat(reading.c_str(), &facts) == 0 && !key.is_read_token(read_secret(reading))) {
    ::unlink(reading.c_str());  // of another key
  }
  if (::lstat(reading.c_str(), &facts) != 0) place_secret(reading, key.read_token() + "\n");
  return key;
}

}  // namespace penstock
