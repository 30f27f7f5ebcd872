// Machines that a command reaches, such as ssh: everything that is asked of one is a line for its
// shell. Only sh, grep, tr and kill need to be there, besides penstock and the folders of the job.
#pragma once

#include "core/values/units.h"
#include "manager/hosts/command_template.h"
#include "manager/hosts/host_access.h"

namespace penstock {

class CommandHosts : public HostAccess {
 public:
  // `folder`: in which commands are started there. A machine that has not answered within `limit`
  // does not answer.
  CommandHosts(CommandTemplate command, std::string folder, Duration limit)
      : command_(std::move(command)), folder_(std::move(folder)), limit_(limit) {}

  void start(const std::string& host, const DetachedCommand& command) override;
  [[nodiscard]] std::optional<std::vector<JobProcess>> processes(const std::string& host,
                                                                 const std::string& job) override;
  bool signal(const std::string& host, const std::vector<ProcessId>& processes,
              int signal) override;

 private:
  [[nodiscard]] std::optional<std::string> answer(const std::string& host,
                                                  const std::string& script) const;

  CommandTemplate command_;
  std::string folder_;
  Duration limit_;
};

}  // namespace penstock
