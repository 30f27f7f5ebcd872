// Which words of a command line name files, and of what: by the format of a file that is there, and
// by its name where it is not.
#pragma once

#include <string>
#include <string_view>

#include "cli/io/answer.h"

namespace penstock {

enum class FileRole { kNone, kPlan, kModel, kProfile, kCluster, kBook, kJob, kScript, kLog };

// Of any word: one that is too long for a name is no error of the file system's here.
bool is_there(const std::string& word);

// A model is a config.json, its folder, or a name on a hub; a script is all that starts a trainer.
FileRole role_of(const std::string& word);
// Whether it is a config.json or a profile that is there.
bool is_model_file(const std::string& path);
// "a cluster"; empty of a plan and of the log of a run, and where it is none of these.
std::string_view words_of_role(FileRole role);

// In the order in which they were typed; values of options, too. A profile stands for its model.
struct TypedFiles {
  Arguments plans, models, clusters, jobs, scripts, logs;
};
TypedFiles typed_files(const Arguments& arguments);

// Where plans are compared: "plan.json other.json", what is no other file being one, too.
Arguments plans_or_json(const Arguments& arguments);

}  // namespace penstock
