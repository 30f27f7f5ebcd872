// What is reported of a rank's end, in order of belief: what its launcher wrote; else, when neither
// the launcher nor the rank is to be seen for a while, that nobody knows. A launcher takes its
// ranks along, so ranks without one are only seen for a moment.
#include "manager/hosts/host_ranks.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/values/error.h"
#include "manager/run_folder.h"

namespace penstock {
namespace {

// The ranks of a machine follow each other (choose_plan).
std::vector<MachineRanks> places_of(const std::vector<PlacedRank>& ranks) {
  std::vector<MachineRanks> places;
  for (const PlacedRank& rank : ranks) {
    if (!places.empty() && places.back().host == rank.machine) {
      ++places.back().ranks.count;
    } else {
      places.push_back({rank.machine, {rank.rank, 1}});
    }
  }
  return places;
}

// The last error that was printed, or the last line; at most some 300 letters.
std::string last_words_in(const std::string& output) {
  constexpr std::streamoff kMost = 4096;
  std::ifstream file(output, std::ios::binary | std::ios::ate);
  if (!file) return "";
  file.seekg(std::max<std::streamoff>(0, file.tellg() - kMost));
  std::string last, error;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
    if (line.starts_with("error: ")) error = line.substr(7);
  }
  return (error.empty() ? last : error).substr(0, 300);
}

int number_of(ProcessSignal signal) {
  // Sent twice SIGTERM would end ranks in the middle of their checkpoint; SIGUSR1 may be repeated.
  return signal == ProcessSignal::kCheckpoint ? SIGUSR2 : SIGUSR1;
}

}  // namespace

HostRanksOptions host_ranks_options(const JobFile& job, const std::string& folder,
                                    const std::string& program) {
  HostRanksOptions options;
  options.run_folder = (std::filesystem::path(folder) / job.run_folder).lexically_normal();
  options.job = options.run_folder;  // no other job has the same
  options.program = program;
  options.train = job.train;
  for (const std::string& word : {std::string("--steps"), std::to_string(job.steps),
                                  std::string("--checkpoints"), job.checkpoints}) {
    options.train.push_back(word);
  }
  options.variables = job.ranks.environment;
  options.watch_slow_ranks = job.watch_slow_ranks;
  if (job.ranks.kind == RankStarter::Kind::kCommand) {
    options.look_every = std::chrono::seconds(2);
    options.missing_for = std::chrono::seconds(5);
  }
  return options;
}

std::vector<std::string> HostRanks::command_of(const StartRanks& what) const {
  std::vector<std::string> command{options_.program, "train",
                                   plan_path(options_.run_folder, what.page)};
  const auto add = [&](const std::vector<std::string>& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add(options_.train);
  add({"--log", run_log_path(options_.run_folder, what.generation), "--resume-if-any"});
  if (what.between_losses > Duration{}) {
    const auto apart = std::chrono::ceil<std::chrono::seconds>(what.between_losses);
    add({"--checkpoint-every", "auto", "--between-failures", std::to_string(apart.count()) + "s"});
  } else if (what.checkpoint_every > 0) {
    add({"--checkpoint-every", std::to_string(what.checkpoint_every)});
  }
  // One rank has nothing to be compared with.
  if (options_.watch_slow_ranks && what.ranks.size() > 1) {
    add({"--slow-ranks", "--slow-machines", slow_ranks_path(options_.run_folder, what.generation)});
  }
  return command;
}

void HostRanks::take(const StartRanks& what) {
  if (ranks_ && ranks_->places().number == what.generation) return;
  if (ranks_) ranks_->end();
  GenerationPlaces places;
  places.job = options_.job;
  places.number = what.generation;
  places.folder = generation_folder(options_.run_folder, what.generation);
  places.places = places_of(what.ranks);
  places.variables = options_.variables;
  places.command = command_of(what);
  std::filesystem::create_directories(places.folder);
  std::vector<std::string> names;
  for (const MachineRanks& machine : places.places) names.push_back(machine.host);
  end_other_generations(hosts_, names, options_.job, what.generation);
  progress_ = std::make_unique<RunProgress>(run_log_path(options_.run_folder, what.generation));
  ranks_ = std::make_unique<GenerationRanks>(hosts_, std::move(places));
  watched_.clear();
  told_.clear();
}

void HostRanks::start(const StartRanks& what) {
  take(what);
  for (const MachineRanks& machine : ranks_->places().places) {
    try {
      ranks_->start_on(machine);
    } catch (const Error& error) {
      RankEnded end;
      end.generation = what.generation;
      end.last_words = error.what();
      tell_end(machine, end, failed_starts_);
    }
  }
}

void HostRanks::signal(const SignalRanks& what) {
  if (!ranks_ || ranks_->places().number != what.generation) return;
  if (what.signal == ProcessSignal::kKill) {
    if (what.machine.empty()) {
      ranks_->end();
    } else {
      ranks_->end_on(what.machine);
    }
    return;
  }
  ranks_->ask(number_of(what.signal), what.machine);
}

void HostRanks::adopt(const JobState& state) {
  take({state.generation.number, state.generation.page, state.generation.ranks});
  for (const PlacedRank& rank : state.generation.ranks) {
    if (rank.ended) told_.insert(rank.rank);
  }
}

std::vector<Event> HostRanks::poll() {
  std::vector<Event> events;
  if (!ranks_) return events;
  const SteadyTime now = steady_now();
  if (looked_ && now - *looked_ < options_.look_every) return events;
  looked_ = now;
  const std::vector<MachineSeen> seen = ranks_->look();
  // After the look: steps that were done before a rank ended are told before its end.
  tell_steps(events);
  std::ranges::move(failed_starts_, std::back_inserter(events));
  failed_starts_.clear();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    look_at(ranks_->places().places[i], seen[i], events);
  }
  return events;
}

