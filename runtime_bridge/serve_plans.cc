// Three threads, each with a connection of its own: one hears what the job says, one keeps the
// store as it should be and says that the planner lives, and the one that called plans. So neither
// a long plan nor a slow store makes the planner look dead.
#include "runtime_bridge/serve_plans.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/plan_message.h"
#include "training/steady_time.h"

namespace penstock {

bool PlannerBook::hear(const PlanJob& job) {
  const bool is_new = !job_ || job_->run != job.run;
  job_ = job;
  const std::int64_t needed = std::max(job.first_step, first_needed());
  if (!is_new && next_ >= needed) return false;
  for (const auto& [step, kept] : kept_) used_.push_back(step);
  kept_.clear();
  // What a planner that died had left, and the ranks have used since.
  const std::int64_t reach = std::int64_t{ahead_} + job.ahead + 2;
  for (std::int64_t step = std::max<std::int64_t>(0, needed - reach); step < needed; ++step) {
    used_.push_back(step);
  }
  next_ = needed;
  return true;
}

std::int64_t PlannerBook::first_needed() const {
  return std::max<std::int64_t>(0, job_->wanted - job_->ahead - 2);
}

std::optional<std::int64_t> PlannerBook::next() const {
  if (!job_ || job_->ended || next_ >= job_->end_step || next_ > job_->wanted + ahead_) return {};
  return next_;
}

bool PlannerBook::planned(std::int64_t step, std::string bytes) {
  if (step != next_) return false;
  kept_[step] = {std::move(bytes), false};
  std::erase(used_, step);
  ++next_;
  return true;
}

std::vector<std::int64_t> PlannerBook::take_used() {
  const std::int64_t needed = job_ ? first_needed() : 0;
  while (!kept_.empty() && kept_.begin()->first < needed) {
    used_.push_back(kept_.begin()->first);
    kept_.erase(kept_.begin());
  }
  return std::exchange(used_, {});
}

namespace {

constexpr Duration kLookUp = std::chrono::milliseconds(250);
constexpr Duration kTellAgain = std::chrono::seconds(10);

class PlanServer {
 public:
  PlanServer(const ServePlansOptions& options, const ServePlansHooks& hooks)
      : options_(options), hooks_(hooks), keys_(options.name), book_(options.ahead) {
    heard_at_ = answered_at_ = told_at_ = steady_now();
  }

