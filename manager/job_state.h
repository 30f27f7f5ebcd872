// All that the manager of a job must remember: a manager that is killed and started again goes on
// from the stored state as if nothing had been.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "manager/job_machine.h"
#include "manager/plan_page.h"
#include "manager/start_times.h"
#include "manager/utc_time.h"

namespace penstock {

enum class JobPhase {
  kWaiting,   // no ranks: for machines, or until a pause after failures is over
  kStarting,  // ranks were started and have not all met
  kRunning,
  kStopping,  // ranks were told to end, or one of them has ended; the others follow
  kFinished,  // all steps are done
  kStopped,   // on request; `manage` goes on from here when it is started anew
  kFailed,    // and will not be tried again
};
std::string_view name_of(JobPhase phase);  // "waiting"

// What follows when the ranks of the generation have ended.
enum class AfterStop { kStartAgain, kStop, kFail };

// Where a rank of the running generation is.
struct PlacedRank {
  int rank = 0;
  std::string machine;
  int local_rank = 0;       // on its machine: which GPU
  bool ended = false;       // then, of what is known:
  std::optional<int> code;  // exit code
  int signal = 0;
  bool operator==(const PlacedRank&) const = default;
};

// One generation of ranks: they live and end together.
struct Generation {
  std::int64_t number = 0;  // rises by one with every start; 0: nothing was ever started
  int page = 0;             // number of GPUs of the book's page
  Duration predicted_step{};
  std::vector<PlacedRank> ranks;
  std::int64_t first_step = 0;  // of its first step, once that is done
  bool has_stepped = false;
  UtcTime started{};
  std::optional<UtcTime> ready;
  // The last time that its ranks wrote a checkpoint, before they were told to end.
  std::optional<UtcTime> checkpointed{};
  // A step with the machines that are slow, by a simulation; nothing: none is, or nobody has said
  // yet.
  std::optional<Duration> slowed_step{};
  bool operator==(const Generation&) const = default;
};

// How the ranks of a generation come to end: each takes its own time.
enum class WayToEnd {
  kTold,         // they were told to write a checkpoint and exit
  kLostPeer,     // one was killed, which was seen at once: the others notice
  kSilentPeer,   // the others noticed before us, since one hangs or is out of reach
  kFailedStart,  // they had not begun yet
  kKilled,
  // One is gone, or its machine, and nobody saw it end: when that is noticed, the others have begun
  // to notice, too.
  kLostUnseen,
};
inline constexpr std::size_t kWaysToEnd = 6;

// While ranks end.
struct Stopping {
  AfterStop then = AfterStop::kStartAgain;
  WayToEnd way = WayToEnd::kTold;
  bool with_checkpoint = false;  // they were asked to write one before
  bool killed = false;           // they were told to end at once
  bool outlived = false;         // the time that they had to end by themselves
  bool failure = false;          // nobody asked for it, and no machine was lost
  UtcTime began{};
  UtcTime kill_at{};  // those that are left
  // Since when nothing is left to wait for: a checkpoint of all finished steps is complete, and
  // ranks have ended.
  std::optional<UtcTime> kept_at;
  std::string reason;
  bool operator==(const Stopping&) const = default;
};

// How many GPUs there were, and what ran: a policy learns from it. Newest last.
struct SeenChange {
  UtcTime at{};
  int gpus = 0;
  std::vector<std::string> added, lost;
  std::optional<int> running;  // GPUs of the plan that ran
  // Where the book counts types: the page that ran, and GPUs of each of its types.
  std::optional<int> page{};
  std::vector<int> of_types{};
  bool operator==(const SeenChange&) const = default;
};

// A plan made for the ranks of one generation because some of them were slow.
struct TailoredPlan {
  PlanPage page;
  std::vector<PlacedRank> ranks;
  std::vector<double> factors;  // of each rank's machine, when it was made
  bool operator==(const TailoredPlan&) const = default;
};

// How long ranks took to end, and to start, the last times: what the next change is expected to
// take. Empty: not measured yet.
struct ChangeTimes {
  static constexpr std::size_t kRemembered = 5;
  std::array<std::vector<Duration>, kWaysToEnd> ends;  // by WayToEnd, the newest last
  std::vector<MeasuredStart> starts;                   // the newest last

  // The median of what is remembered, of two the lesser: an end among others that something else
  // has delayed says nothing about the next.
  [[nodiscard]] static std::optional<Duration> typical(std::vector<Duration> times);
  [[nodiscard]] std::optional<Duration> end(WayToEnd way) const {
    return typical(ends.at(static_cast<std::size_t>(way)));
  }
  bool operator==(const ChangeTimes&) const = default;
};

// From the event that ends a generation to the first step of the next one.
struct ExpectedStep {
  UtcTime since{};
  Duration time{};
  // Of it, until the next ranks are started; managers before this one did not keep it.
  std::optional<Duration> end{};
  // The job waited for machines meanwhile, or the manager was killed, which nobody could foresee.
  bool waited = false;
  bool operator==(const ExpectedStep&) const = default;
};

struct JobState {
  std::string job;    // its name
  std::string token;  // which only this job's ranks know
  UtcTime created{};
  JobPhase phase = JobPhase::kWaiting;
  std::vector<JobMachine> machines;  // by name
  Generation generation;             // that runs, or ran last
  std::optional<Stopping> stopping;
  std::int64_t last_step = 0;         // steps done, by the newest generation
  double last_loss = 0.0;             // or kNotFinite
  std::optional<Duration> step_time;  // of the last step
  std::optional<UtcTime> last_sign;   // of life of the ranks: a step, a checkpoint, the start
  std::int64_t checkpoint_step = 0;   // of the newest checkpoint
  // Estimates: the job file's until they are measured. A restart lasts until the first step is
  // done.
  Duration write_time{}, restart_time{};
  static constexpr std::size_t kIntervals = 8;
  std::vector<Duration> kept_intervals{};  // between checkpoints of one generation, the newest last
  ChangeTimes change_times;
  std::optional<ExpectedStep> expected;  // while there is no first step
  std::vector<PlanPage> found_pages;     // by searches, ascending by GPUs
  std::optional<TailoredPlan> tailored;
  // Failures since the newest checkpoint moved on.
  int failures = 0;
  int failed_starts = 0;              // in a row, whose ranks did not meet in time
  std::optional<UtcTime> look_again;  // at whether another plan pays
  std::optional<UtcTime> pause_until;
  std::string why;  // the phase, for people: "no page of the book fits 1 GPU"
  // Counters; breaks: generations that ended without being told to.
  std::int64_t restarts = 0, breaks = 0, lost_steps = 0;
  std::vector<SeenChange> history;
  std::vector<std::string> handled_commands;  // newest last

  // How far apart checkpoints are at a moment that is drawn: a loss takes half of that. Intervals
  // count by their length, so that a short one beside a checkpoint that was asked for counts
  // little.
  [[nodiscard]] std::optional<Duration> kept_interval() const;
  [[nodiscard]] bool has_ended() const {
    return phase == JobPhase::kFinished || phase == JobPhase::kStopped ||
           phase == JobPhase::kFailed;
  }
  bool operator==(const JobState&) const = default;
};

Json write_job_state(const JobState& state);
// Error{kBadInput} for anything malformed.
JobState read_job_state(const Json& json, const std::string& file);

}  // namespace penstock