void HostRanks::look_at(const MachineRanks& machine, const MachineSeen& seen,
                        std::vector<Event>& events) {
  for (const RankEnd& end : seen.ends) {
    if (!told_.insert(end.rank).second) continue;
    RankEnded ended;
    ended.generation = ranks_->places().number;
    ended.rank = end.rank;
    ended.signal = end.signal;
    if (end.signal == 0 && end.exit_code >= 0) ended.code = end.exit_code;
    if (end.failed() && !end.ended_by_us) {
      ended.last_words = last_words_in(ranks_->output_of(machine));
    }
    events.emplace_back(std::move(ended));
  }
  if (all_told(machine)) return;
  Watch& watch = watched_[machine.host];
  const SteadyTime now = *looked_;
  if (!seen.answers) {
    if (!watch.no_answer) watch.no_answer = now;
    if (now - *watch.no_answer < options_.lost_after || watch.told_lost) return;
    watch.told_lost = true;
    events.emplace_back(MachineLost{machine.host, "it does not answer"});
    return;
  }
  watch.no_answer.reset();
  if (seen.launcher || !seen.ranks.empty()) {
    watch.no_launcher.reset();
    return;
  }
  if (!watch.no_launcher) watch.no_launcher = now;
  if (now - *watch.no_launcher < options_.missing_for) return;
  RankEnded unknown;
  unknown.generation = ranks_->places().number;
  unknown.last_words = last_words_in(ranks_->output_of(machine));
  tell_end(machine, unknown, events);
}

void HostRanks::tell_end(const MachineRanks& machine, const RankEnded& end,
                         std::vector<Event>& events) {
  for (int i = 0; i < machine.ranks.count; ++i) {
    RankEnded of_rank = end;
    of_rank.rank = machine.ranks.first + i;
    if (told_.insert(of_rank.rank).second) events.emplace_back(std::move(of_rank));
  }
}

bool HostRanks::all_told(const MachineRanks& machine) const {
  for (int i = 0; i < machine.ranks.count; ++i) {
    if (!told_.contains(machine.ranks.first + i)) return false;
  }
  return true;
}

void HostRanks::tell_steps(std::vector<Event>& events) {
  for (const FinishedStep& step : progress_->read_more()) {
    StepFinished finished;
    finished.generation = ranks_->places().number;
    finished.step = step.step + 1;
    finished.loss = step.loss;
    finished.time = step.step_time;
    events.emplace_back(finished);
  }
}

}  // namespace penstock
