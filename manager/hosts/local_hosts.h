// All machines of the job are this one: several addresses of the loopback network, or just itself.
// For jobs on one machine whose GPUs come and go, and for trials.
#pragma once

#include "manager/hosts/host_access.h"
#include "training/steady_time.h"

namespace penstock {

class LocalHosts : public HostAccess {
 public:
  // `environment`: of what is started; the manager's own.
  explicit LocalHosts(std::map<std::string, std::string> environment)
      : environment_(std::move(environment)) {}

  void start(const std::string& host, const DetachedCommand& command) override;
  [[nodiscard]] std::optional<std::vector<JobProcess>> processes(const std::string& host,
                                                                 const std::string& job) override;
  bool signal(const std::string& host, const std::vector<ProcessId>& processes,
              int signal) override;

 private:
  void take_ends();

  std::map<std::string, std::string> environment_;
  std::vector<int> children_;  // of this process, whose ends nobody else takes
  // A look at all processes serves all machines: it is the same for each.
  struct Look {
    std::string job;
    SteadyTime at;
    std::vector<JobProcess> found;
  };
  std::optional<Look> look_;
};

}  // namespace penstock
