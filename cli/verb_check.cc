#include <string>

#include <fmt/format.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "core/check.h"
#include "core/format.h"
#include "report/result_json.h"
#include "report/simulation_report.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock check plan.json
  penstock check plan.json --json
  penstock check data/profiles/gpt-6.7b.a100-40gb.json
)";

struct Checked {
  std::string text;  // one line or several
  CheckReport report;
};

// A profile or a cluster is checked by reading it: readers are strict.
Checked checked(const std::string& path) {
  const Loaded<Json> json = load_json(path);
  const std::string format = format_of(json.value);
  if (format == "penstock.profile/1") {
    const ModelProfile profile = read_profile(json.value, path);
    return {fmt::format("{}: no findings; the profile of {}, {} sections\n", path, profile.name,
                        profile.sections.size()),
            {}};
  }
  if (format == "penstock.cluster/1") {
    const ClusterSpec cluster = read_cluster(json.value, path);
    return {fmt::format("{}: no findings; the cluster {}, {} devices\n", path, cluster.name,
                        device_count(cluster)),
            {}};
  }
  Checked result;
  result.report = check(read_plan(json.value, path));
  result.text = check_text(result.report, path);
  return result;
}

}  // namespace

Answer run_check(const Arguments& arguments) {
  std::string file;
  bool json = false;
  Options options(
      "check FILE [--json]",
      "Judges a plan file without the search that made it: structure, order of actions, "
      "memory sums and the replayed step time are worked out again by the plainest "
      "method there is, and every difference is a finding. Profiles and clusters are "
      "checked by strict reading. Exit code 1 when there are findings.",
      kExamples);
  options.heading("Options");
  options.positional("FILE", "a plan, profile or cluster file", file);
  options.flag("--json", "the findings as one JSON object", json);
  if (auto help = options.parse(arguments)) return {*help};

  const Checked result = checked(file);
  const int exit = result.report.findings.empty() ? kYes : kNo;
  if (!json) return {result.text, exit};
  Json object = Json::object();
  object.set("schema_version", kResultSchemaVersion);
  object.set("verb", "check");
  object.set("file", file);
  object.set("report", to_json(result.report));
  return {to_text(object) + '\n', exit};
}

}  // namespace penstock
