// What the manager does about an event: the next state, acts, and why. State and log are stored
// before the acts are carried out, so every act can be carried out twice without harm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "manager/event.h"
#include "manager/job_state.h"

namespace penstock {

// Ranks 0..n-1 of a generation, all at once. A rank of this generation that already runs, or ran,
// is left alone.
struct StartRanks {
  std::int64_t generation = 0;
  int page = 0;                       // of the book: its number of GPUs
  std::vector<PlacedRank> ranks;      // by rank
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end and when asked
  // Not 0: ranks choose the interval themselves, by what a checkpoint costs and losses this apart.
  Duration between_losses{};
  bool operator==(const StartRanks&) const = default;
};

enum class ProcessSignal {
  kCheckpoint,         // SIGUSR2: write a checkpoint and go on
  kCheckpointAndExit,  // SIGTERM: write a checkpoint after this step and exit with 4
  kKill,               // SIGKILL, and what else it takes
};

// To all ranks of the generation that live (on one machine, where it is named); nothing when none
// does. Never to another generation.
struct SignalRanks {
  std::int64_t generation = 0;
  ProcessSignal signal = ProcessSignal::kKill;
  std::string machine;  // empty: all
  bool operator==(const SignalRanks&) const = default;
};

// The machine is not used any more and all is in a checkpoint: a cloud that asks may take it now.
struct ReleaseMachine {
  std::string machine;
  bool operator==(const ReleaseMachine&) const = default;
};

using Act = std::variant<StartRanks, SignalRanks, ReleaseMachine>;

struct LogEntry {
  UtcTime at{};
  std::int64_t generation = 0;
  std::string event;     // what happened, in words
  std::string decision;  // one word: "start", "stop", "ignore", "wait", ...
  std::string reason;    // one whole sentence
  bool operator==(const LogEntry&) const = default;
};

// For whoever gave a command.
struct CommandAnswer {
  std::string id;
  bool accepted = false;
  std::string words;  // what will happen, or why not
  bool operator==(const CommandAnswer&) const = default;
};

struct JobDecision {
  JobState next;
  std::vector<Act> acts;      // in this order
  std::vector<LogEntry> log;  // none: nothing worth a line, as after most steps
  std::optional<CommandAnswer> answer;
  std::optional<UtcTime> wake;  // give TimePassed then, if nothing happens before
};

Json write_act(const Act& act);
Act read_act(const Json& json, const std::string& file);
// One line of decisions.jsonl.
Json write_log_entry(const LogEntry& entry);

}  // namespace penstock
