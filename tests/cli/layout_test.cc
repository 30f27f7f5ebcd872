#include "cli/options/layout.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

using namespace penstock;

namespace {

// An embedding, `layers` equal layers, a norm and a head.
ModelProfile model(int layers) {
  ModelProfile model;
  model.name = "GPT";
  for (const char* name : {"embedding", "layer", "norm", "head"}) {
    SectionType type;
    type.name = name;
    model.section_types.push_back(type);
  }
  model.sections.push_back({"embedding", 0});
  for (int i = 0; i < layers; ++i) model.sections.push_back({"layer" + std::to_string(i), 1});
  model.sections.push_back({"norm", 2});
  model.sections.push_back({"head", 3});
  return model;
}

Plan plan(const std::string& text, const LayoutDefaults& defaults = {0, 0, 2048, "gpu"}) {
  return plan_of(parse_layout("--layout", text), model(16), defaults, "--layout");
}

std::string refusal(const std::string& text, const LayoutDefaults& defaults = {0, 0, 2048, "gpu"}) {
  return tests::message_of([&] { (void)plan(text, defaults); });
}

}  // namespace

TEST_CASE("the words of trainers and our letters say the same") {
  const Plan words = plan("TP=4 PP=8 DP=2 mbs=1 schedule=interleaved V=2 gb=128 seq=8192");
  CHECK(words.tensor == 4);
  CHECK(words.pipeline == 8);
  CHECK(words.data == 2);
  CHECK(words.micro_batch_size == 1);
  CHECK(words.schedule == "interleaved");
  CHECK(words.chunks == 2);
  CHECK(words.global_batch == 128);
  CHECK(words.sequence_length == 8192);
  CHECK(words.device == "gpu");
  CHECK(plan("T=4,P=8,D=2,b=1,V=2,gb=128,s=8192") == words);
  // 64 micro-batches of one sample on each of two replicas.
  CHECK(plan("t=4, p=8, d=2, V=2, M=64, seq=8192") == words);
  // As plans are printed, and as flags are called.
  CHECK(plan("TP 4 x PP 8 x DP 2, VP 2, mbs 1, gbs 128, seq 8192") == words);
  CHECK(plan("TP4 PP8 DP2 vp=2 B=128 seq_len=8192 schedule=Interleaved1F1B") == words);
}

TEST_CASE("where cuts are not given, layers are in equal numbers and the ends hold the rest") {
  // 19 sections: embedding, 16 layers in fours, norm and head.
  CHECK(plan("PP=4 gb=8").cuts == std::vector{0, 5, 9, 13, 19});
  CHECK(plan("PP=4 gb=8 cuts=equal").cuts == std::vector{0, 5, 9, 13, 19});
  CHECK(plan("PP=4 gb=8 cuts=search").cuts.empty());
  // 5 stages: 4 layers, then 3 each.
  CHECK(plan("PP=5 gb=8").cuts == std::vector{0, 5, 8, 11, 14, 19});
}

TEST_CASE("cuts are taken as they are, between commas and what follows them") {
  CHECK(plan("PP=3,cuts=0,5,9,19,gb=8").cuts == std::vector{0, 5, 9, 19});
  CHECK(plan("cuts=0,7,19 PP=2 gb=8").cuts == std::vector{0, 7, 19});
  CHECK(refusal("PP=3 gb=8 cuts=0,9,19") ==
        "--layout: cuts has 3 numbers from 0 to 19\n"
        "help: GPT has 19 sections in 3 stages: give 4 numbers from 0 to 19");
  CHECK(refusal("PP=2 gb=8 cuts=0,9,9").starts_with("--layout: cuts do not ascend: 9 after 9"));
}

TEST_CASE("schedules bring their chunks and their stage map") {
  const Plan v = plan("PP=4 schedule=zb-v gb=8");
  CHECK(v.chunks == 2);
  CHECK(v.stage_map == StageMap::kV);
  CHECK(plan("PP=4 V=2 gb=8").schedule == "interleaved");
  CHECK(plan("PP=4 gb=8").schedule == "1f1b");
  CHECK(refusal("PP=4 schedule=zb-v V=3 gb=8") ==
        "--layout: zb-v cannot have VP = 3\nhelp: it has VP = 2");
  CHECK(refusal("PP=4 schedule=1f1c gb=8") ==
        "--layout: unknown schedule '1f1c'\nhelp: did you mean '1f1b'?");
}

