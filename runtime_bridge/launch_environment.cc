// A table of launchers (torchrun, Open MPI, MPICH, Slurm) names the variables that each of them
// sets. The first whose rank is set is believed, and flags overrule all of them; the others are
// listed as ignored, so that a job inside another job does not guess. The address of rank 0 comes
// from a flag, from MASTER_ADDR, or from Slurm's list of nodes; Slurm's port is derived from the
// job's number, which all ranks know.
#include "runtime_bridge/launch_environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/values/error.h"

namespace penstock {
namespace {

// torchrun's default too.
constexpr int kDefaultPort = 29500;
constexpr int kMostRanks = 1 << 20;

struct Launcher {
  const char* name;
  const char* rank;
  const char* ranks;
  const char* local_rank;
};
// In the order in which they are believed: torchrun under srun, and mpirun within a Slurm job, know
// better than what is around them.
constexpr std::array<Launcher, 4> kLaunchers{{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
}};

std::optional<std::string> find(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

int number(const std::string& text, const std::string& what, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw_bad_input(what + ": expected an integer from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", got '" + text + "'");
  }
  return value;
}

std::optional<int> get_number(const Environment& environment, const std::string& name, int least,
                              int most) {
  const auto text = find(environment, name);
  if (!text) return std::nullopt;
  return number(*text, name, least, most);
}

// Those that left their rank, in order of belief.
std::vector<const Launcher*> launchers_in(const Environment& environment) {
  std::vector<const Launcher*> found;
  for (const Launcher& launcher : kLaunchers) {
    if (find(environment, launcher.rank)) found.push_back(&launcher);
  }
  return found;
}

struct Place {
  std::optional<std::string> host;
  std::optional<int> port;
};

Place place_of_flag(const std::string& master) {
  const std::size_t colon = master.rfind(':');
  if (colon == std::string::npos) return {master, std::nullopt};
  if (colon == 0) throw_bad_input("--master: expected HOST:PORT, got '" + master + "'");
  return {master.substr(0, colon),
          number(master.substr(colon + 1), "the port of --master", 1, 65535)};
}

void fill(Place& place, const Place& other) {
  if (!place.host) place.host = other.host;
  if (!place.port) place.port = other.port;
}

Place place_of_slurm(const Environment& environment) {
  Place place;
  auto nodes = find(environment, "SLURM_JOB_NODELIST");
  if (!nodes) nodes = find(environment, "SLURM_STEP_NODELIST");
  if (nodes) place.host = first_host(*nodes);
  // The same on all ranks, different for most jobs that share a host.
  const auto job = find(environment, "SLURM_JOB_ID");
  if (job) place.port = 20000 + number(*job, "SLURM_JOB_ID", 0, 2147483647) % 20000;
  return place;
}

Place place_of(const Environment& environment, const LaunchFlags& flags, const Launcher* launcher) {
  Place place;
  if (flags.master) place = place_of_flag(*flags.master);
  fill(place, {find(environment, "MASTER_ADDR"), get_number(environment, "MASTER_PORT", 1, 65535)});
  if (launcher != nullptr && std::string_view(launcher->name) == "Slurm") {
    fill(place, place_of_slurm(environment));
  }
  return place;
}

[[noreturn]] void missing(const std::string& who, const std::string& what,
                          const std::string& flag) {
  throw_bad_input(who + ", but " + what + " is missing: set it, or give " + flag);
}

int ranks_of(const Environment& environment, const LaunchFlags& flags, const Launcher* launcher,
             const std::string& who) {
  if (flags.ranks) return *flags.ranks;
  if (launcher == nullptr) missing(who, "the number of ranks", "--ranks");
  const auto ranks = get_number(environment, launcher->ranks, 1, kMostRanks);
  if (!ranks) missing(who, launcher->ranks, "--ranks");
  return *ranks;
}

int local_rank_of(const Environment& environment, const LaunchFlags& flags,
                  const Launcher* launcher) {
  if (flags.local_rank) return *flags.local_rank;
  if (launcher == nullptr) return 0;
  return get_number(environment, launcher->local_rank, 0, kMostRanks).value_or(0);
}

void set_store(const Environment& environment, const Launcher* launcher, LaunchEnvironment& all) {
  const bool agent_serves = launcher != nullptr && std::string_view(launcher->name) == "torchrun" &&
                            find(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (!agent_serves) all.store_rank = 0;
  all.serves_store = all.store_rank == all.rank;
  auto attempt = find(environment, "TORCHELASTIC_RESTART_COUNT");
  // What is left of an attempt before a requeue must not speak for a rank of this one.
  if (!attempt) attempt = find(environment, "SLURM_RESTART_COUNT");
  // torchrun's own ranks use this prefix, so theirs and ours could share the agent's store.
  all.key_prefix = "/worker/attempt_" + attempt.value_or("0");
  const auto token = find(environment, kTokenVariable);
  if (token) all.key_prefix = "/" + *token + all.key_prefix;
}

// Gloo takes one; LibTorch's own variable may list several.
std::string first_interface(const Environment& environment) {
  const std::string all = find(environment, "GLOO_SOCKET_IFNAME").value_or("");
  return all.substr(0, all.find(','));
}

std::optional<std::vector<int>> processors_in(const Environment& environment) {
  const auto found = environment.find(kProcessorsVariable);
  if (found == environment.end()) return std::nullopt;
  std::vector<int> processors;
  for (std::size_t at = 0; at < found->second.size();) {
    const std::size_t end = std::min(found->second.find(',', at), found->second.size());
    processors.push_back(
        number(found->second.substr(at, end - at), kProcessorsVariable, 0, kMostRanks));
    at = end + 1;
  }
  return processors;
}

}  // namespace

std::optional<LaunchEnvironment> read_launch_environment(const Environment& environment,
                                                         const LaunchFlags& flags) {
  const std::vector<const Launcher*> launchers = launchers_in(environment);
  const Launcher* launcher = launchers.empty() ? nullptr : launchers.front();
  if (launcher == nullptr && !flags.rank) {
    if (flags.ranks) missing("--ranks was given", "which rank this is", "--rank");
    if (flags.local_rank) missing("--local-rank was given", "which rank this is", "--rank");
    if (flags.master) missing("--master was given", "which rank this is", "--rank");
    if (find(environment, "WORLD_SIZE")) missing("WORLD_SIZE is set", "RANK", "--rank");
    return std::nullopt;
  }
  LaunchEnvironment all;
  all.believed = flags.rank ? "the flags" : launcher->name;
  for (std::size_t i = flags.rank ? 0 : 1; i < launchers.size(); ++i) {
    all.ignored.emplace_back(launchers[i]->name);
  }
  const std::string who = flags.rank
                              ? "--rank was given"
                              : std::string(launcher->name) + " started this (" + launcher->rank +
                                    "=" + *find(environment, launcher->rank) + ")";
  all.rank = flags.rank ? *flags.rank : *get_number(environment, launcher->rank, 0, kMostRanks);
  all.ranks = ranks_of(environment, flags, launcher, who);
  all.local_rank = local_rank_of(environment, flags, launcher);
  if (all.rank < 0 || all.ranks < 1 || all.rank >= all.ranks) {
    throw_bad_input(who + ": rank " + std::to_string(all.rank) + " of " +
                    std::to_string(all.ranks) + ": ranks count from 0; see --rank and --ranks");
  }
  const Place place = place_of(environment, flags, launcher);
  if (!place.host && all.ranks > 1) {
    missing(who, "the address of rank 0 (MASTER_ADDR)", "--master HOST:PORT");
  }
  all.host = place.host.value_or("127.0.0.1");
  all.port = place.port.value_or(kDefaultPort);
  set_store(environment, flags.rank ? nullptr : launcher, all);
  all.network_interface = first_interface(environment);
  all.processors = processors_in(environment);
  return all;
}

std::string first_host(const std::string& slurm_list) {
  std::string host;
  std::size_t at = 0;
  while (at < slurm_list.size() && slurm_list[at] != ',') {
    if (slurm_list[at] != '[') {
      host += slurm_list[at++];
      continue;
    }
    const std::size_t end = slurm_list.find(']', at);
    if (end == std::string::npos) {
      throw_bad_input("SLURM_JOB_NODELIST: no ']' in '" + slurm_list + "'");
    }
    const std::string_view inside(slurm_list.data() + at + 1, end - at - 1);
    host += inside.substr(0, inside.find_first_of(",-"));
    at = end + 1;
  }
  return host;
}

Environment environment_of_rank(const Environment& launcher, const StartedRank& started) {
  Environment environment = launcher;
  environment["RANK"] = std::to_string(started.rank);
  environment["WORLD_SIZE"] = std::to_string(started.ranks);
  environment["LOCAL_RANK"] = std::to_string(started.local_rank);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(started.local_ranks);
  environment["MASTER_ADDR"] = started.host;
  environment["MASTER_PORT"] = std::to_string(started.port);
  environment["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  environment["TORCHELASTIC_RESTART_COUNT"] = "0";
  // One core per rank unless asked otherwise: ranks that each take all cores only wait for each
  // other.
  environment.try_emplace("OMP_NUM_THREADS", "1");
  environment.try_emplace("OPENBLAS_NUM_THREADS", "1");
  return environment;
}

}  // namespace penstock
