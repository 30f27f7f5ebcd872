#include "cli/io/launch_ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>

#include <fmt/format.h>

#include "cli/io/environment.h"
#include "cli/verbs/verbs.h"
#include "core/values/error.h"
#include "runtime_bridge/torch/train_rank.h"
#include "training/pin_to_processor.h"

namespace penstock {
namespace {

// Machines may be slow to start the first process of a job.
constexpr std::chrono::minutes kToMeet{5};

// Of one machine among several. The store is served where rank 0 is, by its launcher, until the
// ranks of all machines have ended: it goes with this machine and not with a rank.
void join_others(const LaunchedPart& part, LaunchOptions& options) {
  const MeetingFolder folder(part.folder);
  options.ranks = part.ranks.count;
  options.first_rank = part.ranks.first;
  const std::string token = options.environment[kTokenVariable];
  options.serve = [part, folder, token]() -> std::optional<HostedStore> {
    if (part.ranks.first > 0) return folder.wait_for_store(kToMeet, signal_waits);
    HostedStore store = serve_job_store();
    store.host = part.address.empty() ? this_machine().host : part.address;
    store.token = token;
    folder.say_where(store);
    return store;
  };
  options.changed = [part, folder](const LaunchedRanks& ranks) {
    try {
      folder.say_ranks(part.ranks, ranks);
    } catch (const Error& error) {
      // Without the first word nobody could find the ranks; how they end is said here as well.
      if (ranks.ends.empty()) throw;
      std::fprintf(stderr, "note: %s\n", error.what());
    }
  };
  options.is_given_up = [folder] { return folder.is_given_up(); };
  if (part.ranks.first > 0 || part.ranks.count == options.job_ranks) return;
  const int all = options.job_ranks.value_or(part.ranks.count);
  std::function<bool()> work;
  options.is_store_needed = [folder, all, work](const Environment& of_rank) mutable {
    if (folder.is_given_up() || folder.ended_ranks() >= all) return false;
    if (!work) work = whether_ranks_work(of_rank);
    return work();
  };
}

LaunchOptions options_of(const RanksToLaunch& wanted, const TrainOptions& train) {
  LaunchOptions options;
  options.ranks = wanted.ranks;
  options.job_ranks = wanted.ranks;
  options.environment = wanted.environment;
  options.environment.try_emplace(kTokenVariable, new_token());
  options.serve = serve_job_store;
  if (wanted.part) join_others(*wanted.part, options);
  if (train.pin_threads && train.threads_per_rank == 1 && train.device == "cpu") {
    options.environment[kProcessorsVariable] =
        fmt::format("{}", fmt::join(claim_processors(options.ranks, 0), ","));
  }
  options.start = start_program("/proc/self/exe", wanted.arguments);
  options.is_stopped = wanted.is_stopped;
  if (!train.checkpoint_folder.empty()) {
    options.is_saving = [folder = train.checkpoint_folder](const Environment& of_rank) {
      return survivors_are_saving(of_rank, folder);
    };
  }
  return options;
}

}  // namespace

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

int launch_ranks(const RanksToLaunch& wanted, const TrainOptions& options) {
  const LaunchResult result = launch(options_of(wanted, options));
  if (result.ends.empty()) {
    std::fprintf(stderr, "stopped on request before the first step\n");
    return kStopped;
  }
  const std::optional<RankEnd> failure = result.first_failure();
  // Ranks that were ended by a signal which we passed on have failed nothing, nor finished.
  const bool all_ended_well = std::ranges::none_of(result.ends, &RankEnd::failed);
  if (!failure) return all_ended_well ? kYes : kStopped;
  if (failure->signal != 0) {
    throw Error(ErrorKind::kMissingResource,
                words_of(*failure) +
                    ", and the run with it\nhelp: continue with --resume from the "
                    "newest checkpoint, if there is one");
  }
  return failure->exit_code;  // the rank has said why
}

}  // namespace penstock
