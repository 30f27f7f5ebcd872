// What `penstock train` is asked to run: the plans, from files or from a book, and which rank of
// the job this process is, by the environment and the options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/io/environment.h"
#include "cli/options/train_settings.h"
#include "core/values/loaded.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/program_source.h"

namespace penstock {

struct TrainRequest {
  Loaded<PlanFile> plan;  // the first
  PlanSequence plans;
  TrainSettings settings;
  TrainOptions options;
  Environment environment;
  std::optional<LaunchEnvironment> place;  // of this rank, if it is one of several
  bool has_launcher = false;               // of ours, which has checked the job and said all notes
  bool surplus = false;                    // a rank that the plan of a book has no use for
  bool json = false;
};

// Whether all ranks are threads of this process: nothing moves between processes then.
[[nodiscard]] bool runs_as_threads(const TrainRequest& request);

// What a person should know, on stderr.
void say_note(const std::string& what);
// Several launchers may have left their variables.
void say_who_is_believed(const LaunchEnvironment& place);

// The archive of the model lies beside the plan file, or where the plan says.
void find_archive_of(PlanFile& plan, const std::string& path);
// A file that is named twice is read once.
void add_later_plans(const std::vector<TrainSettings::LaterPlan>& later, PlanSequence& plans);
// What the environment says, but for --ranks of a book: alone it says how many may be started here.
std::optional<LaunchEnvironment> read_place(const TrainRequest& request, bool has_book);
// All ranks of a job find the same plan of a book, since they find the same number.
Loaded<PlanFile> plan_for_ranks(const TrainRequest& request, const std::string& book);
// Ranks that the plan has no use for stay beside the others.
void leave_out_surplus(TrainRequest& request);

}  // namespace penstock
