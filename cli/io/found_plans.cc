// One piece of work at a time; what slow ranks cost comes first. A plan's file is written before
// its event, so that the manager may start it at once. The thread reads only what was copied for
// it, and its answer is thrown away by decide() when the job has moved on meanwhile.
#include "cli/io/found_plans.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/verbs/verbs.h"
#include "cli/words/trainer_called.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "manager/choose_plan.h"
#include "manager/run_folder.h"
#include "morphing/slow_ranks.h"
#include "report/words.h"
#include "runtime_bridge/rank_devices.h"
#include "runtime_bridge/rank_program.h"
#include "search/evaluate.h"
#include "studies/find_book.h"
#include "studies/plan_of_page.h"
#include "studies/slow_advice.h"

namespace penstock {
namespace {

// Page numbers that a state can hold.
constexpr int kLastPage = 1 << 20;

class Ending final : public SearchProgress {
 public:
  explicit Ending(const std::atomic<bool>& ends) : ends_(ends) {}
  bool stop() override { return ends_; }

 private:
  const std::atomic<bool>& ends_;
};

double slow_factor_of(const JobState& state, const std::string& machine) {
  const auto found = std::ranges::find(state.machines, machine, &JobMachine::name);
  return found == state.machines.end() ? 1.0 : found->slow_factor;
}

std::vector<RankSlowness> slow_ranks_of(const JobState& state, const PlanFile& plan) {
  const std::vector<RankShare> shares = rank_shares(plan);
  std::vector<RankSlowness> slow;
  for (const PlacedRank& rank : state.generation.ranks) {
    const double factor = slow_factor_of(state, rank.machine);
    if (factor <= 1.0) continue;
    const RankShare& share = shares.at(static_cast<std::size_t>(rank.rank));
    RankSlowness& added = slow.emplace_back();
    added.rank = rank.rank;
    added.pipeline_rank = share.pipeline_rank;
    added.replica = share.replica;
    added.factor = factor;
  }
  return slow;
}

int devices_of(const ClusterSpec& cluster, const std::string& type) {
  int devices = 0;
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& node = type_of(cluster, group);
    const bool is_its =
        cluster.device_types[static_cast<std::size_t>(node.device_type)].name == type;
    if (is_its) devices += group.count * node.devices;
  }
  return devices;
}

}  // namespace

