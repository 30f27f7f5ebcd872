#include "costmodel/fit_terms.h"

#include <cmath>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// Two terms: a factor of work (neutral 1) and a cost per call (neutral 0).
const std::vector<FitTerm> kWorkAndCalls{{1.0, -1}, {0.0, -1}};

struct Work {
  double work = 0.0, calls = 0.0;
};
std::vector<FitRun> runs_of(const std::vector<Work>& list, double factor, double per_call) {
  std::vector<FitRun> runs;
  for (const Work& each : list) {
    runs.push_back({factor * each.work + per_call * each.calls, 1.0, 0.0, {each.work, each.calls}});
  }
  return runs;
}
const std::vector<Work> kMixed{{100, 1}, {100, 10}, {200, 5}, {300, 40}, {50, 20}, {400, 8}};

TEST_CASE("the loss is the square of small errors and grows in proportion to large ones") {
  CHECK(robust_loss(0.0) == 0.0);
  CHECK(robust_loss(-0.04) == doctest::Approx(0.0008));  // 0.04^2 / 2
  CHECK(robust_loss(0.05) == doctest::Approx(0.00125));
  CHECK(robust_loss(0.25) == doctest::Approx(0.05 * 0.225));
  CHECK(log_error(20.0, 10.0) == doctest::Approx(0.69314718));
}

TEST_CASE("terms that made the times are found") {
  const TermFit fit = choose_terms(kWorkAndCalls, runs_of(kMixed, 1.25, 3.0));
  CHECK(fit.fitted == TermSet{true, true});
  CHECK(fit.values[0] == doctest::Approx(1.25).epsilon(1e-9));
  CHECK(fit.values[1] == doctest::Approx(3.0).epsilon(1e-9));
}

TEST_CASE("a run that is far off hardly moves the fit") {
  std::vector<FitRun> runs = runs_of(kMixed, 1.25, 3.0);
  runs[2].measured *= 2.0;
  const TermFit fit = choose_terms(kWorkAndCalls, runs);
  CHECK(fit.values[0] == doctest::Approx(1.25).epsilon(0.03));
  CHECK(fit.values[1] == doctest::Approx(3.0).epsilon(0.1));
}

TEST_CASE("a run of less weight counts less") {
  // Work alone: 110 and 90 for 100 pull the factor to 1.0; with weights of 1 and 3 to where the
  // weighted slopes of the (linear) loss balance: at the heavier run.
  std::vector<FitRun> runs = runs_of({{100, 0}, {100, 0}}, 1.0, 0.0);
  runs[0].measured = 102.0;
  runs[1].measured = 98.0;
  const auto even = fit_terms(kWorkAndCalls, runs, {true, false});
  runs[1].weight = 3.0;
  const auto uneven = fit_terms(kWorkAndCalls, runs, {true, false});
  REQUIRE(even);
  REQUIRE(uneven);
  CHECK(even->values[0] == doctest::Approx(1.0).epsilon(1e-3));
  // Both within 5 %, so squares: ln = (ln 1.02 + 3 ln 0.98) / 4.
  CHECK(uneven->values[0] == doctest::Approx(0.98985).epsilon(1e-4));
}

TEST_CASE("terms that go together cannot be told apart") {
  const std::vector<FitRun> runs = runs_of({{100, 10}, {200, 20}, {50, 5}}, 1.1, 1.0);
  CHECK_FALSE(fit_terms(kWorkAndCalls, runs, {true, true}));
  const TermFit fit = choose_terms(kWorkAndCalls, runs);
  CHECK(fit.fitted == TermSet{true, false});  // the first of two equally good ones
  CHECK(fit.values[0] == doctest::Approx(1.2));
  CHECK(fit.values[1] == 0.0);
}

TEST_CASE("a term that only one run depends on is left out") {
  const std::vector<FitRun> runs = runs_of({{100, 0}, {200, 0}, {50, 5}}, 1.0, 4.0);
  CHECK_FALSE(fit_terms(kWorkAndCalls, runs, {true, true}));
  CHECK_FALSE(choose_terms(kWorkAndCalls, runs).fitted[1]);
}

