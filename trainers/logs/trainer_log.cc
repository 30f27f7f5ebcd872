// Lines are grouped into attempts: an iteration that is not after the one before it begins a
// restart, and of several ranks the slowest counts. A line may stand for several steps (the usual
// distance between lines). The first steps of every attempt are warm-up, skipped steps and other
// batches are left out, and each omission is told. Where a log has speed and no time, times follow
// from the plan's tokens.
#include "trainers/logs/trainer_log.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/words.h"
#include "trainers/logs/log_lines.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000;

// From one start of the trainer to the next: an earlier step is of a restart.
struct Attempt {
  std::map<std::int64_t, LogLine> lines;  // by iteration; of several ranks the slowest
};

// The same step once more is another rank's, whose prefix counts the ranks of a node only; but of
// Megatron-LM one rank writes, so there it is of a restart, too.
std::vector<Attempt> attempts_of(const std::vector<LogLine>& lines, const LogReader& reader) {
  const std::int64_t next = reader.one_rank_writes ? 1 : 0;
  std::vector<Attempt> attempts;
  struct Place {
    std::size_t attempt = 0;
    std::int64_t iteration = -1;  // of the line before
  };
  std::map<int, Place> places;  // of every rank that has a prefix of its own
  for (const LogLine& line : lines) {
    Place& place = places[line.rank];
    if (line.iteration < place.iteration + next) ++place.attempt;
    place.iteration = line.iteration;
    if (place.attempt >= attempts.size()) attempts.resize(place.attempt + 1);
    const auto [at, is_new] = attempts[place.attempt].lines.emplace(line.iteration, line);
    if (!is_new && at->second.step_time < line.step_time) at->second = line;
  }
  return attempts;
}

