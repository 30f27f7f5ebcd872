// What a file is that people hand over in place of one of ours: a launch script, weights, a log,
// data. By its ending and its first letters, and of JSON by its keys.
#pragma once

#include <string>
#include <string_view>

#include "core/values/json.h"

namespace penstock {

struct FileKind {
  std::string_view words;  // "a launch script"; empty where it is none of these
  std::string use;         // "penstock check train.sh judges it"; may be empty
};
FileKind kind_of_text(const std::string& path, std::string_view text);
// A script or a configuration of a trainer that is there.
bool is_launch_file(const std::string& path);
// What to do with one where options belong; `options`: those of the verb that say what such a file
// says, "--gpus, --global-batch", or none.
std::string use_of_launch_file(const std::string& path, std::string_view options);
FileKind kind_of_json(const std::string& path, const Json& json);

}  // namespace penstock
