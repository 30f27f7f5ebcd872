// What the tests of the search share: small models and clusters made up in code, random ones, the
// shipped files, and results in a form that compares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/evaluation.h"
#include "core/values/profile.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/section_sums.h"
#include "tests/simulator/pipelines.h"

namespace penstock::testing {

// What a section costs per sample; everything is in proportion to b, on device "gpu", T = 1, mode
// "none", no sequence length.
struct Costs {
  std::int64_t forward_us = 1, backward_us = 2;
  std::int64_t parameters = 0;
  std::int64_t stash = 0, working = 0, boundary = 0;  // bytes
};
// One section type per section. Training state: 1 + 1 + 2 bytes per parameter; the optimizer takes
// no time.
ModelProfile model_of_sections(const std::vector<Costs>& sections, int most_samples = 8);

// `nodes` nodes of `per_node` devices "gpu"; transfers take no time unless `bandwidth` (B/s, of
// both levels) is given; no reserve.
struct ClusterShape {
  int nodes = 1, per_node = 1;
  std::int64_t memory = 1'000'000;
  double bandwidth = 1e18;
};
ClusterSpec cluster_of(const ClusterShape& shape);

// Random small ones: several tensor degrees, recompute modes, ties, links, tight memory.
ModelProfile random_model(Random& random, int sections);
ClusterSpec random_cluster(Random& random, int nodes, int per_node);

// The model measured on a second device type as well: all times `slower` times those of "gpu".
ModelProfile also_on(ModelProfile model, const std::string& device, int slower);
// A random model of so many sections on "gpu", and on "old" so many times slower. Drawn in one
// order, whatever the compiler: arguments of one call are drawn in any.
struct Drawn {
  int least = 1, most = 1;
};
ModelProfile random_model_on_two(Random& random, Drawn sections, Drawn slower);
// `nodes` nodes of `per_node` more devices, of a type that is "gpu" but for its name and memory.
void add_nodes(ClusterSpec& cluster, const std::string& device, int nodes, int per_node,
               std::int64_t memory);

// The sections of a model priced at b = 1, T = 1, mode "none".
SectionSums sums_of(const ModelProfile& model, int samples = 1);

// data/profiles/gpt-6.7b.a100-40gb.json and data/clusters/a100-40gb-p4d-8x8.json.
const ModelProfile& gpt();
const ClusterSpec& p4d();

SearchResult search(const ModelProfile& model, const ClusterSpec& cluster,
                    const SearchRequest& request, const ExecutorModel& executor = {});

// Everything that a ranked plan says, to be compared with ==.
struct Ranked {
  Plan plan;
  Evaluation evaluation;
  bool tied = false, on_front = false;
  std::string placed;
  bool operator==(const Ranked&) const = default;
};
std::vector<Ranked> all_of(const std::vector<RankedPlan>& plans);

std::int64_t rejected_in_all(const SearchResult& result);

// Schedules that a plan may name and that need no costs; and a plan of one of them.
std::vector<const ScheduleKind*> static_kinds();
const ScheduleKind& random_static_kind(Random& random);
// V only where the schedule leaves it open.
void set_schedule(Plan& plan, const ScheduleKind& kind, int chunks);

// The ends of every search test: each plan fits, evaluates to what it says, and holds before the
// independent judge; candidates are all accounted for.
void check_result(const ModelProfile& model, const ClusterSpec& cluster, const SearchResult& result,
                  const ExecutorModel& executor = {});

}  // namespace penstock::testing
