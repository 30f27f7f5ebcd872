// The machine file as a source of events: who is listed joins, who is listed no more leaves at
// once. Where there is such a file, it decides: machines that it does not list when the manager
// begins leave, too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "manager/event_source.h"
#include "manager/hosts/machine_file.h"

namespace penstock {

class MachineFileSource final : public EventSource {
 public:
  MachineFileSource(const std::string& path, std::function<UtcTime()> clock,
                    std::function<void(const std::string&)> complain)
      : file_(path), clock_(std::move(clock)), complain_(std::move(complain)) {}

  void begin(const JobState& state) override;
  std::vector<Event> poll() override;
  void decided(const Event& event, const JobDecision& decision) override;

 private:
  MachineFile file_;
  std::function<UtcTime()> clock_;
  std::function<void(const std::string&)> complain_;
  std::vector<ListedMachine> listed_;  // as the manager was told
};

}  // namespace penstock
