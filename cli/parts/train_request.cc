#include "cli/parts/train_request.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/parts/book_plan.h"
#include "core/values/error.h"
#include "runtime_bridge/find_archive.h"
#include "runtime_bridge/launcher.h"

namespace penstock {

bool runs_as_threads(const TrainRequest& request) {
  return request.options.transport == TransportKind::kLoopback ||
         (!request.place && request.plan.value.plan.devices() == 1);
}

void say_note(const std::string& what) { std::fprintf(stderr, "note: %s\n", what.c_str()); }

void say_who_is_believed(const LaunchEnvironment& place) {
  for (const std::string& other : place.ignored) {
    say_note("this is rank " + std::to_string(place.rank) + " of " + place.believed +
             "; the variables that " + other + " left in the environment are ignored");
  }
}

void find_archive_of(PlanFile& plan, const std::string& path) {
  if (plan.description) find_archive(*plan.description, path);
}

void add_later_plans(const std::vector<TrainSettings::LaterPlan>& later, PlanSequence& plans) {
  for (const TrainSettings::LaterPlan& each : later) {
    const auto known = std::ranges::find(plans, each.path, &PlanFromStep::path);
    if (known != plans.end()) {
      PlanFromStep again = *known;
      again.first_step = each.first_step;
      plans.push_back(std::move(again));
      continue;
    }
    Loaded<PlanFile> plan = load_plan(each.path);
    find_archive_of(plan.value, each.path);
    plans.push_back({each.first_step, std::make_shared<const PlanFile>(std::move(plan.value)),
                     each.path, plan.file.hash});
  }
}

std::optional<LaunchEnvironment> read_place(const TrainRequest& request, bool has_book) {
  LaunchFlags flags = request.settings.launch_flags();
  if (has_book && !flags.rank && request.environment.find("RANK") == request.environment.end()) {
    flags.ranks.reset();
  }
  return read_launch_environment(request.environment, flags);
}

Loaded<PlanFile> plan_for_ranks(const TrainRequest& request, const std::string& book) {
  const LaunchFlags flags = request.settings.launch_flags();
  const RanksOfTypes of_types = request.settings.ranks_of_types();
  if (flags.ranks) return plan_from_book(book, *flags.ranks, of_types);
  const std::optional<LaunchEnvironment> place = read_place(request, true);
  if (place) return plan_from_book(book, place->ranks, of_types);
  throw_bad_input(
      "--book: the number of ranks is not known\nhelp: start it under torchrun, mpirun or Slurm, "
      "or give --ranks N to start up to N ranks here");
}

void leave_out_surplus(TrainRequest& request) {
  const int used = request.plan.value.plan.devices();
  // Of those that we started ourselves there are as many as the plan has, numbered as in the plan.
  if (has_launcher(request.environment)) {
    request.place->ranks = used;
    return;
  }
  if (const RanksOfTypes of_types = request.settings.ranks_of_types(); !of_types.empty()) {
    const std::vector<std::string> devices = devices_of_ranks(request.plan.value.plan);
    LaunchEnvironment& place = *request.place;
    place.rank = rank_in_plan(devices, of_types, place.rank);
    if (place.store_rank) place.store_rank = rank_in_plan(devices, of_types, *place.store_rank);
  }
  request.surplus = request.place->rank >= used;
  if (request.place->rank == 0 && used < request.place->ranks) {
    say_note(fmt::format("{} of the {} ranks train by the plan of {}; the others wait", used,
                         request.place->ranks, request.plan.file.path));
  }
  request.place->ranks = used;
}

}  // namespace penstock
