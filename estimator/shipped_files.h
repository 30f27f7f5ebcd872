// Files of data/ as text, built in by estimator/CMakeLists.txt. Private to estimator/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ShippedFile {
  std::string path;  // in the source tree, for messages
  std::string_view text;
};

std::vector<ShippedFile> shipped_device_files();
ShippedFile shipped_efficiency_file();

}  // namespace penstock
