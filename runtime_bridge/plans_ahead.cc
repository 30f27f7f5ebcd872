#include "runtime_bridge/plans_ahead.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/values/error.h"
#include "training/steady_time.h"

namespace penstock {

PlansAhead::PlansAhead(MakeStepPlan make, const PlansAheadOptions& options)
    : make_(std::move(make)),
      options_(options),
      next_(options.first_step),
      asked_(options.first_step) {
  threads_.reserve(static_cast<std::size_t>(options.threads));
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
}

PlansAhead::~PlansAhead() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (options_.stop) options_.stop();
  for (std::thread& thread : threads_) thread.join();
}

void PlansAhead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] {
      return ends_ || next_ >= options_.end_step || next_ <= asked_ + options_.ahead;
    });
    if (ends_ || next_ >= options_.end_step) return;
    const std::int64_t step = next_++;
    Entry made;
    lock.unlock();
    try {
      made.plan = make_(step);
    } catch (...) {
      made.failure = std::current_exception();
    }
    lock.lock();
    Entry& entry = entries_[step];
    entry.plan = std::move(made.plan);
    entry.failure = made.failure;
    entry.is_made = true;
    changed_.notify_all();
  }
}

PlanForSteps PlansAhead::plan_from(std::int64_t step) {
  const SteadyTime began = steady_now();
  std::unique_lock lock(mutex_);
  if (step + 1 < asked_ || step >= options_.end_step) {
    throw Error(ErrorKind::kInternal, "the plan of step " + std::to_string(step) +
                                          " is not made (again): steps are asked for in order");
  }
  asked_ = std::max(asked_, step);
  changed_.notify_all();
  changed_.wait(lock, [&] {
    const auto found = entries_.find(step);
    return found != entries_.end() && found->second.is_made;
  });
  Entry& entry = entries_[step];
  if (!std::exchange(entry.was_asked_for, true)) entry.waited = steady_now() - began;
  if (entry.failure) std::rethrow_exception(entry.failure);
  // A rank that is a thread may still be asking for the step before.
  entries_.erase(entries_.begin(), entries_.lower_bound(step - 1));
  return {entry.plan.plan, step + 1, entry.plan.samples};
}

PlannedStep PlansAhead::planned(std::int64_t step) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(step);
  return found == entries_.end() ? PlannedStep{} : found->second.plan;
}

Duration PlansAhead::waited(std::int64_t step) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(step);
  return found == entries_.end() ? Duration{} : found->second.waited;
}

std::uint64_t fingerprint_of(const PlanFile& plan, const std::vector<int>& order) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // 64-bit FNV-1a, number by number
  const auto add = [&hash](std::int64_t number) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100000001b3ULL;
  };
  for (const Action& action : plan.program.actions) {
    add(static_cast<std::int64_t>(action.kind));
    add(action.stage.value);
    add(action.micro_batch.value);
  }
  for (const MicroBatch& micro_batch : plan.program.micro_batches) {
    add(micro_batch.samples);
    add(micro_batch.shape);
  }
  for (const MicroBatchShape& shape : plan.plan.batch.shapes) {
    add(shape.samples);
    add(shape.tokens);
    add(shape.decoder_tokens);
  }
  for (const int sample : order) add(sample);
  return hash;
}

}  // namespace penstock
