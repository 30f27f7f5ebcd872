// Takes two evaluations apart into the same parts (compute of the busiest rank, and its waits by
// cause) and tells the parts that moved in the direction in which the step moved, the largest
// first. Invariant: the parts of a rank add up to its makespan, so what is told accounts for the
// difference.
#include "report/why_not.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/json_array.h"
#include "report/measures.h"
#include "report/plan_table.h"
#include "report/reasons.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kMostReasons = 4;
constexpr std::size_t kMostCauses = 2;

// What the busiest rank of a step does, and how it reads in "because ...".
struct Part {
  std::string_view name, longer, shorter;
  Duration RankTime::*time;
};
constexpr std::array<Part, 7> kParts{{
    {"compute", "computes {} longer", "computes {} less", &RankTime::busy},
    {"warm-up", "waits {} longer to warm up", "waits {} less to warm up", &RankTime::warm_up},
    {"drain", "waits {} longer to drain", "waits {} less to drain", &RankTime::drain},
    {"imbalance", "waits {} longer for ranks with more work",
     "waits {} less for ranks with more work", &RankTime::imbalance},
    {"order", "waits {} longer for its turn", "waits {} less for its turn", &RankTime::order},
    {"transfer", "waits {} longer for links", "waits {} less for links", &RankTime::transfer},
    {"barrier", "waits {} longer for reductions", "waits {} less for reductions",
     &RankTime::barrier},
}};

const RankTime& time_of(const Evaluation& evaluation) {
  return evaluation.ranks.at(busiest_rank(evaluation)).time;
}

struct Difference {
  const Part* part = nullptr;
  Duration more{};  // in the other plan
};

std::vector<Difference> differences(const Evaluation& now, const Evaluation& other) {
  std::vector<Difference> all;
  all.reserve(kParts.size());
  for (const Part& part : kParts) {
    all.push_back({&part, time_of(other).*part.time - time_of(now).*part.time});
  }
  return all;
}

// The parts that move the step into the direction in which it moved, the largest first.
std::string causes(const Evaluation& now, const Evaluation& other) {
  std::vector<Difference> all = differences(now, other);
  const bool slower = other.step_time > now.step_time;
  std::erase_if(all, [&](const Difference& one) {
    return slower ? one.more <= Duration{} : one.more >= Duration{};
  });
  std::stable_sort(all.begin(), all.end(), [&](const Difference& a, const Difference& b) {
    return slower ? a.more > b.more : a.more < b.more;
  });
  all.resize(std::min(all.size(), kMostCauses));
  std::vector<std::string> words;
  for (const Difference& one : all) {
    const std::string_view text = slower ? one.part->longer : one.part->shorter;
    words.push_back(fmt::format(fmt::runtime(text), to_text(slower ? one.more : -one.more)));
  }
  return joined(words, " and ");
}

std::string verdict(const WhyNot& why, const Plan& plan, const Evaluation& now) {
  const RankedPlan& best = why.result.best.front();
  const Evaluation& other = best.evaluation;
  if (best.plan == plan) return "This plan has it already, and is the best that has it.";
  if (other.step_time == now.step_time) {
    return "It is as fast as this plan, to the nanosecond.";
  }
  const bool slower = other.step_time > now.step_time;
  const double share = slower ? more_speed(other.step_time, now.step_time)
                              : more_speed(now.step_time, other.step_time);
  const std::string because = causes(now, other);
  std::string text = fmt::format(
      "It is {} by {}{}.", slower ? "slower: its step is longer" : "faster than this plan",
      percent(share), because.empty() ? "" : ", because its busiest rank " + because);
  const double sure = why.relative_half_width;
  text += share < sure ? " That is less than the comparison of the two is sure of"
                       : " The comparison of the two is sure enough for that";
  text += fmt::format(" (+-{}).", percent(sure));
  if (!slower) {
    text +=
        " This plan is not what a whole search of these inputs finds: it was pinned, made by hand "
        "or "
        "for other inputs, or its search was stopped, or did not try these cuts.";
  }
  return text;
}

