#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/parts/torch_program.h"
#include "cli/verbs/verbs.h"
#include "core/values/error.h"
#include "runtime_bridge/launcher.h"

namespace fs = std::filesystem;

namespace penstock {
namespace {

// The name ends in the version, so that no program goes on as one of another version.
constexpr std::string_view kName = PENSTOCK_TORCH_PROGRAM;
constexpr std::string_view kNameOfAll = "penstock-torch-";

constexpr const char* kHelp =
    "the two programs are built, packed and installed together: install both again, or start "
    "penstock from the folder where it was installed";

// Where a build leaves it, and where it is installed.
std::array<fs::path, 2> places() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    throw Error(ErrorKind::kMissingResource,
                "cannot tell where this program is, to find the one with LibTorch beside it: "
                "/proc/self/exe: " +
                    error.message() + "\nhelp: mount /proc");
  }
  return {own.parent_path(), (own.parent_path() / PENSTOCK_TORCH_FOLDER).lexically_normal()};
}

// "; penstock-torch-0.0.9 in /usr/libexec/penstock is of another version", or nothing.
std::string other_versions(const std::array<fs::path, 2>& folders) {
  std::string words;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kNameOfAll) || name == kName) continue;
      words += fmt::format("; {} in {} is of another version", name, folder.string());
    }
  }
  return words;
}

// As it was called: the options that main() has taken away are among them.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

void go_on_with_torch() {
  const std::array<fs::path, 2> folders = places();
  std::vector<std::string> words = command_line();
  const std::vector<char*> arguments = pointers_to(words);
  for (const fs::path& folder : folders) {
    const fs::path program = folder / kName;
    execv(program.c_str(), arguments.data());
    const int why = errno;
    // ENOENT is also said of a link to nothing, and where the interpreter of a script is missing.
    std::error_code error;
    if (fs::symlink_status(program, error).type() == fs::file_type::not_found) continue;
    throw Error(ErrorKind::kMissingResource,
                fmt::format("cannot start {}, the part of penstock {} that uses LibTorch: {}",
                            program.string(), version(), std::strerror(why)));
  }
  throw Error(ErrorKind::kMissingResource,
              fmt::format("the part of penstock {} that uses LibTorch is missing: there is no {} "
                          "in {} or {}{}\nhelp: {}",
                          version(), kName, folders[0].string(), folders[1].string(),
                          other_versions(folders), kHelp));
}

}  // namespace penstock
