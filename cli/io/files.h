// Reading the files that verbs work on, with the hash that says which they were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/loaded.h"
#include "core/values/plan_book.h"
#include "core/values/plan_file.h"
#include "core/values/profile.h"
#include "report/traces/trace_files.h"

namespace penstock {

// Error{kMissingResource} when there is no such file, Error{kBadInput} when it is malformed, or
// something else than is wanted here: a cluster where the plan belongs. Of a folder its config.json
// is read.
Loaded<Json> load_json(const std::string& path);
Loaded<ModelProfile> load_profile(const std::string& path);
Loaded<ClusterSpec> load_cluster(const std::string& path);
Loaded<PlanFile> load_plan(const std::string& path);
Loaded<PlanBook> load_plan_book(const std::string& path);
// penstock.job/1, .slow/1, .costs/1 and .runs/1, for their readers.
Loaded<Json> load_costs(const std::string& path);
Loaded<Json> load_job_file(const std::string& path);
Loaded<Json> load_slow_ranks(const std::string& path);
Loaded<Json> load_runs(const std::string& path);
// A file that is no JSON.
std::string load_text(const std::string& path);

// Before long work whose answer is written to `path`: Error{kMissingResource} where its folder does
// not exist.
void require_folder_of(const std::string& path);

// Error{kBadInput} where the name of an HTML page says that it is something else: a browser shows
// what is called a PDF as one.
void require_page_name(const std::string& output);

// Makes the folder; what begins with "#!" may be executed. Returns the paths.
// Error{kMissingResource} when it cannot be.
std::vector<std::string> write_into(const std::string& folder, const std::vector<NamedText>& files);

// The member "format", or nothing.
std::string format_of(const Json& json);
// The same of a text that was not parsed, wherever the member stands: "penstock.plan/2" for a file
// of ours, else nothing.
std::string own_format_in(std::string_view text);
// Is it the config.json of a model, rather than a file of ours?
bool is_model_config(const Json& json);
// Error{kBadInput} for a file that is known to be something else than `wanted`
// ("penstock.plan/2"), with what to do with it. Others are left to their readers.
void expect_format(const Json& json, const std::string& path, std::string_view wanted);
// The same where a profile belongs; a file of nobody's format is refused, too.
void expect_profile(const Json& json, const std::string& path);

}  // namespace penstock
