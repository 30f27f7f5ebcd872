#include "report/goodput_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

double hindsight_steps(const GoodputReport& report) {
  for (const PolicyResult& policy : report.policies) {
    if (policy.name == report.hindsight) return policy.steps;
  }
  return 0.0;
}

// Of the steps, in millions of tokens, or of samples.
double millions(const GoodputReport& report, double steps) {
  const double samples = steps * report.global_batch;
  return samples * (report.tokens_per_sample > 0 ? report.tokens_per_sample : 1) / 1e6;
}

std::string usd_text(const GoodputReport& report, const PolicyResult& policy) {
  if (report.usd <= 0.0 || policy.steps <= 0.0) return "-";
  return significant(report.usd / millions(report, policy.steps), 3);
}

std::string minutes(Duration duration) {
  return fixed(static_cast<double>(duration.count()) / 60e9, 1);
}

// A book that ends above what was there makes every policy wait: that is no fault of the policies.
std::string missing_plans_text(const GoodputReport& report, Screen screen) {
  constexpr int kLeastShare = 100;  // less than a hundredth of the recording is not worth a line
  if (report.without_plan <= report.end / kLeastShare) return "";
  if (report.counts_types) {
    return wrapped(
        fmt::format("For {} min no plan of the book fitted the GPUs that were there, and "
                    "none ran. A book that counts fewer of each type (plan --gpus "
                    "TYPE=0..N,TYPE=0..N) may have plans for them.",
                    minutes(report.without_plan)),
        screen.width(), "", "");
  }
  int least = 0;
  for (const GoodputPlan& plan : report.book) {
    least = least == 0 ? plan.gpus : std::min(least, plan.gpus);
  }
  const std::string text = fmt::format(
      "For {} min there were fewer GPUs than the {} of the book's smallest plan, and none of its "
      "plans ran. A book that begins lower (plan --gpus 1..N) may have plans for them.",
      minutes(report.without_plan), least);
  return wrapped(text, screen.width(), "", "");
}

}  // namespace

std::string goodput_text(const GoodputReport& report, Screen screen) {
  const std::string unit = report.tokens_per_sample > 0 ? "$/Mtok" : "$/Msample";
  TextTable table({{"policy", true, 0},
                   right_column("steps"),
                   right_column("of best"),
                   {"lost", false, 2, 2},
                   right_column("changes"),
                   {"restarting min", false, 2, 4},
                   {"waiting min", false, 2, 3},
                   {unit, false, 2, 1}});
  const double most = hindsight_steps(report);
  for (const PolicyResult& policy : report.policies) {
    std::vector<std::string> cells = {policy.name, significant(policy.steps, 5),
                                      most > 0.0 ? percent(policy.steps / most) : "-"};
    if (policy.is_possible) {
      cells.insert(cells.end(),
                   {significant(policy.lost_steps, 3), std::to_string(policy.changes),
                    minutes(policy.restarting), minutes(policy.waiting), usd_text(report, policy)});
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", usd_text(report, policy)});
    }
    table.add(std::move(cells));
  }
  return wrapped(report.recording, screen.width(), "", "  ") +
         wrapped(report.costs, screen.width(), "", "  ") + '\n' + table.text(screen.width()) +
         '\n' +
         wrapped(fmt::format("Steps that stay in the result. \"of best\": of {}, which knows all "
                             "losses beforehand.",
                             report.hindsight),
                 screen.width(), "", "") +
         missing_plans_text(report, screen);
}

Json goodput_json(const GoodputReport& report) {
  const double most = hindsight_steps(report);
  Json json = Json::object();
  json.set("hours", report.hours).set("gpu_hours", report.gpu_hours);
  if (report.usd > 0.0) json.set("cost_usd", report.usd);
  json.set("global_batch", report.global_batch);
  Json policies = Json::array();
  for (const PolicyResult& policy : report.policies) {
    Json row = Json::object();
    row.set("policy", policy.name).set("steps", policy.steps);
    if (most > 0.0) row.set("share_of_best", policy.steps / most);
    if (policy.is_possible) {
      row.set("lost_steps", policy.lost_steps).set("changes", policy.changes);
      row.set("restarting_ns", std::int64_t{policy.restarting.count()});
      row.set("waiting_ns", std::int64_t{policy.waiting.count()});
    }
    if (report.usd > 0.0 && policy.steps > 0.0) {
      row.set(report.tokens_per_sample > 0 ? "cost_usd_per_mtok" : "cost_usd_per_msample",
              report.usd / millions(report, policy.steps));
    }
    policies.push(std::move(row));
  }
  return json.set("policies", std::move(policies));
}

}  // namespace penstock