TEST_CASE("no term is negative") {
  // Calls seem to save time; without them a factor below 1 is the best.
  const TermFit fit = choose_terms(kWorkAndCalls, runs_of(kMixed, 1.0, -0.5));
  CHECK(fit.fitted == TermSet{true, false});
  CHECK(fit.values[0] < 1.0);
  CHECK(fit.values[1] == 0.0);
  CHECK_FALSE(fit_terms(kWorkAndCalls, runs_of(kMixed, 1.0, -0.5), {true, true}));
}

TEST_CASE("a term that is not fitted takes the value of the one it follows") {
  // Two kinds of work, equally fast: one factor is enough.
  const std::vector<FitTerm> terms{{1.0, -1}, {1.0, 0}};
  const TermFit one = choose_terms(terms, runs_of(kMixed, 1.3, 1.3));
  CHECK(one.fitted == TermSet{true, false});
  CHECK(one.values[0] == doctest::Approx(1.3));
  CHECK(one.values[1] == one.values[0]);
  CHECK(choose_terms(terms, runs_of(kMixed, 1.3, 0.7)).values[1] == doctest::Approx(0.7));
}

TEST_CASE("runs that the neutral terms explain fit nothing") {
  const TermFit fit = choose_terms(kWorkAndCalls, runs_of(kMixed, 1.0, 0.0));
  CHECK(fit.fitted == TermSet{false, false});
  CHECK(fit.values == std::vector<double>{1.0, 0.0});
  CHECK(fit.loss == 0.0);
}

TEST_CASE("what runs that are left out are off is known without leaving them out") {
  // One factor, three runs of 100 that took 100, 101 and 102: the fit is their geometric mean, and
  // without run i the mean of the other two, so the error of run i grows by 3 / 2 = 1 / (1 - 1/3).
  std::vector<FitRun> runs = runs_of({{100, 0}, {100, 0}, {100, 0}}, 1.0, 0.0);
  runs[1].measured = 101.0;
  runs[2].measured = 102.0;
  const auto fit = fit_terms(kWorkAndCalls, runs, {true, false});
  REQUIRE(fit);
  CHECK(fit->left_out_loss == doctest::Approx(fit->loss * 2.25).epsilon(1e-3));
}

// The same with priors: work within 30 %, half a unit per call.
const std::vector<FitTerm> kLikely{{1.0, -1, 0.3}, {0.0, -1, 0.5}};

TEST_CASE("one run moves its term as far as it is surer than the prior") {
  // ln 1.2 = 0.182 measured with 0.0443, a prior of 0.3 around 1: all but 0.0443^2 / 0.3^2 = 2 %.
  const std::vector<FitRun> runs = runs_of({{100, 0}}, 1.2, 0.0);
  const auto fit = fit_terms(kLikely, runs, {true, false});
  REQUIRE(fit);
  CHECK(fit->values[0] == doctest::Approx(1.195).epsilon(0.005));
  const std::vector<double> covariance = covariance_of(kLikely, runs, fit->values, kOneRun);
  // The run's part of the factor, and the prior's of what no run depends on.
  CHECK(std::sqrt(covariance[0]) == doctest::Approx(0.0443 * 1.2).epsilon(0.05));
  CHECK(std::sqrt(covariance[3]) == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(covariance[1] == doctest::Approx(0.0));
}

TEST_CASE("terms that the runs do not make surer are left out") {
  // Calls are a thousandth of the work: they could be anything within their prior.
  const std::vector<FitRun> runs = runs_of({{1000, 1}, {1000, 2}, {2000, 1}, {3000, 3}}, 1.1, 0.4);
  TermChoice choice;
  choice.always = {true, false};
  const TermFit fit = choose_terms(kLikely, runs, choice);
  CHECK(fit.fitted == TermSet{true, false});
  const std::vector<double> covariance = covariance_of(kLikely, runs, fit.values, kOneRun);
  CHECK(std::sqrt(covariance[3]) == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("a choice keeps to its sets") {
  TermChoice choice;
  choice.always = {true, false};
  choice.most_terms = 0;
  CHECK(choose_terms(kWorkAndCalls, runs_of(kMixed, 1.25, 3.0), choice).fitted ==
        TermSet{true, false});
}

}  // namespace
}  // namespace penstock
