// What a cloud tells a machine about its future, and who asks for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "manager/port/http_call.h"
#include "manager/utc_time.h"

namespace penstock {

enum class CloudNoticeKind {
  kLoss,  // the machine goes
  kRisk,  // it may go, or stand still for a while: a checkpoint is worth its time
};

struct CloudNotice {
  CloudNoticeKind kind = CloudNoticeKind::kLoss;
  UtcTime at{};         // from when on the machine must count as gone
  std::string id{};     // the same for the same announcement
  std::string words{};  // "AWS announces: terminate at 2026-11-24T01:25:43Z"
  // Which machines, by the cloud's names; empty: the one that asked.
  std::vector<std::string> machines{};
  bool operator==(const CloudNotice&) const = default;
};

// The notices that there are now, or what is wrong with the answer; both where one of two addresses
// answers.
struct NoticesRead {
  std::vector<CloudNotice> notices{};
  std::string trouble{};
  bool operator==(const NoticesRead&) const = default;
};

// What time it is, asked when an answer has come: it may have been held back for long.
using AskTime = std::function<UtcTime()>;

class CloudNotices {
 public:
  CloudNotices() = default;
  CloudNotices(const CloudNotices&) = delete;
  CloudNotices& operator=(const CloudNotices&) = delete;
  virtual ~CloudNotices() = default;

  // Asks the metadata service. A notice is returned every time while it stands. Where the service
  // can hold an answer back until something changes, this takes up to a minute.
  [[nodiscard]] virtual NoticesRead ask(const AskTime& clock) = 0;
  // To wait before asking again.
  [[nodiscard]] virtual Duration pause() const = 0;
  // Tells the cloud that it need not wait any longer. True: it took that, or has no such request.
  [[nodiscard]] virtual bool approve(const CloudNotice& notice) = 0;
};

}  // namespace penstock
