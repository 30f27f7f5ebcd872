#include "manager/port/port_key.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "penstock_key_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

unsigned mode_of(const std::filesystem::path& path) {
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 0777U;
}

// RFC 4231, test case 6 has a key of 131 bytes 0xaa: the shortest of its keys that is long enough.
TEST_CASE("a signature is HMAC-SHA-256") {
  const PortKey key(std::string(131, '\xaa'));
  CHECK(key.sign("Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("a signature holds for its text and key only") {
  const PortKey key(std::string(32, 'a'));
  const std::string signature = key.sign("text");
  CHECK(key.is_signature("text", signature));
  CHECK_FALSE(key.is_signature("texT", signature));
  CHECK_FALSE(key.is_signature("text", signature.substr(1)));
  CHECK_FALSE(key.is_signature("text", ""));
  CHECK_FALSE(PortKey(std::string(32, 'b')).is_signature("text", signature));
  CHECK_THROWS_AS(PortKey(std::string(31, 'a')), Error);
}

TEST_CASE("a key is made once, and only its owner may read it") {
  const Folder folder;
  const std::string path = (folder.path / "port.key").string();
  const std::string signature = make_port_key(path).sign("text");
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(path + ".read") == 0600);
  CHECK(make_port_key(path).is_signature("text", signature));
  CHECK(read_port_key(path).is_signature("text", signature));
  CHECK(read_file(path + ".read") == read_port_key(path).read_token() + "\n");
  // Nothing is left behind.
  int files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder.path))
    ++files;
  CHECK(files == 2);
}

TEST_CASE("a new key has a new token for reading") {
  const Folder folder;
  const std::string path = (folder.path / "port.key").string();
  const std::string before = make_port_key(path).read_token();
  std::filesystem::remove(path);
  const PortKey key = make_port_key(path);
  CHECK(key.read_token() != before);
  CHECK(read_file(path + ".read") == key.read_token() + "\n");
}

TEST_CASE("a key that others may read, a short one and a link are refused") {
  const Folder folder;
  const std::string path = (folder.path / "port.key").string();
  CHECK_THROWS_WITH((void)read_port_key(path), doctest::Contains("No such file"));
  (void)make_port_key(path);
  std::filesystem::create_symlink(path, path + ".link");
  CHECK_THROWS_AS((void)read_port_key(path + ".link"), Error);
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  CHECK_THROWS_WITH((void)read_port_key(path), doctest::Contains("chmod 600"));
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  std::ofstream(path) << std::string(63, 'a') << "\n";
  CHECK_THROWS_WITH((void)read_port_key(path), doctest::Contains("64 to 1,024"));
}

}  // namespace
}  // namespace penstock
