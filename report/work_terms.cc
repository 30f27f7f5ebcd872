#include "report/work_terms.h"

#include <cstdint>

#include <fmt/format.h>

#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

Duration sum_of(const TimeTerm& term) { return term.forward + term.backward + term.recompute; }

}  // namespace

std::string work_terms_table(const std::vector<TimeTerm>& terms, Screen screen) {
  TextTable table({{"  part", true}, {"forward"}, {"backward"}, {"recompute"}, {"share"}});
  Duration all{};
  for (const TimeTerm& term : terms) all += sum_of(term);
  for (const TimeTerm& term : terms) {
    const double share = all > Duration{} ? static_cast<double>(sum_of(term).count()) /
                                                static_cast<double>(all.count())
                                          : 0.0;
    table.add({"  " + term.name, aligned(term.forward), aligned(term.backward),
               aligned(term.recompute), fmt::format("{:.1f} %", 100.0 * share)});
  }
  return table.text(screen.width());
}

Json to_json(const WorkTerms& work) {
  Json terms = Json::array();
  for (const TimeTerm& term : work.terms) {
    terms.push(Json::object()
                   .set("part", term.name)
                   .set("forward_ns", std::int64_t{term.forward.count()})
                   .set("backward_ns", std::int64_t{term.backward.count()})
                   .set("recompute_ns", std::int64_t{term.recompute.count()}));
  }
  return Json::object().set("rank", work.rank).set("micro_batch", std::move(terms));
}

}  // namespace penstock
