// How the launchers of one job on several machines find each other: through a folder that all of
// them see, a new one for every start. The launcher with rank 0 serves the store and says where.
// Each says which of its ranks run and how the others ended, for readers that are not its parent.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/values/units.h"
#include "runtime_bridge/launcher.h"

namespace penstock {

// Which of a plan's ranks one machine runs.
struct RanksHere {
  int first = 0, count = 1;
  bool operator==(const RanksHere&) const = default;
};
// "2-3", or "2" for a single one.
std::string to_text(const RanksHere& ranks);

class MeetingFolder {
 public:
  explicit MeetingFolder(std::string path) : path_(std::move(path)) {}

  // Where the ranks meet, for the owner of the file only, since it holds the job's token.
  void say_where(const HostedStore& store) const;
  // Until somebody has said it; nothing when `is_stopped`. Error{kMissingResource} after `limit`,
  // or when the start was given up.
  [[nodiscard]] std::optional<HostedStore> wait_for_store(
      Duration limit, const std::function<bool()>& is_stopped) const;

  void say_ranks(const RanksHere& which, const LaunchedRanks& ranks) const;
  // Nothing before their launcher has started them. Error{kBadInput} for a file that is no answer.
  [[nodiscard]] std::optional<LaunchedRanks> read_ranks(const RanksHere& which) const;

  // Of all launchers that have said so.
  [[nodiscard]] int ended_ranks() const;

  // For good: launchers end their ranks at once, and those that come later start none.
  void give_up() const;
  [[nodiscard]] bool is_given_up() const;

 private:
  [[nodiscard]] std::string store_file() const { return path_ + "/store.json"; }
  [[nodiscard]] std::string ranks_file(const RanksHere& which) const {
    return path_ + "/ranks-" + to_text(which) + ".json";
  }
  [[nodiscard]] std::string given_up_file() const { return path_ + "/given_up"; }

  std::string path_;
};

}  // namespace penstock
