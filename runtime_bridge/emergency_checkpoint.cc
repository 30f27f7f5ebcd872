#include "runtime_bridge/emergency_checkpoint.h"

#include <exception>

namespace penstock {
namespace {

std::string words_of(const std::vector<int>& ranks) {
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const char* before = i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
    words += before + std::to_string(ranks[i]);
  }
  return words;
}

std::string no_checkpoint(const std::string& why) { return "no emergency checkpoint: " + why; }

// While it lives the launcher waits for the survivors.
class Saving {
 public:
  Saving(KeyValueStore& store, bool says) : store_(store), says_(says) {
    if (says_) say_saving(store_, true);
  }
  Saving(const Saving&) = delete;
  Saving& operator=(const Saving&) = delete;
  ~Saving() {
    try {
      if (says_) say_saving(store_, false);
    } catch (const std::exception&) {  // then nobody waits either
    }
  }

 private:
  KeyValueStore& store_;
  bool says_;
};

LastStep save(KeyValueStore& store, const EmergencyOptions& options, RankAtLoss& rank) {
  const StepStanding own = rank.standing();
  tell_standing(store, options.survivors.rank, own);
  SurvivorOptions survivors = options.survivors;
  if (options.look) survivors.lost = options.look();
  LastStep last = agree_on_last_step(store, survivors, own, [&](const LastStep& common) {
    if (common.next_step <= options.first_step) {
      return std::string("no step was finished since the run began");
    }
    if (common.mirrored) return std::string();
    const std::string missing = rank.missing_from(common.ranks);
    return missing.empty() ? missing : "the survivors do not hold the whole model: " + missing;
  });
  if (!last.why_not.empty()) return last;
  const Saving saving(store, last.ranks.front() == options.survivors.rank);
  if (last.mirrored) {
    options.write_mirrored(last, rank.mirrored(last));
  } else {
    if (own.step + 1 == last.next_step && own.updated < own.updates) rank.finish_step(*last.norm);
    options.write(last, rank.states_among(last.ranks));
  }
  if (own.step + 1 == last.next_step) rank.report_step();
  return last;
}

}  // namespace

EmergencyEnd keep_last_step(KeyValueStore& store, const EmergencyOptions& options,
                            RankAtLoss& rank) {
  EmergencyEnd end;
  try {
    end.last = save(store, options, rank);
    const bool decided =
        !end.last.ranks.empty() && end.last.ranks.front() == options.survivors.rank;
    if (!end.last.why_not.empty()) {
      if (decided) end.note = no_checkpoint(end.last.why_not);
    } else if (decided) {
      end.note = "emergency checkpoint of all " + std::to_string(end.last.next_step) +
                 " finished steps, by " + words_of(end.last.ranks) +
                 (end.last.mirrored ? " from copies in memory" : "") + ": no finished step is lost";
    }
  } catch (const TransportFailure& of_store) {
    end.last.why_not = std::string("the job's store is gone: ") + of_store.what();
    end.note = no_checkpoint(end.last.why_not);
  } catch (const std::exception& error) {
    end.last.why_not = error.what();
    end.note = no_checkpoint(end.last.why_not);
  }
  return end;
}

}  // namespace penstock
