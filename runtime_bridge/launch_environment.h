// Which rank this process is and where the others meet: from flags, else from what the launcher
// left in the environment. A pure function; only main() asks the system for its environment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

using Environment = std::map<std::string, std::string>;

// Each wins over what the environment says.
struct LaunchFlags {
  std::optional<int> rank, ranks, local_rank;
  std::optional<std::string> master;  // "HOST:PORT" or "HOST"
  bool operator==(const LaunchFlags&) const = default;
};

struct LaunchEnvironment {
  std::string believed;  // "torchrun", "Open MPI", "MPICH", "Slurm", "the flags": for people
  int rank = 0, ranks = 1, local_rank = 0;
  std::string host;
  int port = 0;
  std::string key_prefix;         // of what this attempt writes to the store
  bool serves_store = false;      // rank 0 of launchers that do not serve it themselves
  std::optional<int> store_rank;  // the rank that does; nothing: the launcher
  std::string network_interface;  // GLOO_SOCKET_IFNAME; empty: that of the way to rank 0
  // Of this machine, that our launcher has claimed for the ranks of the job; nothing: it did not.
  std::optional<std::vector<int>> processors;
  // Other launchers that left their variables too, and were not believed.
  std::vector<std::string> ignored;
  bool operator==(const LaunchEnvironment&) const = default;
};

// Nothing when neither flags nor environment say which rank this is. Error{kBadInput} for
// what is missing, malformed or contradictory, naming the variable and the flag that settles it.
std::optional<LaunchEnvironment> read_launch_environment(const Environment& environment,
                                                         const LaunchFlags& flags = {});

// "gpu[03-05,09],login1" -> "gpu03": the first host of a Slurm list.
std::string first_host(const std::string& slurm_list);

// The environment's variables of our own. The token keeps strangers, and jobs that were given the
// address of another by mistake, from its store: no key can be asked for without it.
inline constexpr const char* kTokenVariable = "PENSTOCK_JOB_TOKEN";
inline constexpr const char* kProcessorsVariable = "PENSTOCK_PROCESSORS";  // "0,2,3"; may be empty

// One rank that our own launcher starts.
struct StartedRank {
  int rank = 0, ranks = 1;              // in the job
  int local_rank = 0, local_ranks = 1;  // on this machine
  std::string host = "127.0.0.1";       // of the store
  int port = 0;
  bool operator==(const StartedRank&) const = default;
};
// What it finds in its environment, besides that of the launcher. It speaks torchrun's language, so
// a rank cannot tell the two apart.
Environment environment_of_rank(const Environment& launcher, const StartedRank& started);

}  // namespace penstock
