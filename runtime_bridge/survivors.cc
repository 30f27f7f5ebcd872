// How the survivors of a lost rank agree on a step, with nothing but the job's store.
//
// Every rank goes through the ranks below it, in order. A rank counts as lost when it stopped, when
// its heartbeat stands still, or when it says nothing within the limit; the first that lives
// decides and all others wait for its decision. The one that decides waits for the standing of
// every rank above it. Where it is lost before it has decided, the next one does. What must hold: a
// rank writes only what one decision says, and only if it is named in it. Two ranks that take
// themselves for the lowest therefore end with two decisions, of which at most one has all its
// ranks.
#include "runtime_bridge/survivors.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "runtime_bridge/heartbeat.h"
#include "runtime_bridge/mirror.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

constexpr const char* kSaving = "last_step/saving";

std::string standing_key(int rank) { return "last_step/standing/" + std::to_string(rank); }
std::string decision_key(int rank) { return "last_step/decision/" + std::to_string(rank); }

LastStep none(const std::string& why) {
  LastStep last;
  last.why_not = why;
  return last;
}

class Agreement {
 public:
  Agreement(KeyValueStore& store, const SurvivorOptions& options)
      : store_(store), options_(options), deadline_(steady_now() + options.limit) {}

  // In the order of ranks: the first that lives decides.
  LastStep agree(const StepStanding& own, const JudgeLastStep& judge) {
    for (int rank = 0; rank < options_.rank; ++rank) {
      if (!standing_of(rank)) continue;
      if (const std::optional<LastStep> last = decision_of(rank)) return *last;
      options_.lost.insert(rank);  // before it had decided
    }
    std::map<int, StepStanding> survivors{{options_.rank, own}};
    for (int rank = options_.rank + 1; rank < options_.ranks; ++rank) {
      if (const auto standing = standing_of(rank)) survivors.emplace(rank, *standing);
    }
    LastStep last = last_common_step(survivors);
    if (last.why_not.empty()) last.why_not = judge(last);
    if (!last.why_not.empty()) last = or_mirrored(std::move(last), survivors, judge);
    store_.set(decision_key(options_.rank), write_last_step(last));
    return last;
  }

 private:
  // What copies in memory can do where the ranks' own state cannot.
  [[nodiscard]] LastStep or_mirrored(LastStep last, const std::map<int, StepStanding>& survivors,
                                     const JudgeLastStep& judge) const {
    LastStep mirrored = last_mirrored_step(survivors, options_.ranks);
    if (mirrored.next_step == kNotMirrored) return last;
    if (mirrored.why_not.empty()) mirrored.why_not = judge(mirrored);
    if (mirrored.why_not.empty()) return mirrored;
    last.why_not += "; and of the copies in memory: " + mirrored.why_not;
    return last;
  }

  // Nothing when the rank is lost: it stopped on its own account, or is silent, or says nothing
  // within the limit.
  std::optional<StepStanding> standing_of(int rank) {
    if (options_.lost.contains(rank)) return std::nullopt;
    std::int64_t sequence = -1;
    SteadyTime changed = steady_now();
    for (;;) {
      const std::optional<HeartbeatMessage> heartbeat = latest_heartbeat(store_, rank);
      // Told before the heartbeat, so looked for after it.
      if (const auto text = store_.get(standing_key(rank))) return read_standing(*text);
      if (heartbeat && heartbeat->state != RankCondition::kRunning) return std::nullopt;
      const SteadyTime now = steady_now();
      if (heartbeat && heartbeat->sequence != sequence) {
        sequence = heartbeat->sequence;
        changed = now;
      }
      if (now - changed > options_.silence || now > deadline_) return std::nullopt;
      std::this_thread::sleep_for(options_.look_again);
    }
  }

  // Nothing when the rank was lost before it decided: its heartbeat stands still.
  std::optional<LastStep> decision_of(int rank) {
    const std::string who = "rank " + std::to_string(rank);
    // It waits for as long as we do, and for ranks that are silent.
    const SteadyTime last_look = deadline_ + 2 * options_.silence;
    std::int64_t sequence = -1;
    SteadyTime changed = steady_now();
    for (;;) {
      const std::optional<HeartbeatMessage> heartbeat = latest_heartbeat(store_, rank);
      if (const auto text = store_.get(decision_key(rank))) {
        const std::optional<LastStep> last = read_last_step(*text);
        if (!last) return none("what " + who + " decided cannot be read");
        const bool is_in =
            std::find(last->ranks.begin(), last->ranks.end(), options_.rank) != last->ranks.end();
        return is_in ? *last : none(who + " counted this rank as lost");
      }
      const SteadyTime now = steady_now();
      if (heartbeat && heartbeat->sequence != sequence) {
        sequence = heartbeat->sequence;
        changed = now;
      }
      if (now - changed > options_.silence) return std::nullopt;
      if (now > last_look) return none(who + " did not say which step is kept");
      std::this_thread::sleep_for(options_.look_again);
    }
  }

  KeyValueStore& store_;
  SurvivorOptions options_;
  SteadyTime deadline_;
};

}  // namespace

void tell_standing(KeyValueStore& store, int rank, const StepStanding& own) {
  store.set(standing_key(rank), write_standing(own));
}

LastStep agree_on_last_step(KeyValueStore& store, const SurvivorOptions& options,
                            const StepStanding& own, const JudgeLastStep& judge) {
  return Agreement(store, options).agree(own, judge);
}

void say_saving(KeyValueStore& store, bool saving) { store.set(kSaving, saving ? "1" : "0"); }

bool is_saving(KeyValueStore& store) {
  const std::optional<std::string> said = store.get(kSaving);
  return said && *said == "1";
}

}  // namespace penstock
