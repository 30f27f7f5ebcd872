#include "runtime_bridge/find_archive.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "core/values/error.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> candidates(const fs::path& archive, const fs::path& plan) {
  std::vector<fs::path> paths{fs::absolute(archive)};
  fs::path folder = fs::absolute(plan).parent_path();
  const fs::path beside = folder / archive.filename();
  for (; archive.is_relative(); folder = folder.parent_path()) {
    paths.push_back(folder / archive);
    if (folder == folder.root_path()) break;
  }
  paths.push_back(beside);
  return paths;
}

}  // namespace

void find_archive(ModelDescription& description, const std::string& plan_path) {
  if (description.archive.empty()) return;
  for (const fs::path& path : candidates(description.archive, plan_path)) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) continue;
    description.archive = fs::canonical(path).string();
    return;
  }
  throw Error(ErrorKind::kMissingResource,
              description.archive + ": there is no such archive, neither here nor beside " +
                  plan_path + "\nhelp: copy it into the plan's folder");
}

}  // namespace penstock
