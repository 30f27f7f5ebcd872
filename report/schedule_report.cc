// What `schedule` answers: numbers in words, the same as JSON, and the lists of actions rank by
// rank. Activations are counted in chunks (stages of one slice of a micro-batch) and printed in
// micro-batches of a whole rank, which is what makes schedules with different VP comparable. Where
// steps follow each other without a barrier (post-validation), the step is the longest span of a
// rank and not the makespan.
#include "report/schedule_report.h"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kLongest = 200;  // a line of a file

double in_micro_batches(std::int64_t chunks, const ScheduleResult& result) {
  return static_cast<double>(chunks) * result.copies / result.chunks / result.slices;
}

// "8 7 6 5"; of many ranks the first and the last.
std::string stash_text(const ScheduleResult& result) {
  constexpr std::size_t kShown = 12;
  const auto& stash = result.peak_stash_chunks;
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < stash.size(); ++r) {
    if (stash.size() > kShown && r == kShown - 1) texts.emplace_back("...");
    if (stash.size() > kShown && r >= kShown - 1 && r + 1 < stash.size()) continue;
    texts.push_back(fmt::format("{}", in_micro_batches(stash[r], result)));
  }
  return joined(texts, " ");
}

// "1.5 GiB 1.2 GiB", likewise.
std::string bytes_text(const std::vector<Bytes>& ranks) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks.size() > kShown && r == kShown - 1) texts.emplace_back("...");
    if (ranks.size() > kShown && r >= kShown - 1 && r + 1 < ranks.size()) continue;
    texts.push_back(to_text(ranks[r]));
  }
  return joined(texts, ", ");
}

std::string line(std::string_view name, const std::string& value, std::string_view note,
                 Screen screen) {
  const std::string text = value + (note.empty() ? "" : "   ") + std::string(note);
  return wrapped(text, screen.width(kLongest), fmt::format("{:<24}", name), std::string(24, ' '));
}

// "rank 3 " of 12 ranks
std::string row_name(int rank, int ranks) {
  return fmt::format("rank {:<{}}", rank, std::to_string(ranks - 1).size());
}

}  // namespace

std::string schedule_report(const ScheduleResult& result, Screen screen) {
  std::string out = fmt::format("{}: PP = {}, VP = {}, M = {}", result.schedule, result.ranks,
                                result.chunks, result.micro_batches);
  if (result.slices > 1) out += fmt::format(" in {} slices each", result.slices);
  if (result.copies > 1) out += fmt::format(", {} copies of the weights", result.copies);
  out += '\n';
  out += wrapped("costs: " + result.costs, screen.width(), "", "  ");
  out += wrapped("executor: " + result.executor, screen.width(), "", "  ") + '\n';
  if (result.is_post_validated) {
    out += line("step (longest span)", exact(result.longest_span),
                "a rank begins its next step when its own part of this one has ended", screen);
    out += line("makespan", exact(result.makespan), "", screen);
  } else {
    out += line("step (makespan)", exact(result.makespan), "", screen);
    out += line("longest span of a rank", exact(result.longest_span), "", screen);
  }
  out += line("busiest rank's work", exact(result.ideal), "", screen);
  out += line("bubble by makespan", percent(bubble_rate(result.makespan, result.ideal)),
              "(makespan - busiest rank's work) / makespan", screen);
  out += line("bubble by longest span", percent(bubble_rate(result.longest_span, result.ideal)),
              "(longest span - busiest rank's work) / longest span", screen);
  out += line("activations by rank", stash_text(result),
              "at their peak, in micro-batches of a whole rank", screen);
  if (!result.peak_stash_bytes.empty()) {
    out += line("", bytes_text(result.peak_stash_bytes), "", screen);
  }
  if (result.weight_slots > 0) {
    out += line("weight slots by rank",
                fmt::format("{} of {}", result.weight_slots, to_text(result.slot)),
                "LOAD takes one, RESHARD gives it back", screen);
  }
  out += line("actions", with_commas(result.actions), "sends and receives included", screen);
  return out;
}

Json schedule_json(const ScheduleResult& result) {
  Json microbatches = Json::array();
  Json chunks = Json::array();
  for (const std::int64_t stash : result.peak_stash_chunks) {
    microbatches.push(in_micro_batches(stash, result));
    chunks.push(stash);
  }
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("schedule", result.schedule);
  json.set("pipeline", result.ranks);
  json.set("chunks", result.chunks);
  json.set("micro_batches", result.micro_batches);
  json.set("slices", result.slices);
  json.set("copies", result.copies);
  json.set("costs", result.costs);
  json.set("executor", result.executor);
  json.set("makespan_ns", std::int64_t{result.makespan.count()});
  json.set("longest_span_ns", std::int64_t{result.longest_span.count()});
  json.set("ideal_ns", std::int64_t{result.ideal.count()});
  json.set("bubble_rate_makespan", bubble_rate(result.makespan, result.ideal));
  json.set("bubble_rate_longest_span", bubble_rate(result.longest_span, result.ideal));
  json.set("peak_stash_micro_batches", std::move(microbatches));
  json.set("peak_stash_chunks", std::move(chunks));
  if (!result.peak_stash_bytes.empty()) {
    Json bytes = Json::array();
    for (const Bytes peak : result.peak_stash_bytes) bytes.push(peak.count);
    json.set("peak_stash_bytes", std::move(bytes));
  }
  if (result.is_post_validated) {
    json.set("step_time_ns", std::int64_t{result.longest_span.count()});
  }
  if (result.weight_slots > 0) {
    json.set("weight_slots", result.weight_slots);
    json.set("slot_bytes", result.slot.count);
  }
  json.set("actions", result.actions);
  return json;
}

std::string action_lists(const Schedule& schedule) {
  std::string out;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    out += row_name(rank, schedule.ranks);
    bool second = false;  // of an OVERLAP
    for (ListCursor at(schedule, rank); !at.done(); ++at) {
      const ComputeAction action = *at;
      out += second ? ';' : ' ';
      if (action.overlaps_next) out += '(';
      fmt::format_to(std::back_inserter(out), "{}{}{}", action.stage.value, name_of(action.kind),
                     action.micro_batch.value);
      if (second) out += ')';
      second = action.overlaps_next;
    }
    out += '\n';
  }
  return out;
}

std::string action_lists(const Program& program) {
  const int ranks = program.pipelines.at(0).ranks;
  std::vector<std::string> rows;
  rows.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) rows.push_back(row_name(rank, ranks));
  for (const Action& action : program.actions) {
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    if (rank >= rows.size() || !is_compute(action.kind)) continue;
    rows[rank] += ' ' + name_of(program, action);
  }
  return joined(rows, "\n") + '\n';
}

}  // namespace penstock
