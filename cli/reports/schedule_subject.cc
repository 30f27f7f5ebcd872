// A schedule by name is generated from its shape, one from a file of PyTorch's pipelining is read;
// both end as lists of actions with costs. What a file says itself may not be given as an option,
// too, and costs that list micro-batches must list as many as there are.
#include "cli/reports/schedule_subject.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/text_file.h"
#include "cli/words/parse.h"
#include "core/values/durations.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/words.h"

namespace penstock {
namespace {

const ScheduleKind& kind_named(const std::string& name) { return *find_schedule(name); }

// All at once, with the command that has them.
void refuse_missing(const ScheduleOptions& given) {
  std::vector<std::string> missing;
  if (!given.ranks) missing.emplace_back("-P");
  if (!given.micro_batches && !given.cost_file) missing.emplace_back("-M");
  if (missing.empty()) return;
  if (given.costs.empty() && !given.cost_file) missing.emplace_back("--cost");
  bad_option(joined(missing, ", "), "missing",
             fmt::format("-P ranks and -M micro-batches make a step; for example {}",
                         given.command.whole()));
}

// As a cost file lists them, or as typed.
int micro_batches_of(const ScheduleOptions& given) {
  if (given.cost_file) {
    const auto listed = micro_batches_in(load_costs(*given.cost_file).value, *given.cost_file);
    if (listed && given.micro_batches) {
      bad_option("-M", fmt::format("{} lists {} micro-batches", *given.cost_file, *listed),
                 "leave it out");
    }
    if (listed) return *listed;
    if (!given.micro_batches) bad_option("-M", "missing", "add it, for example -M 8");
  }
  return parse_int("-M", *given.micro_batches, 1);
}

}  // namespace

ScheduleShape shape_of(const ScheduleOptions& given) {
  ScheduleShape shape;
  refuse_missing(given);
  shape.ranks = parse_int("-P", *given.ranks, 1);
  shape.chunks =
      given.chunks ? parse_int("-V", *given.chunks, 1) : kind_named(given.name).fewest_chunks;
  shape.micro_batches = micro_batches_of(given);
  if (given.group) {
    if (!kind_named(given.name).has_groups) {
      bad_option("--group", given.name + " has no groups", "leave it out");
    }
    shape.group = parse_int("--group", *given.group, 1);
  }
  if (given.slices) {
    if (!kind_named(given.name).has_slices) {
      bad_option("--slices", given.name + " cuts no sequences", "leave it out");
    }
    shape.slices = parse_int("--slices", *given.slices, 1);
  }
  return shape;
}

namespace {

Subject generated(const ScheduleOptions& given) {
  const ScheduleKind& kind = kind_named(given.name);
  const ScheduleShape shape = shape_of(given);
  if (const std::string why = why_no_schedule(kind, shape); !why.empty()) {
    const std::string name = why.starts_with(given.name) ? "" : given.name + ": ";
    const std::size_t use = why.find("; use ");
    throw_bad_input(name + why.substr(0, use) + "\nhelp: " +
                    (use == std::string::npos ? "penstock schedule --help lists the schedules"
                                              : why.substr(use + 2)));
  }
  if (given.legacy_csv) bad_option("--legacy-csv", "NAME is not a file", "leave it out");
  given.automatic.check(given.name, &kind);
  return {shape, kind.splits_backward(), &kind, {}};
}

constexpr const char* kHowToCsv =
    "a schedule is a name (1f1b; penstock schedule --help lists them) or a CSV of actions, as "
    "penstock schedule 1f1b ... --csv FILE writes";

Subject from_file(const ScheduleOptions& given) {
  const std::pair<const char*, const std::optional<std::string>&> asked[] = {
      {"-P", given.ranks},
      {"-V", given.chunks},
      {"-M", given.micro_batches},
      {"--group", given.group},
      {"--slices", given.slices}};
  std::vector<std::string> said;
  for (const auto& [name, value] : asked) {
    if (value) said.emplace_back(name);
  }
  if (!said.empty()) {
    bad_option(joined(said, ", "), given.name + " says it itself",
               said.size() == 1 ? "leave it out" : "leave them out");
  }
  given.automatic.check(given.name, nullptr);
  Subject subject;
  subject.file = read_pipeline_csv(load_text(given.name, kHowToCsv), given.name,
                                   given.legacy_csv ? LegacyCsv::kTranslate : LegacyCsv::kRefuse);
  subject.shape.ranks = subject.file->ranks();
  subject.shape.chunks = subject.file->chunks;
  subject.shape.micro_batches = subject.file->micro_batches;
  for (const std::vector<Action>& list : subject.file->lists) {
    for (const Action& action : list) {
      subject.splits_backward |= action.kind == ActionKind::kWeightGradient;
    }
  }
  const bool reorders = given.executor.model().issue != IssueOrder::kEager;
  if (subject.holds_transfers() && reorders) {
    bad_option("--executor", "deepspeed has its own order of sends, and the file has one too",
               "choose rendezvous");
  }
  return subject;
}

ScheduleCosts given_costs(const ScheduleOptions& given, bool splits_backward, int stages) {
  if (!given.cost_file && given.costs.empty() && !given.command.usage.empty()) {
    bad_option("--cost", "missing", "add it, for example " + given.command.whole());
  }
  if (!given.cost_file) return parse_costs(given.costs, splits_backward, stages);
  if (!given.costs.empty()) {
    bad_option("--cost-file", "--cost is given too", "keep one of them");
  }
  const Loaded<Json> file = load_costs(*given.cost_file);
  return read_costs(file.value, *given.cost_file, splits_backward, stages);
}

// What a list of micro-batches in the cost file cannot be used for.
void check_listed(const ScheduleOptions& given, const Subject& subject,
                  const ScheduleCosts& costs) {
  if (costs.micro_batches.empty()) return;
  std::int64_t listed = 0;
  for (const MicroBatchRun& run : costs.micro_batches) listed += run.count;
  if (listed != subject.shape.micro_batches) {
    bad_option("--cost-file",
               fmt::format("{} micro-batches are listed, but {} has {}", listed, given.name,
                           subject.shape.micro_batches),
               "list as many");
  }
  if (subject.shape.slices > 1) {
    bad_option("--cost-file", "it lists micro-batches, and --slices cuts each of them",
               "choose one of the two");
  }
  if (subject.kind != nullptr && subject.kind->is_automatic()) {
    bad_option("--cost-file",
               given.name +
                   " is arranged for micro-batches that are alike, and the file lists "
                   "several shapes",
               "choose a schedule that is none of the automatic ones, such as 1f1b or zb-h1");
  }
}

// A V-th of every time, for V chunks of a rank; transfers stay.
void divide_by_chunks(int chunks, ScheduleCosts& costs) {
  for (ComputePrice& price : costs.prices.compute) {
    for (const ComputeTime one : kComputeTimes) {
      (price.*one).duration /= chunks;
      (price.*one).spread /= chunks;
    }
    price.overlap_gain /= chunks;
  }
}

}  // namespace

Subject subject_of(const ScheduleOptions& given) {
  return given.name.ends_with(".csv") ? from_file(given) : generated(given);
}

ScheduleCosts costs_of(const ScheduleOptions& given, const Subject& subject) {
  ScheduleCosts costs =
      given_costs(given, subject.splits_backward, subject.shape.ranks * subject.shape.chunks);
  check_listed(given, subject, costs);
  if (subject.recomputes() && !costs.recompute) {
    bad_option(given.cost_file ? "--cost-file" : "--cost",
               given.name + " recomputes, and R, the time that it takes, is missing",
               "add R (in a file recompute_ms), usually as long as F");
  }
  if (given.per_rank) {
    if (given.cost_file) bad_option("--per-rank", "a cost file has every stage", "leave it out");
    divide_by_chunks(subject.shape.chunks, costs);
    costs.words =
        joined(given.costs, ",") + " per rank and micro-batch, divided over its virtual stages";
  }
  costs.words += given.automatic.words(subject.kind);
  return costs;
}

}  // namespace penstock
