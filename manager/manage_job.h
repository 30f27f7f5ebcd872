// The loop of a manager: events from the world, decisions, the store, acts, in this order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "manager/decide.h"
#include "manager/event_source.h"
#include "manager/job_store.h"
#include "manager/rank_processes.h"

namespace penstock {

// What a manager sees and touches.
struct JobWorld {
  RankProcesses& ranks;
  // Asked in this order. Their events are looked at before those of the ranks, so that a checkpoint
  // is known before the end of the ranks that wrote it.
  std::vector<EventSource*> sources;
  std::function<UtcTime()> clock;
  std::function<void()> pause;  // between two looks, when nothing has happened
  std::function<void(const LogEntry&)> log;
  std::function<void(const std::string&)> complain;  // of what is tried again
};

// From the state in the store (or `first`, when there is none) until the job has ended, which the
// state says that is returned. Ranks that a manager before this one has started are taken over.
JobState manage_job(const JobRules& rules, JobStore& store, const JobState& first, JobWorld& world);

}  // namespace penstock
