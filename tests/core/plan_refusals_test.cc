// What a reader of plan files refuses, and in which words.
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

// The message without the name of the file and the line.
std::string refusal(const std::string& text) {
  try {
    (void)plan_of(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    const std::string message = error.what();
    return message.substr(message.find(": ") + 2);
  }
  return "";
}
std::string refusal_with(const Edits& edits) { return refusal(edited(edits)); }
std::string refusal_with(std::string_view text, std::string_view replacement) {
  return refusal_with(Edits{{text, replacement}});
}

TEST_CASE("a message names file, line and path") {
  CHECK_THROWS_WITH_AS((void)tiny_plan({{R"("rule": "none")", R"("rule": "swap")"}}),
                       "t:57: /program/rule: expected one of none, varuna, varuna-runtime, "
                       "varuna-strict, got \"swap\"",
                       Error);
}

TEST_CASE("refused: another format, a missing key, an unknown key") {
  CHECK(refusal_with("penstock.plan/1", "penstock.plan/3") ==
        "/format: expected \"penstock.plan/2\" or \"penstock.plan/1\", got \"penstock.plan/3\"");
  CHECK(refusal_with(R"("model": "tiny",)", "") == "the key \"model\" is missing here; add it");
  CHECK(refusal_with(R"("model": "tiny",)", R"("model": "tiny", "modle": 1,)") ==
        "unknown key \"modle\"; did you mean \"model\"?");
  CHECK(refusal_with(R"("weight_set": 0,)", "") ==
        "/program/pipelines/0/stages/0: the key \"weight_set\" is missing here; add it");
  CHECK(refusal_with(R"("repeat": 2,)", R"("repeat": 2, "times": 2,)") ==
        "/program/pipelines/0/ranks/1/0: unknown key \"times\"; remove it; the nearest known key "
        "is \"actions\"");
}

TEST_CASE("refused: stages that disagree with the cuts") {
  CHECK(refusal_with(R"("cuts": [0, 1, 2])", R"("cuts": [0, 2])") ==
        "/plan/cuts: expected 3 cuts, one more than stages, got 2");
  CHECK(refusal_with(R"("cuts": [0, 1, 2])", R"("cuts": [0, 2, 2])") ==
        "/plan/cuts: the cuts must ascend");
  CHECK(refusal_with(R"("cuts": [0, 1, 2])", R"("cuts": [0, 1, 3])") ==
        "/plan/cuts/2: expected an integer from 0 to 2, got 3");
  CHECK(refusal_with(R"("last_section": "first")", R"("last_section": "second")") ==
        "/stages/0/last_section: expected \"first\", as 'plan' says (change its cuts, not this), "
        "got \"second\"");
  CHECK(refusal_with(R"("last_section": "second", "sections": 1)",
                     R"("last_section": "second", "sections": 2)") ==
        "/stages/1/sections: expected 1, as 'plan' says (change its cuts, not this), got 2");
  CHECK(refusal_with(R"("sections": ["first", "second"])", R"("sections": [])") ==
        "/sections: expected at least one section, got an array of 0");
  CHECK(refusal_with(R"("boundary_level": [0])", R"("boundary_level": [])") ==
        "/cluster/boundary_level: expected 1 levels, one less than stages, got 0");
  CHECK(refusal_with(R"("boundary_level": [0])", R"("boundary_level": [1])") ==
        "/cluster/boundary_level/0: expected an integer from -1 to 0, got 1");
}

TEST_CASE("refused: degrees that are out of range") {
  CHECK(refusal_with(R"("pipeline": 2)", R"("pipeline": 0)") ==
        "/plan/pipeline: expected an integer from 1 to 65535, got 0");
  CHECK(refusal_with(R"("chunks": 1)", R"("chunks": 40000)") ==
        "/plan/chunks: expected an integer from 1 to 32767, got 40000");
  CHECK(refusal_with(R"("placement": "pipeline_inner")", R"("placement": "inner")") ==
        "/plan/placement: expected one of pipeline_inner, data_inner, got \"inner\"");
}

TEST_CASE("refused: prices that do not match the plan") {
  CHECK(refusal_with(R"("ties": [],
    "norm_ns")",
                     R"("ties": [{"tied_reduce_ns": 1}],
    "norm_ns")") == "/prices/ties: expected prices of 0 ties, got an array of 1");
  CHECK(refusal_with(R"("ties": [],)", R"("ties": [{"name": "t", "stages": [1]}],)") ==
        "/ties/0/stages: expected at least two stages in ascending order, got an array of 1");
  CHECK(refusal_with(R"("ties": [],)", R"("ties": [{"name": "t", "stages": [0, 2]}],)") ==
        "/ties/0/stages/1: expected an integer from 0 to 1, got 2");
  CHECK(refusal_with(R"("forward_ns": 1000, "forward_spread_ns": 3,)", "") ==
        "/prices/stages/0/shapes/0: the key \"forward_ns\" (or _us, _ms, _s) is missing here; add "
        "it");
  CHECK(refusal_with(R"("norm_ns": 10)", R"("norm_ns": -10)") ==
        "/prices/norm_ns: expected a duration >= 0, got -10");
  CHECK(refusal_with(R"("shape": 0)", R"("shape": 1)") ==
        "/program: a micro-batch has shape 1, but there are prices of 1 shapes");
  CHECK(refusal_with(R"("shapes": [
          {"forward_ns": 1000, "input)",
                     R"("shapes": [], "shapse": [
          {"forward_ns": 1000, "input)") ==
        "/prices/stages/1/shapes: expected as many shapes as the first stage has, at least one, "
        "got an array of 0");
}

TEST_CASE("refused: names that are none, of stages and micro-batches that are not there") {
  CHECK(refusal_with(R"("0F1")", R"("0G1")") ==
        "/program/pipelines/0/ranks/0/0/2: expected the name of an action, such as 0F3 or "
        "1REDUCE_GRAD");
  CHECK(refusal_with(R"("0F1")", "7") ==
        "/program/pipelines/0/ranks/0/0/2: expected the name of an action, such as 0F3 or "
        "1REDUCE_GRAD");
  CHECK(refusal_with(R"("0F1")", R"("2F1")") ==
        "/program/pipelines/0/ranks/0/0/2: 2F1: the stages of this pipeline are 0 to 1");
  CHECK(
      refusal_with(R"("0F1")", R"("1F1")") ==
      "/program/pipelines/0/ranks/0/0/2: 1F1 is in the list of rank 0, but its stage is on rank 1");
  CHECK(refusal_with(R"("0F1")", R"("0F2")") ==
        "/program/pipelines/0/ranks/0/0/2: 0F2: the micro-batches of this pipeline are 0 to 1");
  CHECK(refusal_with(R"("repeat": 2)", R"("repeat": 3)") ==
        "/program/pipelines/0/ranks/1/0/actions/0: 1RECV_F0 and its repetitions to 2: the "
        "micro-batches of this pipeline are 0 to 1");
  CHECK(refusal_with(R"("advance": 1)", R"("advance": -1)") ==
        "/program/pipelines/0/ranks/1/0/actions/0: 1RECV_F0 and its repetitions to -1: the "
        "micro-batches of this pipeline are 0 to 1");
  CHECK(refusal_with(kRank1, R"({"repeat": 0, "advance": 1, "actions": ["1F0"]})") ==
        "/program/pipelines/0/ranks/1/0/repeat: expected an integer from 1 to 67108864, got 0");
  CHECK(refusal_with(kRank1, "[]") ==
        "/program/pipelines/0/ranks/1/0: expected an array of at least one action, or an object "
        "with repeat, advance, actions, got an array of 0");
}

TEST_CASE("refused: tables that are too large, before they are made") {
  CHECK(refusal_with(kRank1, R"({"repeat": 67108864, "advance": 0, "actions": ["1F0", "1B0"]})") ==
        "/program/pipelines/0/ranks/1/0: a program has at most 67108864 actions; here it has "
        "134217738");
  CHECK(refusal_with(R"("count": 2)", R"("count": 4294967294)") ==
        "/program/pipelines/0: fewer actions (20) than 2 stages have forwards of 4294967294 "
        "micro-batches");
  CHECK(refusal_with(R"("count": 2)", R"("count": 4294967295)") ==
        "/program/pipelines/0/micro_batches/0/count: expected an integer from 1 to 4294967294, "
        "got 4294967295");
}

TEST_CASE("refused: stages that do not form a chain") {
  CHECK(refusal_with(R"("rank": 1, "previous")", R"("rank": 2, "previous")") ==
        "/program/pipelines/0/stages/1/rank: expected an integer from 0 to 1, got 2");
  CHECK(refusal_with(R"("previous": 0, )", "") ==
        "/program/pipelines/0: stage 0 and its neighbours do not name each other");
  CHECK(refusal_with(R"("previous": 0, )", R"("previous": 2, )") ==
        "/program/pipelines/0/stages/1/previous: expected an integer from 0 to 1, got 2");
  CHECK(refusal_with(R"("pipelines": [)", R"("pipelines": [], "x": [)") ==
        "/program/pipelines: expected at least one pipeline, got an array of 0");
  Edits one_rank = two_replicas();
  one_rank.push_back({R"([["2F0", "2SEND_F0", "2RECV_B0", "2B0",
            "2TIED_REDUCE", "2REDUCE_GRAD", "2NORM", "2OPT", "2UNSHARD"]],)",
                      ""});
  CHECK(refusal_with(one_rank) ==
        "/program/pipelines/1/stages/1/rank: expected an integer from 2 to 2, got 3");
}

