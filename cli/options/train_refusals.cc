// An option of `penstock train` that would not be looked at is refused, since whoever gave it
// believes that it does something: of training for ranks that sleep, of sleep for ranks that train,
// of launchers for threads, of processors for GPUs, of checkpoints without a folder.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/train_settings.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr const char* kAllAreThreads =
    "with --virtual all ranks of the plan are threads of this process";

}  // namespace

void TrainSettings::refuse_for_ranks_that_sleep() const {
  const std::string help = "leave it out; or leave out --virtual, to train";
  std::vector<std::string> of_training{"--data",
                                       "--dtype",
                                       "--labels",
                                       "--validation-data",
                                       "--validation-labels",
                                       "--validation-fraction",
                                       "--eval-every",
                                       "--eval-batches",
                                       "--documents"};
  const std::vector<std::string>& of_optimizer = OptimizerSettings::names();
  of_training.insert(of_training.end(), of_optimizer.begin(), of_optimizer.end());
  of_training.insert(of_training.end(), {"--tensorboard", "--seed"});
  refuse_given(given_, of_training, "ranks of --virtual train no model", help);
  refuse_given(given_,
               {"--transport", "--device", "--host-gb-per-s", "--pilot", "--threads-per-rank",
                "--no-pinning", "--rank", "--local-rank", "--master"},
               kAllAreThreads, help);
  refuse_given(given_,
               {"--checkpoints", "--checkpoint-every", "--between-failures", "--checkpoint-keep",
                "--mirror", "--resume", "--resume-if-any", "--may-change"},
               "ranks of --virtual have no weights to keep", help);
}

void TrainSettings::refuse_number_of_ranks() const {
  refuse_given(given_, {"--ranks"}, kAllAreThreads,
               "leave it out; or give a --book, from which it selects the plan");
}

void TrainSettings::refuse_for_threads() const {
  refuse_given(given_, {"--rank", "--ranks", "--local-rank", "--master"},
               "with --transport loopback all ranks of the plan are threads of this process",
               "leave it out, or choose another transport");
  refuse_given(given_, {"--mirror"}, "with --transport loopback all ranks are lost together",
               "leave it out, or choose another transport");
}

void TrainSettings::refuse_for_gpus() const {
  refuse_given(given_, {"--threads-per-rank", "--no-pinning"}, "this is for ranks on the CPU",
               "leave it out, or leave out --device");
}

void TrainSettings::refuse_without_checkpoints() const {
  if (!checkpoints_) {
    refuse_given(
        given_,
        {"--resume", "--resume-if-any", "--checkpoint-every", "--checkpoint-keep", "--mirror"},
        "there is no folder for checkpoints", "add --checkpoints FOLDER");
  }
  if (!resumes()) {
    refuse_given(given_, {"--may-change"},
                 "nothing is resumed, so there is no checkpoint to differ from", "add --resume");
  }
}

// Each of the processes would do all of the job, and write the same files. What an allocation of
// Slurm leaves in a shell does not count: only rank 0 is known from it.
void TrainSettings::refuse_other_ranks(const std::optional<LaunchEnvironment>& place) const {
  if (!place || place->ranks == 1 || (place->believed == "Slurm" && place->rank == 0)) return;
  bad_option(virtual_ ? "--virtual" : "--transport loopback",
             "all ranks of the plan are threads of one process, but " + place->believed +
                 " started " + std::to_string(place->ranks) + " processes",
             "start one, or choose another transport");
}

std::int64_t TrainSettings::stretch() const {
  if (stretch_ && !virtual_)
    bad_option("--stretch", "only virtual ranks can be slowed down", "add --virtual");
  return parse_count("--stretch", stretch_, 1, 1);
}

bool TrainSettings::jumps() const {
  if (no_sleep_ && !virtual_) bad_option("--no-sleep", "only virtual ranks sleep", "add --virtual");
  if (no_sleep_ && stretch_) {
    bad_option("--no-sleep", "with --no-sleep no rank sleeps", "leave out --stretch");
  }
  return no_sleep_;
}

std::map<int, VirtualSlowness> TrainSettings::slow_ranks_to_try() const {
  if (!slow_.empty() && !virtual_) {
    bad_option("--try-slow", "only virtual ranks can be slowed", "add --virtual");
  }
  std::map<int, VirtualSlowness> slow;
  for (const std::string& text : slow_) {
    const std::size_t colon = text.find(':'), at = text.find('@');
    if (colon == std::string::npos || (at != std::string::npos && at < colon)) {
      bad_option("--try-slow", "'" + text + "' is not RANK:FACTOR or RANK:FACTOR@STEP",
                 "write for example --try-slow 3:1.3, or 3:1.3@100");
    }
    const std::string factor = text.substr(colon + 1, at - colon - 1);
    const std::optional<Factor> read = parse_factor(factor);
    if (!read || *read < Factor{}) {
      bad_option("--try-slow", "'" + factor + "' is not a factor",
                 "give a number from 1 to 1000: the rank takes that many times as long");
    }
    const int rank = parse_int("--try-slow", text.substr(0, colon), 0);
    const int step = at == std::string::npos ? 0 : parse_int("--try-slow", text.substr(at + 1), 0);
    if (!slow.emplace(rank, VirtualSlowness{step, *read}).second) {
      bad_option("--try-slow", "rank " + std::to_string(rank) + " is named twice",
                 "leave one of them out");
    }
  }
  return slow;
}

}  // namespace penstock