  ServedPlans serve() {
    keep(*hooks_.open());  // what is wrong with the store, is wrong at once
    std::thread hears([this] { watch([this] { hear_job(); }); });
    std::thread keeps([this] { watch([this] { keep_store(); }); });
    std::exception_ptr failure;
    try {
      plan();
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    hears.join();
    keeps.join();
    say_goodbye(failure);
    if (failure) std::rethrow_exception(failure);
    return served_;
  }

 private:
  // What a thread throws ends the planner.
  void watch(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    changed_.notify_all();
  }

  void hear_job() {
    const auto store = hooks_.open();
    std::string heard;
    // What is there when the planner begins may be of a job that died: its word lasts for a day.
    bool is_first = true;
    while (!ends()) {
      const auto answer = store->wait_for(keys_.job(), heard, kLookUp);
      if (!answer.value) {
        if (answer.trouble.empty()) is_first = false;  // nothing was there: what comes now lives
        continue;
      }
      heard = answer.value->id;
      const bool may_be_left_over = std::exchange(is_first, false);
      PlanJob job;
      try {
        job = read_plan_job(answer.value->bytes, keys_.job());
      } catch (const Error& error) {
        if (!may_be_left_over) throw;
        note_left_over(error.what());
        continue;
      }
      const std::scoped_lock lock(mutex_);
      if (!may_be_left_over) hear_that_it_lives(job);
      if (job.ended && !job_) continue;  // one that ended before this planner began
      heard_at_ = steady_now();
      if (book_.hear(job)) begins_ = true;
      job_ = std::move(job);
      changed_.notify_all();
    }
  }

  // By the lock. A job that lives says so with every plan that it wants, and every second while it
  // waits for one.
  void hear_that_it_lives(const PlanJob& job) {
    lives_ = job.run;
    if (set_aside_ && set_aside_run_ == job.run && !job.ended) failure_ = set_aside_;
  }

  void note_left_over(const std::string& words) {
    const std::scoped_lock lock(mutex_);
    hooks_.note("what the store has of job '" + options_.name +
                "' may be left of one that has ended, so it is only a note: " + words +
                "\nwaiting for the job to ask again or to begin anew");
  }

  // The failure being handled goes on if the job lives. Else it is kept: the job may be one that
  // died of it, and the next one may be about to begin with other files or settings.
  void set_aside(const PlanJob& job, const std::string& words) {
    {
      const std::scoped_lock lock(mutex_);
      if (lives_ == job.run || hooks_.is_stopped()) throw;
      set_aside_ = std::current_exception();
      set_aside_run_ = job.run;
    }
    note_left_over(words);
  }

  // The store has what the book has. Returns the trouble with it.
  void keep(PlanStore& store) {
    std::string trouble = store.put(keys_.planner(), write_planner_sign(sign("")), kSignLasts);
    for (const auto& [step, kept] : copy_of_kept()) {
      if (!trouble.empty()) break;
      bool is_there = false;
      if (kept.is_written) {
        const auto answer = store.keep(keys_.plan(step), kPlanLasts);
        trouble = answer.trouble;
        is_there = answer.value.value_or(false);
        if (!trouble.empty()) break;
      }
      if (!is_there) trouble = store.put(keys_.plan(step), kept.bytes, kPlanLasts);
      if (trouble.empty() && !is_there) note_written(step, kept);
    }
    if (trouble.empty()) trouble = remove_used(store);
    heed(store, trouble);
  }

  [[nodiscard]] std::map<std::int64_t, PlannerBook::Kept> copy_of_kept() {
    const std::scoped_lock lock(mutex_);
    return book_.kept();
  }

  void note_written(std::int64_t step, const PlannerBook::Kept& kept) {
    const std::scoped_lock lock(mutex_);
    if (kept.is_written) ++served_.written_again;
    const auto found = book_.kept().find(step);
    if (found != book_.kept().end() && found->second.bytes == kept.bytes) {
      found->second.is_written = true;
    }
  }

  std::string remove_used(PlanStore& store) {
    std::vector<std::string> keys;
    {
      const std::scoped_lock lock(mutex_);
      for (const std::int64_t step : book_.take_used()) keys.push_back(keys_.plan(step));
    }
    return keys.empty() ? "" : store.remove(keys);
  }

  // Of trouble people hear once, and once that it is over.
  void heed(const PlanStore& store, const std::string& trouble) {
    const std::scoped_lock lock(mutex_);
    if (trouble.empty()) {
      if (!trouble_.empty()) hooks_.note(store.name() + " answers again");
      trouble_.clear();
      answered_at_ = steady_now();
      return;
    }
    if (trouble_.empty()) hooks_.note(store.name() + ": " + trouble + "; trying again");
    trouble_ = trouble;
    if (steady_now() - answered_at_ < options_.time_out) return;
    throw Error(ErrorKind::kMissingResource,
                store.name() + ": " + trouble +
                    "\nhelp: what is planned could not be left there for the whole --time-out");
  }

  void keep_store() {
    const auto store = hooks_.open();
    while (!ends()) {
      keep(*store);
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, trouble_.empty() ? options_.beat : kLookUp,
                        [this] { return ends_ || failure_ || (fresh_ && trouble_.empty()); });
      fresh_ = false;
    }
  }

  void plan() {
    std::unique_ptr<JobPlans> plans;
    std::unique_ptr<PlansAhead> pool;
    for (;;) {
      std::unique_lock lock(mutex_);
      const auto has_work = [this] {
        return failure_ || begins_ || next_to_plan() || (job_ && job_->ended);
      };
      changed_.wait_for(lock, kLookUp, has_work);
      if (failure_) std::rethrow_exception(failure_);
      if (is_over()) return;
      if (!job_) continue;
      const PlanJob job = *job_;
      const bool begins = std::exchange(begins_, false);
      const std::optional<std::int64_t> step = next_to_plan();
      lock.unlock();
      try {
        if (begins) {
          pool.reset();
          if (!plans || job.run != planned_run_) plans = begin(job);
          pool = pool_from(*plans, job);
        } else if (step && pool) {
          write(job, *step, *pool);
        }
      } catch (const Error& error) {
        set_aside(job, error.what());
        pool.reset();
        plans.reset();
      }
    }
  }

  // By the lock.
  [[nodiscard]] bool is_set_aside() const {
    return job_ && set_aside_ && set_aside_run_ == job_->run;
  }
  [[nodiscard]] std::optional<std::int64_t> next_to_plan() const {
    return is_set_aside() ? std::nullopt : book_.next();
  }

  std::unique_ptr<JobPlans> begin(const PlanJob& job) {
    planned_run_ = job.run;
    {
      const std::scoped_lock lock(mutex_);
      ++served_.starts;
      hooks_.note("job '" + options_.name + "' (" + job.run + ") has begun: planning from step " +
                  std::to_string(book_.next_step()) + " to " + std::to_string(job.end_step));
    }
    return hooks_.begin(job);
  }

