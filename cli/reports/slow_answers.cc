#include "cli/reports/slow_answers.h"

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/words/parse.h"
#include "report/json_array.h"
#include "report/result_json.h"
#include "report/slow_ranks_report.h"
#include "report/table.h"
#include "report/words.h"
#include "studies/slow_advice.h"

namespace penstock {
namespace {

std::vector<RankSlowness> slow_ranks_of(const Plan& plan, const SlowQuestion& question) {
  std::vector<RankSlowness> slow;
  if (question.machines) {
    slow = read_slow_ranks(load_slow_ranks(*question.machines).value, *question.machines);
  }
  for (const SlowRank& rank : question.scenario.ranks) {
    for (int replica = 0; replica < plan.data; ++replica) {
      RankSlowness& added = slow.emplace_back();
      added.pipeline_rank = rank.rank;
      added.replica = replica;
      added.factor = static_cast<double>(rank.factor.millionths) * 1e-6;
    }
  }
  if (slow.empty()) {
    bad_option("--book", "no rank is slow",
               "add --slow rank=3:1.3, or the file of train --slow-machines slow.json");
  }
  return slow;
}

double faster(const SlowChoice& choice, Duration keep) {
  return 1.0 - static_cast<double>(choice.step_time.count()) / static_cast<double>(keep.count());
}

Duration keep_of(const SlowAdvice& advice) {
  for (const SlowChoice& choice : advice.choices) {
    if (choice.answer == SlowAnswer::kKeep) return choice.step_time;
  }
  return advice.best().step_time;
}

std::string text_of(const SlowAdvice& advice, Screen screen) {
  TextTable table({{"answer", true, 0}, {"step"}, {"less"}, {"GPUs"}, {"what", true}});
  const Duration keep = keep_of(advice);
  for (const SlowChoice& choice : advice.choices) {
    table.add({std::string(word_of(choice.answer)), aligned(choice.step_time),
               percent(faster(choice, keep)), std::to_string(choice.plan.devices()), choice.what});
  }
  std::string text = wrapped(advice.reason, screen.width(), "", "") + '\n';
  text += table.text(screen.width());
  if (!advice.why_not.empty()) text += '\n';
  for (const std::string& why : advice.why_not) {
    text += wrapped("no " + why, screen.width(), "", "  ");
  }
  if (const auto pays = advice.pays_after(std::chrono::seconds(60))) {
    text +=
        '\n' + wrapped(fmt::format("A change that costs a minute pays when the job then goes on "
                                   "for {}.",
                                   to_text(*pays)),
                       screen.width(), "", "");
  }
  return text;
}

Json json_of(const SlowAdvice& advice) {
  Json json = answer_json("explain");
  json.set("even_step_time_ns", std::int64_t{advice.even_step.count()});
  json.set("best", std::string(word_of(advice.best().answer))).set("reason", advice.reason);
  json.set("choices", array_of(advice.choices, [](const SlowChoice& choice) {
             Json one = Json::object();
             one.set("answer", std::string(word_of(choice.answer)));
             one.set("step_time_ns", std::int64_t{choice.step_time.count()});
             return one.set("what", choice.what).set("plan", to_json(choice.plan));
           }));
  return json.set("not_possible", strings(advice.why_not));
}

}  // namespace

Answer answer_on_slow_ranks(const PlanFile& plan, const SlowQuestion& question, Screen screen) {
  if (!question.scenario.links.empty()) {
    bad_option("--slow", "links cannot be left out or cut around", "name slow ranks only");
  }
  const Loaded<PlanBook> loaded = load_plan_book(question.book);
  const PlanBook& book = loaded.value;
  const SlowAdvice advice =
      advise_on_slow_ranks(book, plan.plan, slow_ranks_of(plan.plan, question));
  const int exit = advice.best().answer == SlowAnswer::kKeep ? kNo : kYes;
  if (question.json) return json_answer(json_of(advice), exit);
  return report_answer(text_of(advice, screen), exit);
}

}  // namespace penstock
