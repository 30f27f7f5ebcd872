// A loss becomes `preempt`, a risk `checkpoint`. The id of a command is made of what was announced,
// so that a notice that is told twice, by this process or by the one that follows it, has one
// effect. An event of Azure that covers several machines is approved by the first of them, once,
// and after the job has left all of them: approving starts it for all.
#include "manager/notices/listen.h"

#include <algorithm>
#include <utility>

#include "core/values/json_reader.h"

namespace penstock {
namespace {

CommandGiven command_of(const CloudNotice& notice, const std::string& machine) {
  CommandGiven command;
  command.id = content_hash(machine + "/" + notice.id + "/" + to_text(notice.at));
  command.who = machine;
  if (notice.kind == CloudNoticeKind::kRisk) return command;  // a checkpoint
  command.kind = CommandKind::kPreempt;
  command.machine = machine;
  command.at = notice.at;
  return command;
}

}  // namespace

NoticeListener::NoticeListener(CloudNotices& cloud, NoticeReceiver& manager, std::string machine,
                               std::string cloud_name)
    : cloud_(cloud),
      manager_(manager),
      machine_(std::move(machine)),
      cloud_name_(std::move(cloud_name)) {}

bool NoticeListener::concerns_this(const CloudNotice& notice) const {
  return notice.machines.empty() ||
         std::ranges::find(notice.machines, cloud_name_) != notice.machines.end();
}

void NoticeListener::say_once(const std::string& trouble, std::string& last,
                              std::vector<std::string>& lines) {
  if (!trouble.empty() && trouble != last) lines.push_back(trouble);
  last = trouble;
}

std::vector<std::string> NoticeListener::listen_once(const AskTime& clock) {
  std::vector<std::string> lines;
  const NoticesRead read = cloud_.ask(clock);
  say_once(read.trouble, last_trouble_, lines);
  std::set<std::string> standing;
  for (const CloudNotice& notice : read.notices) {
    if (!concerns_this(notice)) continue;
    standing.insert(notice.id);
    tell(notice, lines);
  }
  // After trouble nobody knows whether a notice still stands.
  if (!read.trouble.empty()) return lines;
  for (auto one = told_.begin(); one != told_.end();) {
    if (standing.contains(one->first)) {
      ++one;
      continue;
    }
    lines.push_back("no longer announced: " + command_words(one->second.command));
    one = told_.erase(one);
  }
  return lines;
}

void NoticeListener::tell(const CloudNotice& notice, std::vector<std::string>& lines) {
  const auto [place, is_new] = told_.try_emplace(notice.id);
  Told& told = place->second;
  if (is_new) {
    told.command = command_of(notice, machine_);
    lines.push_back(notice.words);
  }
  if (!told.done) {
    const SentCommand sent = manager_.tell(told.command);
    told.done = sent.was_answered;
    if (!sent.was_answered) {
      say_once("the manager does not answer: " + sent.words, last_silence_, lines);
      return;
    }
    lines.push_back((sent.done ? "the manager: " : "the manager refuses: ") + sent.words);
  }
  if (notice.kind == CloudNoticeKind::kLoss) approve_when_left(notice, told, lines);
}

void NoticeListener::approve_when_left(const CloudNotice& notice, Told& told,
                                       std::vector<std::string>& lines) {
  if (told.approved || notice.machines.empty()) return;
  if (*std::ranges::min_element(notice.machines) != cloud_name_) return;
  if (!manager_.has_left(notice.machines)) return;
  told.approved = cloud_.approve(notice);
  if (told.approved) lines.push_back("the job has left; approved " + notice.id);
}

}  // namespace penstock