TEST_CASE("refused: groups of stages that are not there, collectives without a group") {
  CHECK(refusal_with(R"("name": "job", "stages": [0, 1])", R"("name": "job", "stages": [0, 2])") ==
        "/program/groups/0/stages/1: expected an integer from 0 to 1, got 2");
  CHECK(refusal_with(R"("name": "job", "stages": [0, 1])", R"("name": "job", "stages": [1, 0])") ==
        "/program/groups/0/stages/1: expected stages in ascending order, got 0");
  CHECK(refusal_with(R"("name": "job", "stages": [0, 1])", R"("name": "job", "stages": [])") ==
        "/program/groups/0/stages: expected at least one stage, got an array of 0");
  CHECK(refusal_with(R"("name": "job", "stages": [0, 1])", R"("name": "job", "stages": [0])") ==
        "/program/pipelines: 1NORM belongs to no group; add its stage to one in 'groups'");
  CHECK(refusal_with(R"("kind": "job")", R"("kind": "jobs")") ==
        "/program/groups/0/kind: expected one of data_parallel, tied_weights, job, got \"jobs\"");
}

TEST_CASE("refused: a group that lists a stage without a collective in it") {
  CHECK(refusal_with({{R"("global_barrier")", R"("post_validation")"},
                      {R"("0NORM", )", ""},
                      {R"("1NORM", )", ""}}) ==
        "/program/groups/0/stages/0: no list holds a collective of this stage and group; remove "
        "the stage from the group, or the group");
}

