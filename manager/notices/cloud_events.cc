// The thread keeps a list of what the cloud announces; poll() compares it with what was told
// before. Approving is left to the thread, too, once the machines of a notice hold no rank.
#include "manager/notices/cloud_events.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include "manager/notices/aws.h"
#include "manager/notices/azure.h"
#include "manager/notices/gcp.h"
#include "manager/port/http_client.h"

namespace penstock {
namespace {

// Less than a listener of its own waits: who ends the manager waits for it.
constexpr Duration kWaitForChange = std::chrono::seconds(5);

class CloudEvents final : public EventSource {
 public:
  CloudEvents(NoticeSource source, std::function<UtcTime()> clock)
      : source_(std::move(source)),
        clock_(std::move(clock)),
        cloud_(cloud_notices(source_.provider, source_.base)) {}

  void begin(const JobState& state) override {
    state_ = state;
    thread_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
  }

  std::vector<Event> poll() override {
    const std::scoped_lock lock(mutex_);
    std::vector<Event> events;
    std::set<std::string> standing;
    for (const CloudNotice& notice : notices_) {
      standing.insert(notice.id);
      if (told_.contains(notice.id)) continue;
      const std::vector<std::string> machines = machines_of(notice);
      if (machines.empty()) continue;
      // A risk is not withdrawn.
      told_[notice.id] =
          notice.kind == CloudNoticeKind::kLoss ? machines : std::vector<std::string>{};
      add_events(notice, machines, events);
    }
    withdraw_all_but(standing, events);
    return events;
  }

  void decided(const Event& /*event*/, const JobDecision& decision) override {
    const std::scoped_lock lock(mutex_);
    state_ = decision.next;
  }

 private:
  // Those of the job that a notice is about.
  std::vector<std::string> machines_of(const CloudNotice& notice) const {
    const std::vector<std::string> named =
        notice.machines.empty() ? std::vector<std::string>{source_.machine} : notice.machines;
    std::vector<std::string> found;
    for (const JobMachine& machine : state_.machines) {
      if (std::ranges::find(named, machine.name) != named.end()) found.push_back(machine.name);
    }
    return found;
  }

  static void add_events(const CloudNotice& notice, const std::vector<std::string>& machines,
                         std::vector<Event>& events) {
    if (notice.kind == CloudNoticeKind::kRisk) {
      CommandGiven checkpoint;
      checkpoint.id = notice.id + "/" + to_text(notice.at);
      checkpoint.who = notice.words;
      events.emplace_back(std::move(checkpoint));
      return;
    }
    for (const std::string& machine : machines) {
      events.emplace_back(MachineLeaves{machine, notice.at, notice.words});
    }
  }

  void withdraw_all_but(const std::set<std::string>& standing, std::vector<Event>& events) {
    if (!is_complete_) return;
    for (auto one = told_.begin(); one != told_.end();) {
      if (standing.contains(one->first)) {
        ++one;
        continue;
      }
      for (const std::string& machine : one->second) events.emplace_back(NoticeWithdrawn{machine});
      one = told_.erase(one);
    }
  }

  bool holds_rank(const std::string& machine) const {
    return !state_.has_ended() && state_.phase != JobPhase::kWaiting &&
           std::ranges::any_of(state_.generation.ranks, [&](const PlacedRank& rank) {
             return rank.machine == machine && !rank.ended;
           });
  }

  // Approving an event starts it for all its machines: for those of other jobs, too, so only
  // where all are this job's.
  std::vector<CloudNotice> take_approvable() {
    const std::scoped_lock lock(mutex_);
    std::vector<CloudNotice> found;
    for (const CloudNotice& notice : notices_) {
      const auto told = told_.find(notice.id);
      if (notice.kind != CloudNoticeKind::kLoss || notice.machines.empty() || told == told_.end() ||
          told->second.size() != notice.machines.size() || approved_.contains(notice.id) ||
          std::ranges::any_of(told->second, [&](const auto& name) { return holds_rank(name); })) {
        continue;
      }
      found.push_back(notice);
    }
    return found;
  }

  void listen(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      NoticesRead read = cloud_->ask(clock_);
      {
        const std::scoped_lock lock(mutex_);
        is_complete_ = read.trouble.empty();
        if (is_complete_ || !read.notices.empty()) notices_ = std::move(read.notices);
      }
      for (const CloudNotice& notice : take_approvable()) {
        if (cloud_->approve(notice)) approved_.insert(notice.id);
      }
      std::unique_lock lock(mutex_);
      paused_.wait_for(lock, stop, cloud_->pause(), [] { return false; });
    }
  }

  NoticeSource source_;
  std::function<UtcTime()> clock_;
  std::unique_ptr<CloudNotices> cloud_;  // the thread's, as the next
  std::set<std::string> approved_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any paused_;
  JobState state_;
  std::vector<CloudNotice> notices_;
  bool is_complete_ = false;  // the last answer was read without trouble
  std::map<std::string, std::vector<std::string>> told_;  // by notice: machines
  std::jthread thread_;                                   // last: ends first
};

}  // namespace

std::unique_ptr<CloudNotices> cloud_notices(NoticeSource::Provider provider,
                                            const std::string& base) {
  const auto at = [&](const char* own) {
    return http_exchange(parse_http_address("base", base.empty() ? own : base));
  };
  switch (provider) {
    case NoticeSource::Provider::kAws:
      return aws_notices(at(kAwsMetadata));
    case NoticeSource::Provider::kGcp:
      return gcp_notices(at(kGcpMetadata), {.wait_for_change = kWaitForChange});
    case NoticeSource::Provider::kAzure:
      break;
  }
  return azure_notices(at(kAzureMetadata));
}

std::unique_ptr<EventSource> cloud_events(const NoticeSource& source,
                                          std::function<UtcTime()> clock) {
  return std::make_unique<CloudEvents>(source, std::move(clock));
}

}  // namespace penstock
