#include "cli/options/document_options.h"

#include "cli/words/parse.h"
#include "search/in_parallel.h"

namespace penstock {
namespace {

constexpr const char* kTokens = "--tokens-per-batch";
constexpr const char* kWait = "--plan-wait";
constexpr const char* kIfLate = "--plan-if-late";
constexpr int kMostTokens = 1 << 30;
constexpr int kLongest = 1 << 20;

}  // namespace

void DocumentOptions::declare(Options& options) {
  options.heading("Samples of different lengths");
  options.repeated(
      "--documents", "FILE",
      "instead of --data: one document per line, as text whose bytes are the tokens or as JSON "
      "with token ids (docs/training.md). PLAN gives the layout; every step is planned for its own "
      "documents while earlier steps run. May be given several times, also as a pattern",
      files_);
  options.option(kTokens, "N", "tokens per step over all ranks, without padding", tokens_);
  options.option(
      "--max-length", "S",
      "cut longer documents to this many tokens; default: the longest length that was measured",
      longest_);
  options.option("--profile", "FILE",
                 "the profile for planning steps; default: the file that PLAN was made from",
                 profile_);
  options.option("--cluster", "FILE", "the cluster for planning steps; default: likewise",
                 cluster_);
  options.option("--schedule", "NAME,...",
                 "use only these schedules, and 1F1B where none of them takes a batch's "
                 "micro-batches; default: all that suit the layout",
                 schedules_);
  options.option("--pad-to", "N",
                 "pad lengths to a multiple of N; default 8. With the longest length, every "
                 "document is padded to it, as without planning",
                 pad_to_);
  options.option("--replays", "N", "replays that each search for an order may use; default 200",
                 replays_);
  options.option("--plan-ahead", "N", "number of steps to plan ahead; default 2", ahead_);
  options.option("--planner-threads", "N", "planning threads in each process; default 1", threads_);
  options.option("--statistics", "FILE",
                 "write one line of JSON per step: predicted and measured time and memory, shapes, "
                 "lengths, padding, planning time",
                 statistics_);
  options.heading("Plans from another machine");
  store_.declare(options,
                 "ranks take the plans of their steps from this Redis, to which penstock planner "
                 "writes them; rediss:// with TLS (docs/training.md)");
  options.option(kWait, "TIME", "how long a rank waits for a plan; default: half of --time-out",
                 wait_);
  options.flag(kIfLate, "make a plan that is late on the rank itself; the result is the same",
               if_late_);
}

void DocumentOptions::check(const std::vector<std::string>& given) const {
  if (files_.empty()) {
    refuse_given(given,
                 {kTokens, "--max-length", "--profile", "--cluster", "--schedule", "--pad-to",
                  "--replays", "--plan-ahead", "--planner-threads", "--statistics", "--plans-from"},
                 "is for samples of different lengths", "add --documents FILE, or leave it out");
  }
  if (!store_.is_given()) {
    std::vector<std::string> others = StoreOptions::names_of_others();
    others.insert(others.end(), {kWait, kIfLate});
    refuse_given(given, others, "is for plans that another machine makes",
                 "add --plans-from redis://HOST:PORT/DB, or leave it out");
  }
  if (files_.empty()) return;
  const std::string why = "a run trains on documents or on --data, not on both";
  refuse_given(given, {"--data", "--dtype", "--labels"}, why, "leave out one of the two");
  refuse_given(given,
               {"--validation-data", "--validation-labels", "--validation-fraction", "--eval-every",
                "--eval-batches"},
               "a run on documents cannot evaluate the model",
               "leave it out, and evaluate its checkpoints in a run of their own");
  refuse_given(given, {"--then"}, "every step of documents has its own plan already",
               "leave it out");
  refuse_given(given, {"--slow-ranks", "--slow-percent", "--slow-window", "--slow-machines"},
               "with documents, the expected time of a rank changes with every step",
               "leave it out");
  static_cast<void>(tokens_per_batch());
  static_cast<void>(planning());
}

std::int64_t DocumentOptions::tokens_per_batch() const {
  if (!tokens_) {
    bad_option(kTokens, "missing", "give the size of a step, for example --tokens-per-batch 16384");
  }
  return parse_int(kTokens, *tokens_, 1, kMostTokens);
}

DocumentPlanning DocumentOptions::planning() const {
  DocumentPlanning planning;
  planning.profile = profile_.value_or("");
  planning.cluster = cluster_.value_or("");
  if (longest_) planning.longest = parse_int("--max-length", *longest_, 2, kLongest);
  if (schedules_) planning.schedules = parse_list("--schedule", *schedules_);
  planning.pad_to = parse_count("--pad-to", pad_to_, 1, 8, kLongest);
  planning.replays = parse_count("--replays", replays_, 0, 200);
  planning.threads = parse_count("--planner-threads", threads_, 1, 1, kMostThreads);
  planning.ahead = parse_count("--plan-ahead", ahead_, 0, 2, 1024);
  return planning;
}

Duration DocumentOptions::plan_wait(Duration time_out) const {
  if (!wait_) return time_out / 2;
  const Duration wait = parse_budget(kWait, *wait_);
  if (wait > time_out) {
    bad_option(kWait, "is longer than ranks wait for each other (--time-out)",
               "raise --time-out as well");
  }
  return wait;
}

}  // namespace penstock