TEST_CASE("refused: an action that waits for one in no list") {
  CHECK(refusal_with(R"("0SEND_F1", )", "") ==
        "/program/pipelines: 1RECV_F1 waits for 0SEND_F1, which no list holds");
  CHECK(refusal_with(R"("0F1", )", "") ==
        "/program/pipelines: 0SEND_F1 waits for 0F1, which no list holds");
  CHECK(refusal_with(R"("1B0", "1SEND_B0")", R"("1SEND_B0", "1OPT")") ==
        "/program/pipelines: 1SEND_B0 waits for 1B0 or 1I0, which no list holds");
  CHECK(refusal_with(R"("0F0", "0SEND_F0")", R"("0F0", "0RECV_F0", "0SEND_F0")") ==
        "/program/pipelines: 0RECV_F0 receives, but there is no stage it could come from");
  CHECK(refusal_with(R"(["1NORM", "1OPT"])", R"(["1OPT"])") ==
        "/program/pipelines: 0OPT waits for a collective of which no list holds a member");
}

TEST_CASE("refused: lists that wait for each other, with the cycle by name") {
  // Rank 0 wants the gradient of 0 before it sends the activation of 0.
  CHECK(refusal_with(kRank0, R"(["0F0", "0RECV_B0", "0SEND_F0", "0F1", "0SEND_F1", "0B0",
                                 "0RECV_B1", "0B1", "0NORM", "0OPT"])") ==
        "/program/pipelines: the lists wait for each other: "
        "0RECV_B0 waits for 1SEND_B0, which comes after 1RECV_F0 on rank 1; "
        "1RECV_F0 waits for 0SEND_F0, which comes after 0RECV_B0 on rank 0");
  CHECK(refusal_with(R"("1F0", "1B0")", R"("1B0", "1F0")") ==
        "/program/pipelines: the lists wait for each other: "
        "1B0 waits for 1F0, which comes after 1B0 on rank 1");
  // Rank 0 reduces the tied weights first, rank 1 the replicas' gradients.
  Edits crossed = two_replicas();
  crossed.push_back({R"("1TIED_REDUCE", "1REDUCE_GRAD")", R"("1REDUCE_GRAD", "1TIED_REDUCE")"});
  CHECK(refusal_with(crossed) ==
        "/program/pipelines: the lists wait for each other: "
        "1REDUCE_GRAD waits for 1TIED_REDUCE, which comes after 1REDUCE_GRAD on rank 1");
}

