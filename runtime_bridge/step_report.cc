// Each rank fills a row of numbers, and one all-gather of 64-bit integers gives all rows to all
// ranks, so that every rank makes the same decisions (to stop, to write a checkpoint: the largest
// request counts). The timeline is a second all-gather, padded to the longest list. Times are
// relative to a start: the earliest of all ranks where they share a clock, else each rank's own.
#include "runtime_bridge/step_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace penstock {
namespace {

constexpr std::int64_t kNotCounted = -1;

std::int64_t since_epoch(SteadyTime time) { return time.time_since_epoch().count(); }

}  // namespace

RunRequest StepReport::exchange(SteadyTime began, const StepRecord& record, RunRequest request) {
  Numbers own(kFields);
  own[kBegan] = since_epoch(began);
  own[kFirstStart] = own[kLastEnd] = own[kBegan];
  if (!record.start.empty()) {
    own[kFirstStart] = since_epoch(*std::min_element(record.start.begin(), record.start.end()));
    own[kLastEnd] = since_epoch(*std::max_element(record.end.begin(), record.end.end()));
  }
  own[kCompute] = record.phases.compute.count();
  own[kWaiting] = record.phases.waiting.count();
  own[kReducing] = record.phases.reducing.count();
  own[kOptimizer] = record.phases.optimizer.count();
  own[kRequest] = static_cast<std::int64_t>(request);
  own[kPipeline] = program_.pipeline;
  own[kPipelineRank] = program_.setup.pipeline_rank;
  own[kActions] = static_cast<std::int64_t>(program_.actions.size());
  own[kSections] = static_cast<std::int64_t>(record.sections.size());
  own[kPeak] = record.peak_bytes.value_or(kNotCounted);
  fields_ = gathered(own);
  if (options_.timeline) {
    const std::int64_t start = start_of_step(program_.setup.rank);
    Numbers times(2 * program_.longest_list);
    for (std::size_t i = 0; i < record.start.size(); ++i) {
      times[i] = since_epoch(record.start[i]) - start;
      times[program_.longest_list + i] = since_epoch(record.end[i]) - start;
    }
    times_ = gathered(times);
    gather_sections(record, start);
  }
  return static_cast<RunRequest>(most(kRequest));
}

// Padded to the most that any rank has.
void StepReport::gather_sections(const StepRecord& record, std::int64_t start) {
  longest_sections_ = static_cast<std::size_t>(most(kSections));
  if (longest_sections_ == 0) return;
  Numbers own(kSectionFields * longest_sections_);
  std::size_t at = 0;
  for (const SectionTime& section : record.sections) {
    own[at++] = static_cast<std::int64_t>(section.kind);
    own[at++] = section.section;
    own[at++] = since_epoch(section.start) - start;
    own[at++] = since_epoch(section.end) - start;
  }
  sections_ = gathered(own);
}

std::vector<std::string> StepReport::gather_hosts(const std::string& own) const {
  constexpr std::size_t kNumbers = 8, kBytes = kNumbers * sizeof(std::int64_t);
  Numbers name(kNumbers);
  std::memcpy(name.data(), own.data(), std::min(own.size(), kBytes - 1));
  const Numbers all = gathered(name);
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += kNumbers) {
    std::array<char, kBytes> text{};
    std::memcpy(text.data(), &all[at], kBytes - 1);
    hosts.emplace_back(text.data());
  }
  return hosts;
}

StepReport::Numbers StepReport::gathered(const Numbers& own) const {
  const auto rank = static_cast<std::size_t>(program_.setup.rank);
  Numbers all(own.size() * static_cast<std::size_t>(program_.setup.ranks));
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(rank * own.size()));
  if (program_.job == kNone) return all;
  const Buffer buffer{reinterpret_cast<std::byte*>(all.data()), all.size(), ElementType::kInt64};
  transport_.all_gather(executor_.job(), buffer)->wait();
  return all;
}

std::int64_t StepReport::most(Field field) const {
  std::int64_t most = of(0, field);
  for (int rank = 1; rank < program_.setup.ranks; ++rank) most = std::max(most, of(rank, field));
  return most;
}

// On that rank's clock.
std::int64_t StepReport::start_of_step(int rank) const {
  if (!options_.one_clock) return of(rank, kBegan);
  std::int64_t first = of(0, kBegan);
  for (int other = 1; other < program_.setup.ranks; ++other) {
    first = std::min(first, of(other, kBegan));
  }
  return first;
}

MeasuredStep measured_numbers(std::int64_t step, const NormShare& all) {
  MeasuredStep result;
  result.step = step;
  result.loss = all.loss;
  result.skipped = all.not_finite > 0;
  result.gradient_norm = result.skipped ? 0.0 : std::sqrt(all.squared_norm);
  return result;
}

MeasuredStep StepReport::measured(std::int64_t step, const NormShare& all) const {
  MeasuredStep result = measured_numbers(step, all);
  result.tokens = program_.tokens;
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (int rank = 0; rank < program_.setup.ranks; ++rank) {
    first = std::min(first, of(rank, kFirstStart) - start_of_step(rank));
    last = std::max(last, of(rank, kLastEnd) - start_of_step(rank));
  }
  result.step_time = Duration{last - first};
  result.rank_compute.reserve(static_cast<std::size_t>(program_.setup.ranks));
  for (int rank = 0; rank < program_.setup.ranks; ++rank) {
    result.rank_compute.emplace_back(of(rank, kCompute));
  }
  result.phases = {Duration{most(kCompute)}, Duration{most(kWaiting)}, Duration{most(kReducing)},
                   Duration{most(kOptimizer)}};
  if (options_.timeline) result.ranks = timelines();
  return result;
}

std::vector<Bytes> StepReport::peaks() const {
  std::vector<Bytes> peaks;
  for (int rank = 0; rank < program_.setup.ranks && of(rank, kPeak) != kNotCounted; ++rank) {
    peaks.push_back({of(rank, kPeak)});
  }
  return peaks;
}

std::vector<MeasuredRank> StepReport::timelines() const {
  std::vector<MeasuredRank> ranks(static_cast<std::size_t>(program_.setup.ranks));
  for (int rank = 0; rank < program_.setup.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    MeasuredRank& measured = ranks[r];
    measured.rank = rank;
    measured.pipeline = static_cast<int>(of(rank, kPipeline));
    measured.pipeline_rank = static_cast<int>(of(rank, kPipelineRank));
    const auto actions = static_cast<std::size_t>(of(rank, kActions));
    measured.start.reserve(actions);
    measured.end.reserve(actions);
    const std::size_t starts = 2 * r * program_.longest_list;
    for (std::size_t i = 0; i < actions; ++i) {
      measured.start.emplace_back(times_[starts + i]);
      measured.end.emplace_back(times_[starts + program_.longest_list + i]);
    }
    const std::int64_t* at = sections_.data() + kSectionFields * r * longest_sections_;
    for (std::int64_t i = 0; i < of(rank, kSections); ++i, at += kSectionFields) {
      measured.sections.push_back({static_cast<ActionKind>(at[0]), static_cast<int>(at[1]),
                                   Duration{at[2]}, Duration{at[3]}});
    }
  }
  return ranks;
}

}  // namespace penstock