TEST_CASE("replicas and batch are filled from what is known") {
  CHECK(plan("TP=2 PP=4", {64, 512, 2048, "gpu"}).data == 8);
  CHECK(plan("TP=2 PP=4", {64, 512, 2048, "gpu"}).global_batch == 512);
  CHECK(refusal("TP=3 PP=4", {64, 512, 2048, "gpu"})
            .starts_with("--layout: TP 3 x PP 4 does not divide 64 GPUs"));
  CHECK(refusal("PP=4") ==
        "--layout: gbs is missing\nhelp: add the samples of a step, for example --gbs 512 (within "
        "--layout gbs=512)");
  CHECK(refusal("PP=4 M=8 gb=9").starts_with("--layout: M = 8 is a batch of 8, not gbs = 9"));
}

TEST_CASE("FSDP over so many ranks; with more replicas in groups of them") {
  const Plan all = plan("FSDP=8 mbs=2 gbs=16");
  CHECK(all.data == 8);
  CHECK(all.zero1);
  CHECK(all.sharding == Sharding::kFsdp);
  CHECK(all.shard_group == 0);
  const Plan groups = plan("FSDP=8 DP=32 gbs=64");
  CHECK(groups.data == 32);
  CHECK(groups.shard_group == 8);
  CHECK(plan("sharding=fsdp:8 DP=32 gbs=64") == groups);
  CHECK(plan("FSDP=8 gbs=64", {32, 0, 2048, "gpu"}) == groups);
  CHECK(plan("dp_shard=8 DP=8 mbs=2 gbs=16") == all);
  // Ranks that divide sequences hold the same weights.
  CHECK(plan("FSDP=8 CP=2 gbs=16").data == 4);
  CHECK(plan("FSDP=8 CP=2 gbs=16").shard_group == 0);
}

TEST_CASE("what is sharded has many names") {
  CHECK(plan("sharding=zero1 DP=2 gb=8") == plan("zero1=on DP=2 gb=8"));
  CHECK(plan("zero_stage=3 DP=2 gb=8").sharding == Sharding::kParameters);
  CHECK(plan("sharding=optim_grads DP=2 gb=8").sharding == Sharding::kGradients);
  CHECK_FALSE(plan("sharding=none DP=2 gb=8").zero1);
  CHECK(refusal("sharding=zero1:2 DP=2 gb=8").find("groups of shards are for fsdp") !=
        std::string::npos);
  CHECK(refusal("sharding=fsdp zero1=on DP=2 gb=8")
            .starts_with("--layout: it has more than one of zero1, sharding and FSDP"));
  CHECK(refusal("sharding=fdsp gb=8").find("fsdp") != std::string::npos);
}

TEST_CASE("ranks that divide sequences count among the GPUs") {
  CHECK(plan("TP=4 CP=2 PP=4 DP=2 gb=128").devices() == 64);
  CHECK(plan("TP=4 CP=2 PP=4", {64, 512, 2048, "gpu"}).data == 2);
  CHECK(refusal("TP=4 CP=3 PP=4", {64, 512, 2048, "gpu"})
            .starts_with("--layout: TP 4 x CP 3 x PP 4 does not divide 64 GPUs"));
}

TEST_CASE("a key that there is not finds the nearest") {
  CHECK(refusal("TP=2 PPP=4 gb=8")
            .starts_with("--layout: unknown key 'PPP'\nhelp: did you mean 'PP'?"));
  CHECK(refusal("schedul=1f1b") ==
        "--layout: unknown key 'schedul'\nhelp: did you mean 'schedule'?");
  CHECK(refusal("PP=4 P=4 gb=8").starts_with("--layout: PP is given twice"));
  CHECK(refusal("PP=four gb=8").starts_with("--layout PP: 'four' is not a whole number"));
  CHECK(refusal("1f1b").starts_with("--layout: '1f1b' is not KEY=VALUE"));
  CHECK(refusal("").starts_with("--layout: it is empty"));
}

