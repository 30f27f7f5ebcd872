// The processes of a job on this machine, found by what they carry in their environment: which job,
// which of its starts (generations), and the ranks that their launcher has. Nobody needs to have
// recorded them, so a manager that was killed in the middle of a start finds them all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

inline constexpr const char* kJobVariable = "PENSTOCK_JOB";
inline constexpr const char* kGenerationVariable = "PENSTOCK_GENERATION";
inline constexpr const char* kMachineVariable = "PENSTOCK_MACHINE";

// Which process it is, also after its number has been given to another.
struct ProcessId {
  int process = 0;
  std::int64_t start_ticks = 0;  // when it was started, since the machine was
  bool operator==(const ProcessId&) const = default;
};

enum class ProcessState {
  kRunning,
  kStopped,  // by SIGSTOP or a debugger
  kEnded,    // or nobody has taken its end yet
};

struct JobProcess {
  ProcessId id;
  std::int64_t generation = 0;
  std::string machine;
  bool is_launcher = false;  // else one of its ranks
  ProcessState state = ProcessState::kRunning;
  bool operator==(const JobProcess&) const = default;
};

// By process number. Those that have ended are not among them.
std::vector<JobProcess> processes_of(const std::string& job);

// Nothing: there is no such process.
std::optional<std::int64_t> start_ticks_of(int process);
ProcessState state_of(const ProcessId& id);
// Only if it is still that process. False when it is not.
bool send_signal(const ProcessId& id, int signal);

}  // namespace penstock
