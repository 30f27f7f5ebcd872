// One pass over the changes of a recording and the wake-ups that the policy asks for. Between two
// of them one rung runs, restarts, or nothing does; steps are counted where the interval ends.
#include <algorithm>

#include "core/values/error.h"
#include "core/values/seconds.h"
#include "morphing/goodput.h"

namespace penstock {
namespace {

class Replay {
 public:
  Replay(const Availability& recording, const std::vector<Rung>& rungs, const ChangeCosts& costs,
         ChangePolicy& policy)
      : recording_(recording), rungs_(rungs), costs_(costs), policy_(policy) {
    is_used_.assign(recording.machines.size(), false);
  }

  Goodput run() {
    const std::vector<AvailabilityChange>& changes = recording_.changes;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Duration next = i + 1 < changes.size() ? changes[i + 1].at : recording_.end;
      now_ = changes[i].at;
      const bool broken = happen(changes[i]);
      std::optional<Duration> wake = ask(&changes[i], broken);
      while (wake && *wake > now_ && *wake < next) {
        pass_until(*wake);
        wake = ask(nullptr, false);
      }
      pass_until(next);
    }
    return std::move(result_);
  }

 private:
  // Whether the running rung lost a GPU.
  bool happen(const AvailabilityChange& change) {
    gpus_ = change.gpus;
    of_types_ = change.of_types;
    bool broken = running_ && !fits(rungs_[*running_], gpus_, of_types_);
    for (const int machine : change.lost) {
      broken = broken || is_used_[static_cast<std::size_t>(machine)];
      std::erase(there_, machine);
    }
    there_.insert(there_.end(), change.added.begin(), change.added.end());
    return broken;
  }

  // Of the rung that runs, with what checkpoints in the background take.
  [[nodiscard]] double speed() const {
    const double its = rungs_[*running_].steps_per_second();
    if (costs_.every <= Duration{}) return its;
    return its * (static_cast<double>(costs_.every.count()) /
                  static_cast<double>((costs_.every + costs_.stall).count()));
  }

  // Production since the last checkpoint, of what a loss breaks that nobody announced in time.
  [[nodiscard]] double unsaved_steps() const {
    if (!running_ || now_ <= ready_ || costs_.every <= Duration{}) return 0.0;
    return speed() * to_seconds((now_ - ready_) % (costs_.every + costs_.stall));
  }

  void lose_unsaved() {
    const double lost = unsaved_steps();
    result_.steps -= lost;
    result_.lost_steps += lost;
  }

  std::optional<Duration> ask(const AvailabilityChange* change, bool broken) {
    const Decision decision =
        policy_.decide({now_, gpus_, change, broken ? std::nullopt : running_,
                        running_ ? std::max(Duration{}, ready_ - now_) : Duration{}, of_types_});
    if (decision.rung && !fits(rungs_[*decision.rung], gpus_, of_types_)) {
      throw Error(ErrorKind::kInternal, "a policy runs a plan on more GPUs than there are");
    }
    if (broken || decision.restart || decision.rung != running_) {
      start(decision, broken, change);
    }
    return decision.wake;
  }

  void start(const Decision& decision, bool broken, const AvailabilityChange* change) {
    const Duration notice = change != nullptr ? change->notice.value_or(costs_.notice) : Duration{};
    const bool is_saved = !decision.restart && (!broken || notice >= costs_.write);
    if (running_ && !is_saved) lose_unsaved();
    // A plan that has made no step has nothing to write, but waits for what is being written.
    const bool writes = is_saved && running_ && now_ > ready_;
    if (writes) written_ = now_ + costs_.write;
    Duration cost = std::max(Duration{}, written_ - now_) + costs_.restart;
    if (now_ == recording_.changes.front().at) cost = Duration{};
    running_ = decision.rung;
    if (running_) {
      ready_ = now_ + cost;
      if (cost > Duration{}) ++result_.changes;
    }
    use_machines();
    result_.starts.push_back({now_, running_, broken});
  }

  // Those that have been there longest, of each type where types are counted.
  void use_machines() {
    std::fill(is_used_.begin(), is_used_.end(), false);
    if (!running_) return;
    const Rung& rung = rungs_[*running_];
    std::vector<int> wanted = rung.of_types.empty() ? std::vector<int>{rung.gpus} : rung.of_types;
    for (const int index : there_) {
      const AvailableMachine& machine = recording_.machines[static_cast<std::size_t>(index)];
      int& left = wanted[rung.of_types.empty() ? 0 : static_cast<std::size_t>(machine.type)];
      if (left <= 0) continue;
      is_used_[static_cast<std::size_t>(index)] = true;
      left -= machine.gpus;
    }
  }

  void pass_until(Duration next) {
    if (!running_) {
      result_.waiting += next - now_;
    } else {
      const Duration begin = std::clamp(ready_, now_, next);
      result_.restarting += begin - now_;
      result_.steps += speed() * to_seconds(next - begin);
    }
    now_ = next;
  }

  const Availability& recording_;
  const std::vector<Rung>& rungs_;
  const ChangeCosts& costs_;
  ChangePolicy& policy_;
  Goodput result_;
  Duration now_{}, ready_{};
  Duration written_{};  // until when the checkpoint in front of a change is being written
  int gpus_ = 0;
  std::vector<int> of_types_;  // of the GPUs
  std::optional<std::size_t> running_;
  std::vector<int> there_;  // machines, by when they came
  std::vector<bool> is_used_;
};

}  // namespace

Goodput replay_availability(const Availability& recording, const std::vector<Rung>& rungs,
                            const ChangeCosts& costs, ChangePolicy& policy) {
  return Replay(recording, rungs, costs, policy).run();
}

double steps_of_free_changes(const Availability& recording, const std::vector<Rung>& rungs) {
  double steps = 0.0;
  for (std::size_t i = 0; i < recording.changes.size(); ++i) {
    const AvailabilityChange& change = recording.changes[i];
    const Duration next =
        i + 1 < recording.changes.size() ? recording.changes[i + 1].at : recording.end;
    const auto rung = fastest_rung(rungs, change.gpus, change.of_types);
    if (rung) steps += rungs[*rung].steps_per_second() * to_seconds(next - change.at);
  }
  return steps;
}

double usd_paid(const Availability& recording, double usd_per_gpu_hour) {
  double usd = 0.0, price = usd_per_gpu_hour;
  for (std::size_t i = 0; i < recording.changes.size(); ++i) {
    const AvailabilityChange& change = recording.changes[i];
    const Duration next =
        i + 1 < recording.changes.size() ? recording.changes[i + 1].at : recording.end;
    price = change.usd_per_gpu_hour.value_or(price);
    usd += price * static_cast<double>(change.gpus) * to_seconds(next - change.at) / 3600.0;
  }
  return usd;
}

double gpu_hours(const Availability& recording) {
  Availability priced = recording;
  for (AvailabilityChange& change : priced.changes) change.usd_per_gpu_hour.reset();
  return usd_paid(priced, 1.0);
}

}  // namespace penstock