TEST_CASE("a mixed pipeline names the device types of its ranks in order") {
  const Plan mixed = plan("PP=4 gb=8 devices=a100+3*v100");
  CHECK(mixed.device == "a100");
  CHECK(mixed.rank_devices == std::vector<std::string>{"a100", "v100", "v100", "v100"});
  CHECK(plan("PP=4 gb=8 devices=v100").device == "v100");
  CHECK_FALSE(plan("PP=4 gb=8 devices=4*v100").is_mixed());
  CHECK(refusal("PP=4 gb=8 devices=a100+v100") ==
        "--layout devices: it says the device types of 2 ranks, but PP is 4\n"
        "help: P is the same in all replicas of a plan; name a type for each of its ranks");
  CHECK(refusal("PP=2 gb=8 devices=a100+").starts_with("--layout devices: 'a100+' names no"));
  CHECK(refusal("PP=2 gb=8 devices=2*a100 device=a100")
            .starts_with("--layout: it has more than one of device, devices and replicas"));
}

TEST_CASE("unequal replicas name their device types and their shares of the batch") {
  const Plan two = plan("PP=2 mbs=2 replicas=2*a100:24/(a100+v100):8");
  CHECK(two.data == 3);
  CHECK(two.global_batch == 56);
  CHECK(two.replica_kinds == std::vector<ReplicaKind>{{2, 24}, {1, 8}});
  CHECK(two.rank_devices == std::vector<std::string>{"a100", "a100", "a100", "v100"});
  CHECK(samples_of_replica(two, 1) == 24);
  CHECK(samples_of_replica(two, 2) == 8);
  CHECK(plan("PP=2,DP=3,gb=56,mbs=2,replicas=2*a100:24/(a100+v100):8") == two);
}

TEST_CASE("replicas without a share divide evenly what the others leave") {
  const Plan rest = plan("PP=2 gb=64 replicas=3*a100/v100:4");
  CHECK(rest.replica_kinds == std::vector<ReplicaKind>{{3, 20}, {1, 4}});
  const Plan even = plan("PP=2 M=5 mbs=2 replicas=3*a100/v100");
  CHECK(even.global_batch == 40);
  CHECK(even.replica_kinds == std::vector<ReplicaKind>{{3, 10}, {1, 10}});
  // One kind is no unequal plan.
  const Plan one = plan("PP=2 gb=8 replicas=2*(a100+v100)");
  CHECK(one.replica_kinds.empty());
  CHECK(one.data == 2);
  CHECK(one.rank_devices == std::vector<std::string>{"a100", "v100"});
  CHECK(plan("PP=2 replicas=2*a100:4").global_batch == 8);
}

TEST_CASE("replicas that contradict themselves are refused") {
  CHECK(refusal("PP=2 gb=63 replicas=3*a100/v100:4") ==
        "--layout replicas: gbs = 63 leaves 59 samples for 3 replicas without a share\n"
        "help: say the shares, or a batch that divides evenly");
  CHECK(refusal("PP=2 gb=9 replicas=a100:4/v100:4")
            .starts_with("--layout: the shares of the replicas are 8 samples, not gbs = 9"));
  CHECK(refusal("PP=2 DP=3 replicas=a100:4/v100:4")
            .starts_with("--layout: DP = 3, but replicas says 2"));
  CHECK(refusal("PP=2 replicas=a100:4/v100").starts_with("--layout: gbs is missing"));
  CHECK(refusal("PP=2 replicas=a100+v100:4")
            .starts_with("--layout replicas: 'a100+v100:4' is not a kind of replicas"));
  CHECK(refusal("PP=2 replicas=a100:4/").starts_with("--layout replicas: '' is not a kind"));
  CHECK(refusal("PP=2 replicas=0*a100:4/a100:4").starts_with("--layout replicas"));
  CHECK(refusal("PP=2 replicas=a100:4/(a100+2*v100):4")
            .starts_with("--layout replicas: it says the device types of 3 ranks, but PP is 2"));
  CHECK(refusal("PP=2 TP=4/2 gb=8") ==
        "--layout: TP is '4/2'\nhelp: replicas may differ in their device types and their shares "
        "of the batch (replicas=..), not in TP, PP, mbs or cuts");
}
