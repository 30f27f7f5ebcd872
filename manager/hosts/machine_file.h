// The list of machines that a person or a scheduler writes: lines "HOST GPUS" or "HOST GPUS
// TYPE", or JSON ({"machines": [{"host": "gpu7", "gpus": 8, "device": "a100-40gb"}]}). It is looked
// at again and again; what is malformed, perhaps because it is just being written, changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ListedMachine {
  std::string host;
  int gpus = 1;
  std::string device{};  // its type; empty: the file does not say
  bool operator==(const ListedMachine&) const = default;
};

// In file order. Error{kBadInput} for malformed lines, hosts that are named twice, and names that a
// command on the way there could misread.
std::vector<ListedMachine> read_machines(std::string_view text, const std::string& file);

class MachineFile {
 public:
  explicit MachineFile(std::string path) : path_(std::move(path)) {}

  struct Look {
    std::optional<std::vector<ListedMachine>> machines;  // only when they are others than before
    std::string wrong;  // why the file was not taken; said once for each content
    bool operator==(const Look&) const = default;
  };
  Look look();
  // The last good list; nothing before there was one.
  [[nodiscard]] const std::optional<std::vector<ListedMachine>>& machines() const { return good_; }

 private:
  std::string path_;
  std::optional<std::string> content_;  // that was looked at last
  std::optional<std::vector<ListedMachine>> good_;
  bool missing_ = false;
};

}  // namespace penstock