TEST_CASE("refused: a step time outside its own interval, and a price that no sum can hold") {
  const std::string outside =
      "/prediction: step_time must lie between step_time_low and step_time_high";
  CHECK(refusal_with(R"("step_time_low_ns": 10000)", R"("step_time_low_ns": 10111)") == outside);
  CHECK(refusal_with(R"("step_time_high_ns": 11000)", R"("step_time_high_ns": 10109)") == outside);
  CHECK(refusal_with(R"("usd_per_hour": 0)", R"("usd_per_hour": 1e300)") ==
        "/cluster/usd_per_hour: expected a number from 0 to 1e+09, got 1e300");
}

TEST_CASE("refused: a prediction for other ranks") {
  CHECK(refusal_with(R"("pipeline": 2, "chunks": 1)", R"("pipeline": 1, "chunks": 2)") ==
        "/stages/1/rank: expected 0, as 'plan' says (change its cuts, not this), got 1");
  CHECK(refusal_with(R"("share": 0.5)", R"("share": 1.5)") ==
        "/prediction/assumptions/0/share: expected a number from 0 to 1, got 1.5");
  CHECK(refusal_with(R"("stash_bytes": 200)", R"("stash_bytes": -200)") ==
        "/prediction/ranks/0/memory/stash_bytes: expected a number of bytes, an integer from 0 to "
        "2^53, got -200");
}

TEST_CASE("device types that do not fit the ranks are refused") {
  const auto with_types = [](const std::string& types) {
    Edits edits = two_device_types();
    const std::string key = R"("device": "toy", "rank_devices": )" + types + R"(, "cuts")";
    edits[0].second = key;
    return refusal_with(edits);
  };
  CHECK(with_types(R"(["toy"])") ==
        "/plan/rank_devices: expected a device type for each of the 2 pipeline ranks, got 1");
  CHECK(with_types(R"(["old", "toy"])") ==
        "/plan/rank_devices: rank 0 is on 'old', but 'device' says 'toy'; 'device' is the type of "
        "rank 0");
  CHECK(with_types(R"(["toy", "toy"])") ==
        "/plan/rank_devices: all ranks are on 'toy'; leave this key out of a plan that is not "
        "mixed");
  CHECK(with_types(R"(["toy", "new"])") ==
        "/cluster: expected \"other_devices\" to be: 'new', the types of 'rank_devices' after the "
        "first");
  CHECK(refusal_with(Edits{two_device_types()[1]}) ==
        "/cluster: expected \"other_devices\" to be absent, the types of 'rank_devices' after the "
        "first");
}

TEST_CASE("refused: operations of no model, and peaks of no device of the plan") {
  const auto with_flops = [](const std::string& per_sample, const std::string& peaks) {
    return refusal_with(R"("prices": {)", R"("flops": {"per_sample": )" + per_sample +
                                              R"(, "convention": "megatron_lm", "peaks": [)" +
                                              peaks + R"(]}, "prices": {)");
  };
  const std::string peak = R"({"device": "toy", "flops_per_s": 1e12})";
  CHECK(with_flops("1e6", peak).empty());
  CHECK(with_flops("0", peak).starts_with("/flops/per_sample: expected"));
  CHECK(with_flops("1e6", R"({"device": "old", "flops_per_s": 1e12})") ==
        "/flops/peaks/0/device: expected a device type of the plan, each once, got \"old\"");
  CHECK(with_flops("1e6", peak + ", " + peak) ==
        "/flops/peaks/1/device: expected a device type of the plan, each once, got \"toy\"");
}

TEST_CASE("refused: kinds of replicas that are not the plan's replicas, or not its Program's") {
  const auto with_kinds = [](const std::string& kinds) {
    return refusal_with(R"("device": "toy", "cuts")",
                        R"("device": "toy", "replica_kinds": )" + kinds + R"(, "cuts")");
  };
  const auto kind = [](const std::string& samples, const std::string& types) {
    return R"({"replicas": 1, "samples": )" + samples + R"(, "rank_devices": )" + types + "}";
  };
  const std::string none = "/plan/replica_kinds: expected kinds of 1 replicas with ";
  CHECK(with_kinds("[]").starts_with(none));
  CHECK(with_kinds("[" + kind("1000000", R"(["toy", "toy"])") + "]").starts_with(none));
  CHECK(with_kinds("[" + kind("1", R"(["toy"])") + "]") ==
        "/plan/replica_kinds/0/rank_devices: expected a device type for each of the 2 pipeline "
        "ranks, got 1");
  CHECK(with_kinds("[" + kind("0", R"(["toy", "toy"])") + "]")
            .starts_with("/plan/replica_kinds/0/samples: expected"));
}

}  // namespace
}  // namespace penstock
