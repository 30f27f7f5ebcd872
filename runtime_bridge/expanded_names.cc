#include "runtime_bridge/expanded_names.h"

#include <algorithm>
#include <filesystem>

#include <glob.h>

#include "core/values/error.h"

namespace penstock {

std::vector<std::string> expanded_names(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code ignored;
    const bool is_pattern = name.find_first_of("*?[") != std::string::npos;
    if (!is_pattern || std::filesystem::exists(name, ignored)) {
      files.push_back(name);
      continue;
    }
    glob_t found = {};
    const int failed = glob(name.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<std::string> matches(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    if (failed != 0 || matches.empty()) {
      throw Error(ErrorKind::kMissingResource, name + ": there is no such file");
    }
    std::ranges::sort(matches);  // by bytes, whatever the locale
    files.insert(files.end(), matches.begin(), matches.end());
  }
  return files;
}

}  // namespace penstock