  std::unique_ptr<PlansAhead> pool_from(const JobPlans& plans, const PlanJob& job) {
    PlansAheadOptions ahead;
    {
      const std::scoped_lock lock(mutex_);
      ahead.first_step = book_.next_step();
    }
    ahead.end_step = job.end_step;
    ahead.threads = options_.threads;
    ahead.ahead = options_.threads;
    return std::make_unique<PlansAhead>(
        [this, &plans](std::int64_t step) {
          ServedStep served = plans.plan(step);
          const std::scoped_lock lock(mutex_);
          documents_[step] = served.documents;
          return std::move(served.planned);
        },
        ahead);
  }

  void write(const PlanJob& job, std::int64_t step, PlansAhead& pool) {
    const PlannedStep planned = [&] {
      const PlanForSteps made = pool.plan_from(step);
      return PlannedStep{made.plan, made.samples};
    }();
    std::unique_lock lock(mutex_);
    const std::uint64_t documents = documents_[step];
    documents_.erase(documents_.begin(), documents_.lower_bound(step));
    lock.unlock();
    std::string bytes =
        write_plan_message({fingerprint_of(job), step, documents}, planned, options_.layout);
    lock.lock();
    if (!job_ || job_->run != job.run) return;
    const Bytes size{static_cast<std::int64_t>(bytes.size())};
    if (!book_.planned(step, std::move(bytes))) return;
    ++served_.plans;
    served_.bytes = served_.bytes + size;
    served_.planning += planned.samples->planning;
    if (steady_now() - told_at_ >= kTellAgain) {
      told_at_ = steady_now();
      hooks_.note("planned up to step " + std::to_string(step) + "; the job asks for step " +
                  std::to_string(job_->wanted));
    }
    fresh_ = true;
    changed_.notify_all();
  }

  // By the planner's lock.
  bool is_over() {
    served_.next_step = book_.next_step();
    if (hooks_.is_stopped()) return served_.stopped = true;
    if (job_ && job_->ended) return true;
    const Duration silence = steady_now() - heard_at_;
    // The word of its end may have been lost with a store.
    if (job_ && job_->wanted + 1 >= job_->end_step && silence >= options_.time_out) return true;
    if (silence < options_.idle) return false;
    throw Error(
        ErrorKind::kMissingResource,
        "job '" + options_.name + "' has asked for no plan for " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(silence).count()) +
            " s\nhelp: is it running, with --plans-from and the same --job? --idle says how "
            "long the planner waits");
  }

  [[nodiscard]] PlannerSign sign(const std::string& failure) {
    const std::scoped_lock lock(mutex_);
    const bool waits = !job_ || (is_set_aside() && failure.empty());
    return {options_.process, waits ? "" : job_->run, book_.next_step(), failure};
  }

  [[nodiscard]] bool ends() {
    const std::scoped_lock lock(mutex_);
    return ends_ || failure_;
  }

  // The ranks learn why; what they have used is no use to anybody. By a connection of its own,
  // since one from before may not have outlived a restart of the store.
  void say_goodbye(const std::exception_ptr& failure) {
    std::string words;
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      words = error.what();
    }
    try {
      const auto store = hooks_.open();
      if (!words.empty()) {
        keep(*store);  // the steps before the one that failed can still run
        static_cast<void>(store->put(keys_.planner(), write_planner_sign(sign(words)), kSignLasts));
      } else if (job_ && job_->ended) {
        std::vector<std::string> keys{keys_.planner(), keys_.job()};
        for (const std::int64_t step : book_.take_used()) keys.push_back(keys_.plan(step));
        for (const auto& [step, kept] : book_.kept()) keys.push_back(keys_.plan(step));
        static_cast<void>(store->remove(keys));
      }
    } catch (const Error&) {  // the store is what failed
    }
  }

  const ServePlansOptions& options_;
  const ServePlansHooks& hooks_;
  const PlanKeys keys_;
  std::string planned_run_;  // of the planning thread

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  PlannerBook book_;
  std::optional<PlanJob> job_;
  std::map<std::int64_t, std::uint64_t> documents_;  // by step, of plans that are not written yet
  std::string lives_;  // PlanJob::run of a job that has asked while this planner was there
  std::exception_ptr set_aside_;  // why the plans of set_aside_run_ cannot be made
  std::string set_aside_run_;
  bool begins_ = false;  // a start of the job is to be planned for
  bool fresh_ = false;   // a plan is to be written
  bool ends_ = false;
  SteadyTime heard_at_, answered_at_, told_at_;
  std::string trouble_;
  std::exception_ptr failure_;
  ServedPlans served_;
};

}  // namespace

ServedPlans serve_plans(const ServePlansOptions& options, const ServePlansHooks& hooks) {
  return PlanServer(options, hooks).serve();
}

}  // namespace penstock
