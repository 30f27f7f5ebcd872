#include "cli/options/measured_runs.h"

#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

FittedTerm compute(double value) {
  FittedTerm term;
  term.name = kStepTermNames[0];
  term.value = value;
  term.state = TermState::kFitted;
  return term;
}

RunFit run(int measured_s, int predicted_s) {
  RunFit fit;
  fit.name = "TP=4";
  fit.measured = std::chrono::seconds(measured_s);
  fit.predicted = std::chrono::seconds(predicted_s);
  return fit;
}

}  // namespace

TEST_CASE("runs that a fit explains with a likely factor raise no doubt") {
  CHECK(doubts_of({}).empty());
  CHECK(doubts_of({{}, {compute(1.25)}, {run(10, 10), run(8, 10), run(10, 8)}}).empty());
}

TEST_CASE("an unlikely factor and a run that is not explained are doubted") {
  const std::string factor = doubts_of({{}, {compute(2.017)}, {run(10, 10)}});
  CHECK(factor.starts_with("Check --measured first: the fit makes compute 2.02 times"));
  // Two runs of one plan, 16 and 26 s: wherever the fit lies, one of them is far from it.
  const std::string run_left = doubts_of({{}, {compute(1.0)}, {run(16, 17), run(26, 17)}});
  CHECK(run_left.starts_with("Check --measured first: 'TP=4' took 26 s, and is predicted at 17 s"));
  CHECK(doubts_of({{}, {compute(1.0)}, {run(100, 126)}}).size() > 0);  // 26 % too slow
  CHECK(doubts_of({{}, {compute(2.0)}, {run(40, 30)}}).find("; 'TP=4' took 40 s") !=
        std::string::npos);
}

TEST_CASE("a peak of memory that the fit cannot reach is doubted") {
  RunFit far = run(10, 10);
  far.measured_memory = Bytes{std::int64_t{20} << 30};
  far.predicted_memory = Bytes{std::int64_t{61} << 30};
  CHECK(doubts_of({{}, {compute(1.0)}, {far}})
            .starts_with("Check --measured first: 'TP=4' held 20.0 GiB, and is predicted at 61.0"));
  far.predicted_memory = Bytes{std::int64_t{24} << 30};  // 20 % more
  CHECK(doubts_of({{}, {compute(1.0)}, {far}}).empty());
}

}  // namespace penstock
