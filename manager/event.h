// What can happen to a managed job. Events are all that its decisions depend on, besides the state,
// the job file and the time; whoever watches the world (processes, a machine file, a port, a cloud)
// turns what he sees into these.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "manager/plan_page.h"
#include "manager/utc_time.h"

namespace penstock {

// Already known machines join again: the notice, if there was one, is void; `gpus` replaces.
struct MachineJoined {
  std::string machine;
  int gpus = 1;
  std::string device{};  // its type; empty: nobody said
  bool operator==(const MachineJoined&) const = default;
};

// Announced: it will be gone by then. The same notice twice changes nothing, an earlier or later
// one moves the time.
struct MachineLeaves {
  std::string machine;
  UtcTime gone_by{};
  std::string notice;  // for people: "AWS spot notice", "machine file", "command 17 of alice"
  bool operator==(const MachineLeaves&) const = default;
};

struct NoticeWithdrawn {
  std::string machine;
  bool operator==(const NoticeWithdrawn&) const = default;
};

// Gone already, or cannot be reached.
struct MachineLost {
  std::string machine;
  std::string reason;  // for people
  bool operator==(const MachineLost&) const = default;
};

// Time of its ranks over what is usual; 1: no longer slow.
struct MachineSlow {
  std::string machine;
  double factor = 1.0;
  bool operator==(const MachineSlow&) const = default;
};

// What a simulation says about the machines of this generation that are slow.
struct SlowAdvised {
  std::int64_t generation = 0;
  Duration kept{};                // a step of the running plan, with what is slow
  std::optional<PlanPage> other;  // a faster plan for the same ranks where they are
  std::string what;               // of it: "sections 7|6|6|5 instead of 6|6|6|6"
  bool operator==(const SlowAdvised&) const = default;
};

// By a search, for a number of GPUs that the book has no page for.
struct PlanFound {
  PlanPage page;
  bool operator==(const PlanFound&) const = default;
};

// All ranks of the generation have met and begin their first step.
struct RanksReady {
  std::int64_t generation = 0;
  bool operator==(const RanksReady&) const = default;
};

struct RankEnded {
  std::int64_t generation = 0;
  int rank = 0;
  std::optional<int> code;  // none: by a signal, or nobody knows (it ended while no manager lived)
  int signal = 0;
  std::string last_words;  // the end of what it said, for the log
  bool operator==(const RankEnded&) const = default;
};

// Of a loss. Unlike NaN it equals itself, so that states can be compared.
constexpr double kNotFinite = std::numeric_limits<double>::infinity();

struct StepFinished {
  std::int64_t generation = 0;
  std::int64_t step = 0;  // steps that are done now, as `next step` of a checkpoint
  double loss = 0.0;      // kNotFinite: infinite or no number
  Duration time{};
  bool operator==(const StepFinished&) const = default;
};

// A complete checkpoint, after so many steps.
struct CheckpointWritten {
  std::int64_t generation = 0;  // 0: nobody knows which wrote it
  std::int64_t step = 0;
  std::optional<Duration> took;
  bool operator==(const CheckpointWritten&) const = default;
};

enum class CommandKind { kJoin, kLeave, kPreempt, kCheckpoint, kMorph, kStop };

// Somebody asks for something. A command whose id was handled before changes nothing.
struct CommandGiven {
  std::string id;  // unique: of whoever sends it
  CommandKind kind = CommandKind::kCheckpoint;
  std::string who;              // for the log
  std::string machine{};        // of join, leave and preempt
  int gpus = 1;                 // of join
  std::optional<UtcTime> at{};  // of leave and preempt; none: now
  std::string device{};         // of join: the type of its GPUs, if it is said
  bool operator==(const CommandGiven&) const = default;
};

// Nothing but that it is `now`.
struct TimePassed {
  bool operator==(const TimePassed&) const = default;
};

using Event = std::variant<TimePassed, MachineJoined, MachineLeaves, NoticeWithdrawn, MachineLost,
                           MachineSlow, SlowAdvised, PlanFound, RanksReady, RankEnded, StepFinished,
                           CheckpointWritten, CommandGiven>;

std::string_view name_of(CommandKind kind);                        // "preempt"
std::optional<CommandKind> command_called(std::string_view name);  // nothing: there is none

// "rank 2 of generation 5 ended with exit code 3", "machine a1 joined with 8 GPUs": for the log.
std::string words_of(const Event& event);

}  // namespace penstock