std::string why_not_run(const PlanFile& plan) {
  try {
    rank_programs(plan, plan.description.value_or(ModelDescription{}), TrainingOptions{});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

PlanFile plan_file_of(const PlanBook& book, const ClusterSpec& cluster, const Plan& plan,
                      const InputFile& of_book) {
  const PlanInputs inputs{&book.profile, &cluster, book.executor, book.reserve};
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  if (evaluated.why_not) {
    throw_bad_input(
        fmt::format("{}: the plan for {} cannot be priced again\nhelp: write the book "
                    "anew: penstock plan ... --gpus 1..8 -o {}",
                    of_book.path, count_of(plan.devices(), "GPU"), of_book.path));
  }
  PlanFile made = to_plan_file(inputs, evaluated);
  made.tool_version = version();
  made.profile = of_book;
  made.cluster_file = of_book;
  return made;
}

std::string text_of(const PlanFile& plan) { return to_text(write_plan(plan)) + '\n'; }

PlanPage page_of_plan(const PlanBook& book, int page, const Plan& plan, Duration step) {
  PlanPage its{page, plan.devices(), step, {}};
  if (!book.counts_types()) return its;
  for (const std::string& device : devices_of_ranks(plan)) {
    if (its.devices.empty() || its.devices.back().device != device) {
      its.devices.push_back({device, 0});
    }
    ++its.devices.back().ranks;
  }
  return its;
}

FoundPlans::FoundPlans(const JobFile& job, PlanBook book, InputFile of_book,
                       std::function<UtcTime()> clock,
                       std::function<void(const std::string&)> complain)
    : job_(job),
      book_(std::move(book)),
      of_book_(std::move(of_book)),
      clock_(std::move(clock)),
      complain_(std::move(complain)) {}

FoundPlans::~FoundPlans() {
  ends_ = true;
  if (work_.valid()) work_.wait();
}

void FoundPlans::begin(const JobState& state) {
  state_ = state;
  last_page_ = std::max(kFirstFoundPage, state.generation.page);
  for (const PlanPage& page : state.found_pages) last_page_ = std::max(last_page_, page.page);
  if (state.tailored) last_page_ = std::max(last_page_, state.tailored->page.page);
}

void FoundPlans::decided(const Event& /*event*/, const JobDecision& decision) {
  state_ = decision.next;
}

std::vector<Event> FoundPlans::poll() {
  std::vector<Event> events;
  if (work_.valid()) {
    if (work_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return events;
    Found found = work_.get();
    if (!found.complaint.empty()) complain_(found.complaint);
    if (found.event) events.push_back(*std::move(found.event));
    return events;  // what is wanted next depends on what is decided about it
  }
  if (auto work = next_work()) work_ = std::async(std::launch::async, *std::move(work));
  return events;
}

std::optional<std::function<FoundPlans::Found()>> FoundPlans::next_work() {
  if (last_page_ + 1 >= kLastPage) return std::nullopt;
  if (wants_advice()) {
    return [this, state = state_, page = ++last_page_] { return advise(state, page); };
  }
  if (const std::optional<Size> wanted = wanted_size()) {
    sizes_.insert(*wanted);
    return [this, size = *wanted, page = ++last_page_] { return search(size, page); };
  }
  return std::nullopt;
}

bool FoundPlans::wants_advice() const {
  if (!job_.watch_slow_ranks || state_.phase != JobPhase::kRunning) return false;
  if (state_.generation.slowed_step) return false;
  return std::ranges::any_of(state_.generation.ranks, [&](const PlacedRank& rank) {
    return slow_factor_of(state_, rank.machine) > 1.0;
  });
}

// The GPUs that there are, where the book says nothing of as many, and its cluster has them.
std::optional<FoundPlans::Size> FoundPlans::wanted_size() const {
  if (!job_.search || state_.has_ended()) return std::nullopt;
  const std::vector<JobMachine> usable = usable_machines(state_, clock_());
  Size size, most;
  if (book_.counts_types()) {
    size = gpus_by_type(book_.types, usable);
    for (const std::string& type : book_.types) most.push_back(devices_of(book_.cluster, type));
  } else {
    size = {0};
    for (const JobMachine& machine : usable) size.front() += machine.gpus;
    most = {device_count(book_.cluster)};
  }
  const bool is_any = std::ranges::any_of(size, [](int gpus) { return gpus > 0; });
  if (!is_any || !are_among(size, most) || sizes_.contains(size) || has_page_for(size)) {
    return std::nullopt;
  }
  return size;
}

bool FoundPlans::has_page_for(const Size& size) const {
  return std::ranges::any_of(book_.pages, [&](const BookPage& page) {
    return book_.counts_types() ? page.of_types == size : page.gpus == size.front();
  });
}

// Without advice the whole step counts as longer, which is the most that it can be.
FoundPlans::Found FoundPlans::advise(const JobState& state, int page) const {
  double slowest = 1.0;
  for (const PlacedRank& rank : state.generation.ranks) {
    slowest = std::max(slowest, slow_factor_of(state, rank.machine));
  }
  SlowAdvised advised;
  advised.generation = state.generation.number;
  advised.kept = scaled(state.generation.predicted_step, slowest);
  const std::string path = plan_path(job_.run_folder, state.generation.page);
  try {
    const PlanFile running = load_plan(path).value;
    const SlowAdvice advice =
        advise_on_slow_ranks(book_, running.plan, slow_ranks_of(state, running));
    const ClusterSpec cluster = cluster_of(book_, running.plan);
    for (const SlowChoice& choice : advice.choices) {
      if (choice.answer == SlowAnswer::kKeep) advised.kept = choice.step_time;
    }
    for (const SlowChoice& choice : advice.choices) {  // the fastest first
      const bool same_ranks =
          choice.answer == SlowAnswer::kShare || choice.answer == SlowAnswer::kRecut;
      if (!same_ranks || choice.step_time >= advised.kept) continue;
      const PlanFile other = plan_file_of(book_, cluster, choice.plan, of_book_);
      if (!why_not_run(other).empty()) continue;
      write_file(plan_path(job_.run_folder, page), text_of(other));
      advised.other = page_of_plan(book_, page, choice.plan, choice.step_time);
      advised.what = choice.what;
      break;
    }
  } catch (const Error& error) {
    return {advised, std::string("slow ranks cannot be simulated: ") + error.what()};
  }
  return {advised, ""};
}

FoundPlans::Found FoundPlans::search(const Size& size, int page) const {
  Question question;
  question.profile.value = book_.profile;
  question.cluster.value = book_.cluster;
  question.executor = book_.executor;
  question.reserve = book_.reserve;
  question.request.global_batch = book_.global_batch;
  question.request.trainer = &parse_trainer("penstock");
  for (const BookPage& each : book_.pages) {
    if (each.plan) question.request.sequence_length = each.plan->sequence_length;
  }
  Ending ending(ends_);
  try {
    const std::optional<PlanBook> found =
        book_.counts_types() ? find_book_of_types(question, book_.types, {size}, ending)
                             : find_book(question, size, ending);
    if (!found || !found->pages.front().plan) return {};
    const BookPage& best = found->pages.front();
    for (const BookPage& each : book_.pages) {
      const bool fits =
          book_.counts_types() ? are_among(each.of_types, size) : each.gpus < size.front();
      if (fits && each.plan && each.step_time <= best.step_time) return {};
    }
    write_file(plan_path(job_.run_folder, page),
               text_of(plan_file_of(book_, cluster_of(*found, best), *best.plan, of_book_)));
    return {PlanFound{page_of_plan(book_, page, *best.plan, best.step_time)}, ""};
  } catch (const Error& error) {
    return {std::nullopt, fmt::format("no plan was searched for {}: {}",
                                      count_of(std::accumulate(size.begin(), size.end(), 0), "GPU"),
                                      error.what())};
  }
}

}  // namespace penstock
