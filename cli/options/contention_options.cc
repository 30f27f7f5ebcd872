#include "cli/options/contention_options.h"

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/words/parse.h"
#include "core/values/error.h"

namespace penstock {

void ContentionOptions::declare(Options& options) {
  options.flag("--contention",
               "simulate every replica by itself, with transfers that share the cluster's links "
               "max-min fairly",
               contention);
  options.option("--cluster", "FILE",
                 "the links for --contention; default: the cluster file that the plan names",
                 cluster);
}

bool ContentionOptions::given() const {
  if (cluster && !contention) {
    bad_option("--cluster", "means something only with --contention", "add --contention");
  }
  return contention;
}

ClusterSpec ContentionOptions::load(const PlanFile& file) const {
  if (cluster) return load_cluster(*cluster).value;
  Loaded<ClusterSpec> loaded = load_cluster(file.cluster_file.path);
  if (loaded.file.hash != file.cluster_file.hash) {
    throw_bad_input(fmt::format(
        "{}: not the cluster that the plan was made for any more\nhelp: name one with --cluster",
        file.cluster_file.path));
  }
  return std::move(loaded.value);
}

}  // namespace penstock