std::string side_by_side(const Plan& plan, const Evaluation& now, const RankedPlan& best,
                         Screen screen) {
  const Evaluation& other = best.evaluation;
  TextTable table({{"  busiest rank", true}, {"this plan"}, {"the other"}, {"difference"}});
  for (const Difference& one : differences(now, other)) {
    table.add({fmt::format("  {}", one.part->name), aligned(time_of(now).*one.part->time),
               aligned(time_of(other).*one.part->time),
               (one.more < Duration{} ? "-" : "+") +
                   aligned(one.more < Duration{} ? -one.more : one.more)});
  }
  table.add({"  step", aligned(now.step_time), aligned(other.step_time),
             (other.step_time < now.step_time ? "-" : "+") +
                 aligned(other.step_time < now.step_time ? now.step_time - other.step_time
                                                         : other.step_time - now.step_time)});
  const auto tight = [](const Evaluation& one) {
    const RankEvaluation& rank = one.ranks.at(tightest_rank(one));
    return gib(rank.memory.total()) + "/" + gib(rank.capacity);
  };
  table.add({"  fullest rank, GiB", tight(now), tight(other), ""});
  table.add({"  GPUs", fmt::format("{}", plan.devices()), fmt::format("{}", best.plan.devices()),
             fmt::format("{:+}", best.plan.devices() - plan.devices())});
  return table.text(screen.width());
}

std::string reasons_text(const SearchResult& result, Screen screen) {
  std::string text = wrapped(counts_text(result), screen.width(), "  ", "  ");
  std::vector<Rejection> first = result.rejected;
  first.resize(std::min(first.size(), kMostReasons));
  return text + rejections_text(first, screen);
}

std::string no_plan(const WhyNot& why) {
  if (why.result.candidates == 0) {
    return "No candidate of the search has it: no schedule takes these numbers together.";
  }
  std::string text = "No plan with it can run.";
  if (why.result.nearest_miss) text += " Nearest miss: " + reason_text(*why.result.nearest_miss);
  return text;
}

}  // namespace

std::string why_not_text(const WhyNot& why, const Plan& plan, const Evaluation& now,
                         Screen screen) {
  std::string text = "Why not " + why.asked + "?\n";
  if (!why.remark.empty()) text += wrapped(why.remark, screen.width(), "  ", "  ");
  if (!why.contradictions.empty()) return text + list_text(why.contradictions, screen);
  if (!why.result.complete) text += "  The search was stopped before its end.\n";
  if (why.result.best.empty()) {
    return text + wrapped(no_plan(why), screen.width(), "  ", "    ") + '\n' +
           reasons_text(why.result, screen);
  }
  const RankedPlan& best = why.result.best.front();
  text += wrapped("The best with it: " + plan_line(best.plan) + ".", screen.width(), "  ", "    ");
  text += wrapped(verdict(why, plan, now), screen.width(), "  ", "    ");
  if (!(best.plan == plan)) text += '\n' + side_by_side(plan, now, best, screen);
  return text + '\n' + reasons_text(why.result, screen);
}

Json to_json(const WhyNot& why, const Plan& plan, const Evaluation& now) {
  Json json = Json::object().set("asked", why.asked);
  if (!why.remark.empty()) json.set("remark", why.remark);
  if (!why.contradictions.empty()) {
    return json.set("answer", "contradiction").set("contradictions", strings(why.contradictions));
  }
  if (why.result.best.empty()) {
    json.set("answer", why.result.complete ? "cannot run" : "stopped");
  } else {
    const RankedPlan& best = why.result.best.front();
    const Duration step = best.evaluation.step_time;
    json.set("answer", best.plan == plan       ? "is this plan"
                       : step > now.step_time  ? "slower"
                       : step == now.step_time ? "as fast"
                                               : "faster");
    if (step > Duration{}) json.set("more_speed", more_speed(now.step_time, step));
    json.set("relative_half_width", why.relative_half_width);
    Json parts = Json::object();
    for (const Difference& one : differences(now, best.evaluation)) {
      parts.set(fmt::format("{}_ns", one.part->name == "warm-up" ? "warm_up" : one.part->name),
                std::int64_t{one.more.count()});
    }
    json.set("busiest_rank_longer", std::move(parts));
  }
  set_search_result(json, why.result);
  return json;
}

}  // namespace penstock
