// What measurements add to a cluster file: costs of a runtime, and what was fitted to runs.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/small_cluster.h"

namespace penstock {
namespace {

using testing::complaint_of;
using testing::kCluster;
using testing::read;
using testing::written_and_read;

// What calibrate adds to kCluster.
constexpr std::string_view kExecutor = R"("executor": {
    "fitted_on": {"profile": "GPT", "device": "v100", "runs": 9}, "error": 0.0625,
    "model": {"name": "deepspeed+calibrated", "transfer": "rendezvous", "queues": "none",
              "receive_must_be_posted": false, "issue": "deepspeed", "optimizer": "global_barrier",
              "per_action_us": 1.5, "per_transfer_ns": 0, "per_step_ms": 2},
    "factors": {"compute": 1.1, "small_kernels": 0.8, "transfer": 1, "reduction": 1.5,
                "reduction_ps_per_byte": 20}},
  "levels")";

std::string calibrated_text() {
  std::string text(kCluster);
  text.replace(text.find("\"levels\""), std::string_view("\"levels\"").size(), kExecutor);
  return text;
}

TEST_CASE("a cluster may hold what steps of a trainer were measured to cost") {
  std::string text(kCluster);
  text.insert(text.find("\"levels\""), R"("measured_executor": {"version": 1, "trainer": "penstock",
    "per_action_ns": 1500, "per_step_us": 20, "source": "run",
    "messages": [{"bytes": 1024, "send_ns": 30000, "receive_us": 40},
                 {"bytes": 4096, "send_ns": 31000, "receive_us": 40}]},)");
  const ClusterSpec cluster = read(text);
  REQUIRE(cluster.measured_executor);
  CHECK(cluster.measured_executor->trainer == "penstock");
  CHECK(cluster.measured_executor->per_step == Duration(20'000));
  CHECK(cluster.measured_executor->source == 1);
  CHECK(cluster.measured_executor->messages[1] ==
        MessageCost{{4096}, Duration(31'000), Duration(40'000)});
  CHECK_FALSE(cluster.measured_executor->is_priced);
  CHECK(written_and_read(cluster) == cluster);

  const auto complaint = [&](std::string_view old, std::string_view changed) {
    std::string other = text;
    other.replace(other.find(old), old.size(), changed);
    return complaint_of(other);
  };
  CHECK(complaint("31000", "29000").find("no shorter than those of the smaller message") !=
        std::string::npos);
  CHECK(complaint("4096", "1024").find("more bytes than 1024, ascending") != std::string::npos);
  CHECK(complaint("\"version\": 1", "\"version\": 2").find("1") != std::string::npos);
  CHECK(complaint("\"trainer\"", "\"trainers\"").find("whose runtime was measured") !=
        std::string::npos);
}

TEST_CASE("a cluster may hold what was fitted to runs on it") {
  const ClusterSpec cluster = read(calibrated_text());
  REQUIRE(cluster.calibration);
  CHECK(cluster.calibration->profile == "GPT");
  CHECK(cluster.calibration->runs == 9);
  CHECK(cluster.calibration->error == 0.0625);
  CHECK(cluster.calibration->executor.transfer == TransferMode::kRendezvous);
  CHECK(cluster.calibration->executor.per_action == Duration(1'500));
  CHECK(cluster.calibration->executor.per_step == Duration(2'000'000));
  CHECK(cluster.calibration->factors == PriceFactors{1.1, 0.8, 1.0, 1.5, 20.0});
  CHECK(written_and_read(cluster) == cluster);
  CHECK(factors_for(cluster, "v100") == cluster.calibration->factors);
  CHECK(factors_for(cluster, "a100") == PriceFactors{});
  CHECK(factors_for(read(kCluster), "v100") == PriceFactors{});
}

TEST_CASE("how sure the fit is, and what memory was measured, are kept; older files have neither") {
  ClusterSpec cluster = read(calibrated_text());
  CHECK_FALSE(cluster.calibration->posterior);
  Posterior posterior;
  posterior.run_to_run = 0.0443;
  posterior.degrees = 12;
  posterior.covariance.assign(kStepTerms * kStepTerms, 0.0);
  posterior.covariance[0] = 0.0009765625;
  posterior.covariance[1] = posterior.covariance[kStepTerms] = -2.5e-4;
  posterior.covariance[14] = 1e14;
  posterior.fitted_on = {{"GPT", "1f1b", 4, 1, 2, 8, 9}};
  cluster.calibration->posterior = posterior;
  cluster.calibration->memory = {4, 1.25, Bytes{3'000'000'000}};
  CHECK(written_and_read(cluster) == cluster);
}

TEST_CASE("another executor keeps what was fitted of compute, and is unsure of its own costs") {
  Calibration calibration = *read(calibrated_text()).calibration;
  calibration.factors.transfer = 1.5;
  calibration.posterior =
      Posterior{std::vector<double>(kStepTerms * kStepTerms, 1e-4), 0.05, 8, {}};
  ExecutorModel asked;
  asked.transfer = TransferMode::kSenderBlocks;
  const Calibration other = with_executor(calibration, asked);
  CHECK(other.executor == asked);
  CHECK(other.factors.compute == 1.1);
  CHECK(other.factors.reduction == 1.5);
  CHECK(other.factors.transfer == 1.0);
  const std::vector<double>& covariance = other.posterior->covariance;
  CHECK(covariance[1] == 1e-4);  // compute with small kernels
  CHECK(covariance[4] == 0.0);   // compute with a cost per transfer
  CHECK(covariance[4 * kStepTerms + 4] == prior_deviations({})[4] * prior_deviations({})[4]);
}

TEST_CASE("an engine that interprets its list in Python may spend more on an action") {
  ExecutorModel interpreted;
  interpreted.issue = IssueOrder::kDeepSpeed;
  CHECK(prior_deviations({})[3] == 1e6);
  CHECK(prior_deviations(interpreted)[3] == 2e6);
  CHECK(prior_deviations(interpreted)[0] == prior_deviations({})[0]);
}

TEST_CASE("of a model that was never run, factors count only where they are sure") {
  Calibration calibration = *read(calibrated_text()).calibration;  // compute 1.1, launches 0.8
  std::vector<double> covariance(kStepTerms * kStepTerms);
  covariance[0] = 0.08 * 0.08;
  covariance[kStepTerms + 1] = 0.05 * 0.05;
  calibration.posterior = Posterior{covariance, 0.05, 8, {{"GPT", "1f1b", 4, 1, 2, 8, 9}}};
  CHECK(for_model(calibration, "GPT") == calibration);
  CHECK(for_model(calibration, "OPT").factors.compute == 1.0);        // 0.1 <= 2 * 0.08
  CHECK(for_model(calibration, "OPT").factors.small_kernels == 0.8);  // 0.2 > 2 * 0.05
}

TEST_CASE("costs of an executor follow the factors that another model does not take over") {
  Calibration calibration = *read(calibrated_text()).calibration;
  calibration.factors = {1.0, 0.86, 1.0, 1.0, 0.0};
  calibration.executor.per_action = Duration{1'250'000};
  calibration.executor.per_step = Duration{};
  std::vector<double> covariance(kStepTerms * kStepTerms);
  covariance[0] = 0.05 * 0.05;
  covariance[kStepTerms + 1] = 0.08 * 0.08;
  covariance[kStepTerms + 3] = covariance[3 * kStepTerms + 1] = -32'000.0;  // ns: -0.4 of 1 ms
  covariance[kStepTerms + 2] = covariance[2 * kStepTerms + 1] = 32'000.0;
  covariance[3 * kStepTerms + 3] = 1e12;
  calibration.posterior = Posterior{covariance, 0.05, 8, {{"GPT", "1f1b", 4, 1, 2, 8, 9}}};
  const Calibration other = for_model(calibration, "OPT");
  CHECK(other.factors.small_kernels == 1.0);
  // 1.25 ms - 32,000 / 0.0064 * 0.14
  CHECK(other.executor.per_action == Duration{550'000});
  CHECK(other.executor.per_step == Duration{});  // was not fitted
}

TEST_CASE("what was fitted keeps its bounds") {
  const auto complaint_about = [](std::string_view from, std::string_view to) {
    std::string text = calibrated_text();
    text.replace(text.find(from), from.size(), to);
    return tests::message_of([&] { (void)read(text); });
  };
  const auto names = [&](std::string_view from, std::string_view to, const std::string& place) {
    CAPTURE(to);
    return complaint_about(from, to).find(": /executor/" + place) != std::string::npos;
  };
  CHECK(names("\"device\": \"v100\", \"runs\"", "\"device\": \"h100\", \"runs\"",
              "fitted_on/device"));
  CHECK(names("\"runs\": 9", "\"runs\": 0", "fitted_on/runs"));
  CHECK(names("\"error\": 0.0625", "\"error\": -1", "error"));
  CHECK(names("\"compute\": 1.1", "\"compute\": -1", "factors/compute"));
  CHECK(names("\"transfer\": 1,", "\"transfer\": 0.9,", "factors/transfer"));
  CHECK(names("\"reduction\": 1.5", "\"reduction\": 0.5", "factors/reduction"));
  CHECK(names("\"rendezvous\"", "\"telepathy\"", "model/transfer"));
}

}  // namespace
}  // namespace penstock
