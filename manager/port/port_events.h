// The port as one of the sources of events of a manager: commands come in as events, and what is
// decided about them goes back to whoever sent them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "manager/event_source.h"
#include "manager/port/job_status.h"
#include "manager/port/serve_commands.h"

namespace penstock {

// What the port shows besides the state.
struct PortSubject {
  std::string job{};
  std::int64_t steps = 0;
  // The list of machines is kept elsewhere: commands name those in it, and no others.
  bool machines_are_fixed = false;
  std::function<std::string(int page)> plan_words{};        // of a page of the book
  std::function<std::int64_t(int page)> tokens_per_step{};  // 0: unknown
};

class PortEvents final : public EventSource {
 public:
  // Error{kMissingResource} when the address cannot be had.
  PortEvents(const HttpServerOptions& options, PortKey key, PortSubject subject,
             std::function<UtcTime()> clock);

  [[nodiscard]] int port() const { return port_.port(); }

  void begin(const JobState& state) override;
  std::vector<Event> poll() override;
  void decided(const Event& event, const JobDecision& decision) override;

 private:
  void pass_time(UtcTime now);
  void see_step(const StepFinished& step);
  void show();

  PortSubject subject_;
  std::function<UtcTime()> clock_;
  JobState state_;
  JobSeen seen_;
  UtcTime last_{};               // until when times are counted
  UtcTime shown_{};              // when the view was made
  std::int64_t most_steps_ = 0;  // done so far; what is done again is not productive
  std::vector<PendingCommand> waiting_;
  CommandPort port_;
};

}  // namespace penstock
