#include "cli/options/contention_options.h"

#include <doctest/doctest.h>

#include "cli/io/files.h"
#include "tests/core/messages.h"

using namespace penstock;
using penstock::tests::message_of;

TEST_CASE("a cluster without contention would do nothing, and is refused") {
  ContentionOptions options;
  CHECK_FALSE(options.given());
  options.cluster = "cluster.json";
  CHECK(message_of([&] { (void)options.given(); }) ==
        "--cluster: means something only with --contention\nhelp: add --contention");
  options.contention = true;
  CHECK(options.given());
}

TEST_CASE("the links are those of the file that the plan names, if it is unchanged") {
  ContentionOptions options;
  PlanFile file;
  file.cluster_file = load_cluster("data/clusters/a100-40gb-p4d-8x8.json").file;
  CHECK(options.load(file).levels.size() == 2);
  file.cluster_file.hash = "fnv1a64:0";
  CHECK(
      message_of([&] { (void)options.load(file); }) ==
      "data/clusters/a100-40gb-p4d-8x8.json: not the cluster that the plan was made for any more\n"
      "help: name one with --cluster");
  options.cluster = "data/clusters/gh200-96gb-16x4.json";
  CHECK(options.load(file).name != "");
}
