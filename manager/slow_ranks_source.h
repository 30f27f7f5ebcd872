// What the ranks find out about slow ones among them (train --slow-machines), as news about their
// machines.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "manager/event_source.h"

namespace penstock {

class SlowRanksSource final : public EventSource {
 public:
  // `complain`: of a file that cannot be read.
  SlowRanksSource(std::string run_folder, std::function<void(const std::string&)> complain)
      : run_folder_(std::move(run_folder)), complain_(std::move(complain)) {}

  void begin(const JobState& state) override { state_ = state; }
  std::vector<Event> poll() override;
  void decided(const Event& event, const JobDecision& decision) override;

 private:
  // Machines of the generation that are slow, by how much; those in `unclear` may be, or the plan
  // predicts too little for their stages.
  void read(const std::string& text, const std::string& path);
  [[nodiscard]] bool is_well(const JobMachine& machine) const;

  std::string run_folder_;
  std::function<void(const std::string&)> complain_;
  JobState state_;
  std::int64_t generation_ = 0;
  std::string text_;  // of the file, as it was read last
  std::map<std::string, double> slow_;
  std::set<std::string> unclear_;
  std::set<std::string> named_;  // by any version of the file
};

}  // namespace penstock
