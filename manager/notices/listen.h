// What runs on a machine of a cloud: hears what is announced to it, and tells the manager. Metadata
// services can only be reached from the machine itself.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "manager/notices/cloud_notice.h"
#include "manager/port/command_message.h"
#include "manager/port/send_command.h"

namespace penstock {

// The manager, as the listener sees it.
class NoticeReceiver {
 public:
  NoticeReceiver() = default;
  NoticeReceiver(const NoticeReceiver&) = delete;
  NoticeReceiver& operator=(const NoticeReceiver&) = delete;
  virtual ~NoticeReceiver() = default;
  [[nodiscard]] virtual SentCommand tell(const CommandGiven& command) = 0;
  // Whether the job runs on none of these machines any more, so that they may go.
  [[nodiscard]] virtual bool has_left(const std::vector<std::string>& machines) = 0;
};

class NoticeListener {
 public:
  // `machine`: its name in the job; `cloud_name`: its name in the cloud's notices.
  NoticeListener(CloudNotices& cloud, NoticeReceiver& manager, std::string machine,
                 std::string cloud_name);

  // Asks once, and tells what is new. Returns what there is to say about it, line by line; the same
  // trouble is said once.
  [[nodiscard]] std::vector<std::string> listen_once(const AskTime& clock);

 private:
  struct Told {
    CommandGiven command;
    bool done = false;  // the manager has answered
    bool approved = false;
  };
  [[nodiscard]] bool concerns_this(const CloudNotice& notice) const;
  void tell(const CloudNotice& notice, std::vector<std::string>& lines);
  void approve_when_left(const CloudNotice& notice, Told& told, std::vector<std::string>& lines);
  static void say_once(const std::string& trouble, std::string& last,
                       std::vector<std::string>& lines);

  CloudNotices& cloud_;
  NoticeReceiver& manager_;
  std::string machine_, cloud_name_;
  std::map<std::string, Told> told_;         // by the notice's id, while it stands
  std::string last_trouble_, last_silence_;  // of the cloud, of the manager
};

}  // namespace penstock
