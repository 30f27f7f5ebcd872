#include "runtime_bridge/stored_plans.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/plan_message.h"

namespace penstock {
namespace {

// A store that lost its memory learns of the job again so soon, while somebody waits.
constexpr Duration kAnnounceAgain = std::chrono::seconds(1);
// A planner that does not hear of the end waits for its own time-out.
constexpr Duration kEndInsists = std::chrono::seconds(2);

std::string seconds(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

StoredPlans::StoredPlans(std::unique_ptr<PlanStore> store, StoredPlansOptions options,
                         std::string layout, Documents documents)
    : store_(std::move(store)),
      options_(std::move(options)),
      keys_(options_.name),
      layout_(std::move(layout)),
      documents_(std::move(documents)),
      fingerprint_(fingerprint_of(options_.job)),
      job_(options_.job) {}

PlannedStep StoredPlans::plan(std::int64_t step) {
  std::string why;
  if (auto planned = plan_if_there(step, why)) return *std::move(planned);
  throw Error(ErrorKind::kMissingResource, why);
}

std::optional<PlannedStep> StoredPlans::plan_if_there(std::int64_t step, std::string& why) {
  const std::scoped_lock lock(mutex_);
  const SteadyTime began = steady_now();
  const SteadyTime deadline = began + (was_late_ ? Duration{} : options_.wait);
  job_.wanted = std::max(job_.wanted, step);
  announced_.reset();
  passed_over_.clear();
  foreign_.clear();
  for (;;) {
    if (stops_.load()) throw Error(ErrorKind::kInternal, "the run ends: no plan is waited for");
    if (options_.announces) announce();
    const Duration left = std::max(Duration{}, deadline - steady_now());
    if (auto planned = look(step, std::min(left, options_.slice))) {
      was_late_ = false;
      return planned;
    }
    if (options_.announces) look_for_failure();
    if (steady_now() >= deadline) break;
  }
  was_late_ = true;
  why = why_late(step, steady_now() - began);
  return {};
}

std::optional<PlannedStep> StoredPlans::look(std::int64_t step, Duration slice) {
  StoreAnswer<StoredValue> answer = store_->wait_for(keys_.plan(step), passed_over_, slice);
  trouble_ = std::move(answer.trouble);
  if (!answer.value) return {};
  if (auto planned = accepted(step, *answer.value)) return planned;
  passed_over_ = answer.value->id;
  return {};
}

std::optional<PlannedStep> StoredPlans::accepted(std::int64_t step, const StoredValue& value) {
  const std::string source =
      "the plan of step " + std::to_string(step) + " (" + keys_.plan(step) + ")";
  const PlanMessageHeader header = read_plan_message_header(value.bytes, source);
  if (header.job != fingerprint_) {
    foreign_ =
        "what is there was planned for another job of this name, or for this one with other "
        "settings or files";
  } else if (header.step != step || header.documents != documents_(step)) {
    foreign_ = "what is there was planned for other documents";
  } else {
    return read_plan_message(value.bytes, layout_, source);
  }
  return {};
}

void StoredPlans::announce() {
  if (announced_ && steady_now() < *announced_ + kAnnounceAgain) return;
  untold_ = store_->put(keys_.job(), write_plan_job(job_), kJobLasts);
  if (untold_.empty()) announced_ = steady_now();
}

void StoredPlans::look_for_failure() {
  const StoreAnswer<StoredValue> answer = store_->wait_for(keys_.planner(), "", Duration{});
  if (!answer.value) return;
  const PlannerSign sign = read_planner_sign(answer.value->bytes, keys_.planner());
  if (sign.failure.empty() || sign.run != job_.run) return;
  throw_bad_input("the planner of job '" + options_.name + "' (" + sign.process +
                  ") has failed: " + sign.failure);
}

std::string StoredPlans::words_on_planner() {
  const std::string planner = "the planner of job '" + options_.name + "'";
  const auto sign = store_->wait_for(keys_.planner(), "", Duration{});
  const auto left = store_->time_left(keys_.planner());
  if (!sign.trouble.empty() || !left.trouble.empty()) {
    return "the store does not answer: " + (sign.trouble.empty() ? left.trouble : sign.trouble);
  }
  if (!sign.value || !left.value) return planner + " has never been heard of there";
  const PlannerSign told = read_planner_sign(sign.value->bytes, keys_.planner());
  std::string words = planner + " (" + told.process + ") was last heard of " +
                      seconds(std::max(Duration{}, kSignLasts - *left.value)) + " ago";
  if (!told.failure.empty()) return words + ", when it failed: " + told.failure;
  if (told.run.empty()) return words + ", when it waited for the job";
  return words + ", when it went on to step " + std::to_string(told.next_step);
}

std::string StoredPlans::why_late(std::int64_t step, Duration waited) {
  std::string why = "the plan of step " + std::to_string(step) + " was not in " + store_->name() +
                    " within " + seconds(waited) + ": " +
                    (trouble_.empty() ? words_on_planner() : trouble_);
  if (!foreign_.empty()) why += "; " + foreign_;
  if (trouble_.empty() && !untold_.empty()) why += "; the planner could not be told: " + untold_;
  return why + "\nhelp: start it again (penstock planner PLAN --documents FILE --store " +
         store_->name() + " --job " + options_.name +
         "), then the job with --resume; --plan-if-late lets ranks make such plans themselves, "
         "which are the same";
}

void StoredPlans::end() {
  stop();  // whoever plans ahead may be waiting, with the lock
  const std::scoped_lock lock(mutex_);
  job_.ended = true;
  const SteadyTime deadline = steady_now() + kEndInsists;
  while (!store_->put(keys_.job(), write_plan_job(job_), kJobLasts).empty() &&
         steady_now() < deadline) {
    std::this_thread::sleep_for(options_.slice);
  }
}

void StoredPlans::require_store() {
  const std::scoped_lock lock(mutex_);
  const SteadyTime deadline = steady_now() + options_.wait;
  for (;;) {
    const StoreAnswer<StoredValue> answer =
        store_->wait_for(keys_.planner(), "", std::chrono::milliseconds(1));
    if (answer.trouble.empty()) return;
    if (stops_.load() || steady_now() >= deadline) {
      throw Error(ErrorKind::kMissingResource,
                  store_->name() + ": " + answer.trouble +
                      "\nhelp: is it running, and reached from here? Without --plans-from every "
                      "process plans by itself");
    }
  }
}

}  // namespace penstock
