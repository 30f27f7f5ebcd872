#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/search_options.h"
#include "cli/slow_options.h"
#include "cli/verbs.h"
#include "report/comparison.h"
#include "report/reasons.h"
#include "report/result_json.h"
#include "report/words.h"
#include "search/evaluate.h"
#include "simulator/scenario.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRows = 1000;

constexpr const char* kExamples =
    R"(  penstock compare profile.json --cluster cluster.json --gpus 64 --global-batch 512 \
      --vary schedule=1f1b,zb-h1 --vary b=1,2,4
  penstock compare profile.json --cluster cluster.json --global-batch 512 --vary gpus=8,16,32,64
  penstock compare profile.json --cluster cluster.json --global-batch 512 --vary bandwidth=1,2,10
  penstock compare profile.json --cluster cluster.json --global-batch 512 \
      --vary schedule=gpipe,1f1b,zb-h1 --slow rank=3:1.3
)";

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

std::vector<Axis> axes_of(const std::vector<std::string>& vary) {
  if (vary.empty()) bad_option("--vary", "missing", "add for example --vary schedule=1f1b,zb-h1");
  std::vector<Axis> axes;
  std::size_t rows = 1;
  for (const std::string& text : vary) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      bad_option("--vary", fmt::format("'{}' is not KEY=VALUE,VALUE", text),
                 "write for example --vary b=1,2,4");
    }
    Axis axis{text.substr(0, equals), parse_list("--vary", text.substr(equals + 1))};
    for (const Axis& other : axes) {
      if (other.key == axis.key) {
        bad_option("--vary", fmt::format("{} is varied twice", axis.key),
                   "list its values in one option");
      }
    }
    rows *= axis.values.size();
    if (rows > kMostRows) {
      bad_option("--vary", fmt::format("more than {} combinations", kMostRows),
                 "vary less at once");
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

// All combinations; the last axis changes fastest.
std::vector<Settings> combinations(const std::vector<Axis>& axes) {
  std::vector<Settings> rows{{}};
  for (const Axis& axis : axes) {
    std::vector<Settings> longer;
    for (const Settings& row : rows) {
      for (const std::string& value : axis.values) {
        longer.push_back(row);
        longer.back().emplace_back(axis.key, value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

Question varied(const Question& base, const Settings& settings) {
  Question question = base;
  question.request.top = 1;
  for (const auto& [key, value] : settings) {
    if (!set(question, "--vary " + key, key, value)) {
      bad_option("--vary", fmt::format("unknown key '{}'", key),
                 did_you_mean(key, settable_keys()));
    }
  }
  const int devices = device_count(question.cluster.value);
  if (question.request.gpus > devices) {
    bad_option("--vary gpus", fmt::format("{} is more than the cluster has", question.request.gpus),
               fmt::format("{} has {} devices", question.cluster.value.name, devices));
  }
  return question;
}

std::string why_nothing(const SearchResult& result) {
  if (!result.complete) return "stopped before a plan was found";
  if (result.nearest_miss)
    return "nothing fits; nearest miss: " + reason_text(*result.nearest_miss);
  if (!result.rejected.empty()) return "nothing runs: " + rejection_text(result.rejected.front());
  return "there is no candidate";
}

struct Compared {
  std::vector<Variant> variants;
  std::size_t asked = 0;  // rows that there should be
  bool complete = true;
};

// The best plan, as the search found it, on a machine that is uneven.
void slow_down_best(const PlanInputs& inputs, const Scenario& scenario, Variant& variant) {
  EvaluatedPlan evaluated = evaluate(inputs, variant.best->plan);
  variant.why_not_slow = why_not_slowed(evaluated.program, scenario);
  if (!variant.why_not_slow.empty()) return;
  variant.slow = slow_down(scenario, evaluated.program, inputs.executor, evaluated.prices);
}

Compared compare(const Question& base, const std::vector<Settings>& rows, const SlowOptions& slow) {
  std::vector<Question> questions;  // all are understood before the first search begins
  questions.reserve(rows.size());
  for (const Settings& settings : rows) questions.push_back(varied(base, settings));
  const Scenario scenario = slow.scenario();
  Compared compared;
  compared.asked = rows.size();
  WatchedSearch watched(base.budget);
  for (std::size_t i = 0; i < rows.size() && compared.complete; ++i) {
    const SearchResult result = best_plans(questions[i].inputs(), questions[i].request, watched);
    Variant variant;
    variant.settings = rows[i];
    if (result.best.empty()) {
      variant.why_not = why_nothing(result);
    } else {
      variant.best = result.best.front();
      if (slow.given()) slow_down_best(questions[i].inputs(), scenario, variant);
    }
    compared.complete = result.complete;
    compared.variants.push_back(std::move(variant));
  }
  return compared;
}

std::string text_of(const Question& question, const Compared& compared) {
  std::string text = wrapped(words_of(question), 100, "", "  ") +
                     wrapped(origin_of(question), 100, "", "  ") + '\n' +
                     comparison_table(compared.variants);
  if (!compared.complete) {
    text += fmt::format("Stopped: {} of {} rows were searched, the last one not to its end.\n",
                        compared.variants.size(), compared.asked);
  }
  return text;
}

Json json_of(const Question& question, const Compared& compared) {
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("verb", "compare");
  set_question(json, question);
  json.set("complete", compared.complete);
  json.set("rows", comparison_json(compared.variants));
  return json;
}

int exit_of(const Compared& compared) {
  if (!compared.complete) return kStopped;
  for (const Variant& variant : compared.variants) {
    if (variant.best) return kYes;
  }
  return kNo;
}

}  // namespace

Answer run_compare(const Arguments& arguments) {
  SearchOptions given;
  std::vector<std::string> vary;
  SlowOptions slow;
  bool json = false;
  Options options(
      "compare PROFILE --cluster FILE --global-batch B --vary KEY=A,B,... [OPTIONS]",
      "Searches the best plan for every combination of the settings that vary, and prints them in "
      "one table, relative to the first row. Exit code 1 when no row has a plan.",
      kExamples);
  options.heading("What varies");
  options.repeated(
      "--vary", "KEY=A,B,...",
      "schedule, P, V, D, T, b, recompute, zero1, device, gpus, global-batch, "
      "reserve-gib, or bandwidth (a factor on all links; latencies stay). May be given "
      "several times: all combinations",
      vary);
  given.declare(options);
  options.heading("What if the machine is uneven");
  slow.declare(options);
  options.heading("What to print");
  options.flag("--json", "the result as one JSON object", json);
  if (auto help = options.parse(arguments)) return {*help};

  const std::vector<Settings> rows = combinations(axes_of(vary));
  const Question question = question_of(given);
  const Compared compared = compare(question, rows, slow);
  const std::string text =
      json ? to_text(json_of(question, compared)) + '\n' : text_of(question, compared);
  return {text, exit_of(compared)};
}

}  // namespace penstock