// How many steps a line stands for: what most lines lie apart, of equally frequent ones the least.
// The lines themselves may have gaps.
std::int64_t interval_of(const std::vector<Attempt>& attempts) {
  std::map<std::int64_t, int> apart;
  for (const Attempt& attempt : attempts) {
    for (auto at = attempt.lines.begin(); at != attempt.lines.end(); ++at) {
      const auto next = std::next(at);
      if (next != attempt.lines.end()) ++apart[next->first - at->first];
    }
  }
  const auto most = std::max_element(
      apart.begin(), apart.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == apart.end() ? 1 : most->first;
}

class RunOfLog {
 public:
  RunOfLog(LogContents log, const TrainerRow& trainer, const std::string& file,
           const PlanFile& plan, const LogOptions& options)
      : log_(std::move(log)), trainer_(trainer), file_(file), plan_(plan), options_(options) {}

  LoggedRun run() {
    require_same_job();
    if (trainer_.log->logs_speed) derive_times();
    attempts_ = attempts_of(log_.lines, *trainer_.log);
    run_.interval = interval_of(attempts_);
    for (const Attempt& attempt : attempts_) add(attempt);
    require_steps();
    set_header();
    tell();
    run_.memory = std::move(log_.memory);
    return std::move(run_);
  }

 private:
  [[nodiscard]] std::int64_t tokens_per_step() const {
    return penstock::tokens_per_step(plan_.plan);
  }

  // What the log says of the job beside its steps.
  void require_same_job() {
    const Plan& plan = plan_.plan;
    const std::pair<const char*, int> expected[] = {{kBatch, plan.global_batch},
                                                    {kMicroBatch, plan.micro_batch_size},
                                                    {kSequence, plan.sequence_length},
                                                    {kPipeline, plan.pipeline},
                                                    {kTensor, plan.tensor},
                                                    {kWorld, plan.devices()}};
    for (const auto& [what, value] : expected) {
      const auto fact = log_.facts.find(what);
      if (fact == log_.facts.end() || fact->second.value == value) continue;
      if (value == 0) continue;  // a model without such a dimension
      if (options_.any_plan) {
        run_.notes.push_back(fmt::format("another job: it ran with {} {}, and the plan has {}",
                                         fact->second.value, what, value));
        continue;
      }
      throw_bad_input(fmt::format(
          "{}:{}: the job ran with {} {}, but the plan has {}\nhelp: name the plan that it ran "
          "(penstock predict config.json --layout .. -o ran.json writes one), or compare anyway "
          "with "
          "--any-plan",
          file_, fact->second.line, fact->second.value, what, value));
    }
  }

  // tps = tokens of a step / (step time * GPUs).
  void derive_times() {
    if (tokens_per_step() == 0) {
      throw_bad_input(file_ +
                      ": torchtitan logs tokens per second, and the plan has no sequence length to "
                      "make step times of them\nhelp: name a plan with a sequence length");
    }
    for (LogLine& line : log_.lines) {
      const double seconds = static_cast<double>(tokens_per_step()) /
                             (line.tokens_per_s_per_gpu * plan_.plan.devices());
      if (!(seconds * 1e9 < static_cast<double>(kLongestDuration.count()))) {
        bad_log_value(file_, line.number, "tps", "a speed that gives a step of less than 10^6 s",
                      fmt::format("{}", line.tokens_per_s_per_gpu));
      }
      line.step_time = std::max(round_up_to_ns(seconds), Duration{1});
    }
  }

  void add(const Attempt& attempt) {
    std::int64_t before = 0, covered = 0;  // the iteration of the line before; steps so far
    for (const auto& [iteration, line] : attempt.lines) {
      const std::int64_t stands_for =
          std::clamp<std::int64_t>(iteration - before, 1, run_.interval);
      const bool is_warm_up = covered < options_.warm_up;
      before = iteration;
      covered += stands_for;
      not_a_number_ += line.not_a_number;
      if (is_warm_up) {
        run_.warm_up_steps += stands_for;
      } else if (line.skipped > 0) {
        skipped_ += line.skipped;
      } else if (is_of_other_batch(line) && !options_.any_plan) {
        other_batch_ = line.batch;
        ++other_batches_;
      } else {
        other_batch_ = is_of_other_batch(line) ? line.batch : other_batch_;
        add_steps(line, stands_for);
      }
    }
  }

  [[nodiscard]] bool is_of_other_batch(const LogLine& line) const {
    return line.batch != 0 && line.batch != plan_.plan.global_batch;
  }

  void add_steps(const LogLine& line, std::int64_t count) {
    if (std::ssize(run_.log.steps) + count > kMostSteps) {
      throw_bad_input(fmt::format("{}:{}: more than {} steps up to here\nhelp: give a part of it",
                                  file_, line.number, with_commas(kMostSteps)));
    }
    MeasuredStep step;
    step.loss = line.loss;
    step.gradient_norm = line.gradient_norm;
    step.tokens = tokens_per_step();
    step.step_time = line.step_time;
    for (std::int64_t i = count - 1; i >= 0; --i) {
      step.step = std::max<std::int64_t>(line.iteration - i, 0);
      run_.log.steps.push_back(step);
    }
  }

  void require_steps() const {
    if (!run_.log.steps.empty()) return;
    if (other_batches_ > 0) {
      throw_bad_input(fmt::format(
          "{}: it ran {} samples per step, but the plan has {}\nhelp: name the plan that it ran "
          "(penstock predict config.json --layout .. -o ran.json writes one), or compare anyway "
          "with "
          "--any-plan",
          file_, other_batch_, plan_.plan.global_batch));
    }
    if (log_.lines.empty()) {
      throw_bad_input(fmt::format(
          "{}{}: no line that reports a step of {} is whole\nhelp: give the log as the trainer "
          "wrote it",
          file_, log_.broken > 0 ? fmt::format(":{}", log_.first_broken) : "", trainer_.title));
    }
    throw_bad_input(
        fmt::format("{}: steps on {}, and nothing is left to compare: {} of warm-up, {} skipped\n"
                    "help: train for more steps, or lower --warm-up",
                    file_, count_of(std::ssize(log_.lines), "line"),
                    count_of(run_.warm_up_steps, "step"), skipped_));
  }

  void set_header() {
    RunHeader& header = run_.log.header;
    header.model = plan_.model;
    header.started = log_.started;
    header.library = trainer_.title;
    header.ranks = plan_.plan.devices();
  }

  void tell() {
    std::vector<std::string>& notes = run_.notes;
    if (trainer_.log->logs_speed) {
      notes.push_back(fmt::format(
          "step times are derived: {} tokens per step of the plan / (tps x {} GPUs); tps is "
          "rounded to whole tokens",
          with_commas(tokens_per_step()), plan_.plan.devices()));
    }
    if (run_.interval > 1) {
      notes.push_back(fmt::format(
          "a line of the log is the mean of up to {} steps: the fastest, the slowest and the "
          "deviation are those of means",
          run_.interval));
    }
    if (attempts_.size() > 1) {
      notes.push_back(fmt::format(
          "the run was restarted {}: each time the first steps are warm-up; a step that ran twice "
          "counts twice",
          attempts_.size() == 2 ? "once" : fmt::format("{} times", attempts_.size() - 1)));
    }
    if (skipped_ > 0) {
      notes.push_back(fmt::format("left out, since the optimizer skipped them: {} (their lines)",
                                  count_of(skipped_, "step")));
    }
    if (not_a_number_ > 0) {
      notes.push_back(fmt::format("{} without a finite loss: their times count",
                                  count_of(not_a_number_, "step")));
    }
    tell_left_out();
  }

  void tell_left_out() {
    std::vector<std::string>& notes = run_.notes;
    if (other_batch_ > 0 && options_.any_plan && !log_.facts.contains(kBatch)) {
      notes.push_back(fmt::format("another job: it ran {} samples per step, and the plan has {}",
                                  other_batch_, plan_.plan.global_batch));
    }
    if (other_batches_ > 0) {
      notes.push_back(fmt::format("left out, with another batch than the plan's {}: {}, {} last",
                                  plan_.plan.global_batch, count_of(other_batches_, "line"),
                                  other_batch_));
    }
    if (log_.broken > 0) {
      notes.push_back(fmt::format("left out, cut off or written into each other: {}, line {} first",
                                  count_of(log_.broken, "line"), log_.first_broken));
    }
    if (log_.idle > 0) {
      notes.push_back(
          fmt::format("left out, their tps rounded to 0: {}", count_of(log_.idle, "line")));
    }
  }

  LogContents log_;
  const TrainerRow& trainer_;
  const std::string& file_;
  const PlanFile& plan_;
  const LogOptions& options_;
  std::vector<Attempt> attempts_;
  std::int64_t skipped_ = 0, not_a_number_ = 0, other_batches_ = 0, other_batch_ = 0;
  LoggedRun run_;
};

std::int64_t fact_of(const LogContents& log, const char* what, std::int64_t otherwise) {
  const auto fact = log.facts.find(what);
  return fact == log.facts.end() ? otherwise : fact->second.value;
}

// Nothing where a number that it needs is missing, or they contradict each other.
std::optional<Plan> plan_of(const LogContents& log) {
  constexpr std::int64_t kMost = 1 << 20;
  for (const char* what : {kPipeline, kTensor, kWorld}) {
    const std::int64_t value = fact_of(log, what, 0);
    if (value < 1 || value > kMost) return {};
  }
  const auto number = [&](const char* what) {
    return static_cast<int>(std::clamp<std::int64_t>(fact_of(log, what, 1), 1, kMost));
  };
  Plan plan;
  plan.pipeline = number(kPipeline);
  plan.tensor = number(kTensor);
  plan.context = number(kContext);
  plan.expert = number(kExperts);
  plan.chunks = number(kChunks);
  plan.schedule = plan.chunks > 1 ? "interleaved" : "1f1b";
  plan.micro_batch_size = number(kMicroBatch);
  const std::int64_t batch = fact_of(log, kBatch, log.lines.empty() ? 0 : log.lines.back().batch);
  if (batch < 1 || batch > kMost) return {};
  plan.global_batch = static_cast<int>(batch);
  plan.sequence_length = fact_of(log, kSequence, 0) > 0 ? number(kSequence) : 0;
  plan.zero1 = fact_of(log, kSharded, 0) == 1;
  const std::int64_t recompute = fact_of(log, kRecompute, 0);
  plan.recompute = recompute == 2 ? "full" : recompute == 1 ? "selective" : "none";
  const std::int64_t of_replica = std::int64_t{plan.pipeline} * plan.tensor * plan.context,
                     ranks = number(kWorld);
  if (ranks % of_replica != 0) return {};
  plan.data = static_cast<int>(ranks / of_replica);
  return plan;
}

// After the warm-up.
Duration median_step(LogContents log, const TrainerRow& trainer, const std::string& file,
                     const PlanFile& plan, const LogOptions& options) {
  std::vector<Duration> times;
  for (const MeasuredStep& step :
       RunOfLog(std::move(log), trainer, file, plan, options).run().log.steps) {
    times.push_back(step.step_time);
  }
  const auto middle = times.begin() + (std::ssize(times) - 1) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

std::optional<LoggedJob> job_of_log(std::string_view text, const std::string& file) {
  const TrainerRow* trainer = trainer_of_log(text);
  if (trainer == nullptr || trainer->log->logs_speed) return {};
  LogContents log = trainer->log->read(lines_of(text), file);
  const std::optional<Plan> plan = plan_of(log);
  if (!plan || log.lines.empty()) return {};
  PlanFile ran;
  ran.plan = *plan;
  return LoggedJob{*plan, median_step(std::move(log), *trainer, file, ran, {})};
}

std::optional<LoggedStep> step_of_log(std::string_view text, const std::string& file) {
  const TrainerRow* trainer = trainer_of_log(text);
  if (trainer == nullptr || trainer->log->logs_speed) return {};
  LogContents log = trainer->log->read(lines_of(text), file);
  if (log.lines.empty()) return {};
  const std::int64_t batch = log.lines.back().batch;
  const PlanFile any;
  LogOptions options;
  options.any_plan = true;
  return LoggedStep{median_step(std::move(log), *trainer, file, any, options), batch};
}

const TrainerRow* trainer_of_log(std::string_view text) {
  return surest_claim(
      [text](const TrainerRow& row) { return row.log ? row.log->claim(text) : Claim::kNone; });
}

LoggedRun run_of_log(std::string_view text, const std::string& file, const PlanFile& plan,
                     const LogOptions& options) {
  const TrainerRow* trainer = trainer_of_log(text);
  if (trainer == nullptr) trainer = find_trainer_row("megatron");
  const LogText lines = lines_of(text);
  LoggedRun run = RunOfLog(trainer->log->read(lines, file), *trainer, file, plan, options).run();
  if (lines.cut_off) run.notes.emplace_back("left out: the last line, which is cut off");
  return run;
}

}  // namespace penstock
