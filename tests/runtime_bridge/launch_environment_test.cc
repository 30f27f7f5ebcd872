#include "runtime_bridge/launch_environment.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

using tests::message_of;

const Environment kTorchrun{{"RANK", "3"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"MASTER_ADDR", "gpu7"},
                            {"MASTER_PORT", "12345"}};

Environment with(Environment environment, const Environment& more) {
  for (const auto& entry : more) environment[entry.first] = entry.second;
  return environment;
}

TEST_CASE("without flags and variables there is one process and no launcher") {
  CHECK(!read_launch_environment({}));
  // What a login on a Slurm machine, or an export in a shell, leaves does not make a job.
  CHECK(!read_launch_environment({{"SLURM_JOB_ID", "7"}, {"MASTER_ADDR", "gpu7"}}));
}

TEST_CASE("torchrun's variables are read") {
  const auto found = read_launch_environment(kTorchrun);
  REQUIRE(found);
  CHECK(found->believed == "torchrun");
  CHECK(found->rank == 3);
  CHECK(found->ranks == 8);
  CHECK(found->local_rank == 1);
  CHECK(found->host == "gpu7");
  CHECK(found->port == 12345);
  CHECK(found->key_prefix == "/worker/attempt_0");
  CHECK(!found->serves_store);
  CHECK(found->ignored.empty());
}

TEST_CASE("rank 0 serves the store unless torchrun's agent does") {
  const Environment rank0 = with(kTorchrun, {{"RANK", "0"}});
  CHECK(read_launch_environment(rank0)->serves_store);
  CHECK(read_launch_environment(kTorchrun)->store_rank == 0);  // as rank 3 sees it
  const auto under_agent = read_launch_environment(
      with(rank0, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}));
  CHECK(!under_agent->serves_store);
  CHECK(!under_agent->store_rank);
  CHECK(under_agent->key_prefix == "/worker/attempt_2");
}

TEST_CASE("a job's token is part of what its keys begin with") {
  const auto found = read_launch_environment(with(kTorchrun, {{"PENSTOCK_JOB_TOKEN", "a1b2"}}));
  CHECK(found->key_prefix == "/a1b2/worker/attempt_0");
}

TEST_CASE("the network interface and the processors of the job are read") {
  CHECK(read_launch_environment(kTorchrun)->network_interface == "");
  CHECK(!read_launch_environment(kTorchrun)->processors);
  const auto found = read_launch_environment(
      with(kTorchrun, {{"GLOO_SOCKET_IFNAME", "eth1,eth2"}, {"PENSTOCK_PROCESSORS", "0,12,3"}}));
  CHECK(found->network_interface == "eth1");
  CHECK(found->processors == std::vector<int>{0, 12, 3});
  const auto none = read_launch_environment(with(kTorchrun, {{"PENSTOCK_PROCESSORS", ""}}));
  CHECK(none->processors == std::vector<int>{});
  CHECK_THROWS_AS((void)read_launch_environment(with(kTorchrun, {{"PENSTOCK_PROCESSORS", "0;1"}})),
                  Error);
}

TEST_CASE("flags that mean nothing without a rank are refused") {
  LaunchFlags local;
  local.local_rank = 1;
  CHECK(message_of([&] { (void)read_launch_environment({}, local); }) ==
        "--local-rank was given, but which rank this is is missing: set it, or give --rank");
  LaunchFlags master;
  master.master = "gpu7:4000";
  CHECK(message_of([&] {
          (void)read_launch_environment({}, master);
        }).starts_with("--master was given, but "));
  CHECK(read_launch_environment(kTorchrun, master)->host == "gpu7");
}

TEST_CASE("the ranks of our launcher read what it wrote for them") {
  const auto found =
      read_launch_environment(environment_of_rank({{"HOME", "/root"}}, {2, 4, 0, 2, "gpu7", 4001}));
  REQUIRE(found);
  CHECK(found->rank == 2);
  CHECK(found->ranks == 4);
  CHECK(found->local_rank == 0);
  CHECK(found->host == "gpu7");
  CHECK(found->port == 4001);
  CHECK(!found->serves_store);
}

TEST_CASE("a rank of our launcher computes with one thread unless told otherwise") {
  CHECK(environment_of_rank({}, {}).at("OMP_NUM_THREADS") == "1");
  CHECK(environment_of_rank({{"OMP_NUM_THREADS", "4"}}, {}).at("OMP_NUM_THREADS") == "4");
  CHECK(environment_of_rank({}, {}).at("OPENBLAS_NUM_THREADS") == "1");
}

TEST_CASE("Open MPI says no address: it comes from a flag or from MASTER_ADDR") {
  const Environment mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};
  CHECK(
      message_of([&] { (void)read_launch_environment(mpi); }) ==
      "Open MPI started this (OMPI_COMM_WORLD_RANK=1), but the address of rank 0 (MASTER_ADDR) is "
      "missing: set it, or give --master HOST:PORT");
  LaunchFlags flags;
  flags.master = "gpu7:4000";
  const auto found = read_launch_environment(mpi, flags);
  CHECK(found->believed == "Open MPI");
  CHECK(found->host == "gpu7");
  CHECK(found->port == 4000);
  flags.master = "gpu7";
  CHECK(read_launch_environment(mpi, flags)->port == 29500);
}

TEST_CASE("Slurm's first host serves, on a port that follows from the job's number") {
  const Environment slurm{{"SLURM_PROCID", "0"},
                          {"SLURM_NTASKS", "16"},
                          {"SLURM_LOCALID", "0"},
                          {"SLURM_JOB_NODELIST", "gpu[03-05,09],login1"},
                          {"SLURM_JOB_ID", "1234567"}};
  const auto found = read_launch_environment(slurm);
  CHECK(found->believed == "Slurm");
  CHECK(found->host == "gpu03");
  CHECK(found->port == 20000 + 1234567 % 20000);  // 34567
  CHECK(found->port == 34567);
  CHECK(found->serves_store);
}

TEST_CASE("a job that Slurm has put back into its queue is another attempt") {
  const Environment slurm{{"SLURM_PROCID", "1"},
                          {"SLURM_NTASKS", "2"},
                          {"SLURM_JOB_ID", "7"},
                          {"SLURM_JOB_NODELIST", "gpu[3-4]"}};
  // Absent at first.
  CHECK(read_launch_environment(slurm)->key_prefix == "/worker/attempt_0");
  CHECK(read_launch_environment(with(slurm, {{"SLURM_RESTART_COUNT", "2"}}))->key_prefix ==
        "/worker/attempt_2");
  // torchrun counts its own.
  CHECK(read_launch_environment(
            with(kTorchrun, {{"SLURM_RESTART_COUNT", "2"}, {"TORCHELASTIC_RESTART_COUNT", "5"}}))
            ->key_prefix == "/worker/attempt_5");
}

TEST_CASE("the first host of a Slurm list") {
  CHECK(first_host("gpu7") == "gpu7");
  CHECK(first_host("gpu7,gpu8") == "gpu7");
  CHECK(first_host("gpu[3,5-7]") == "gpu3");
  CHECK(first_host("rack[2-3]node[08-09]-ib,x") == "rack2node08-ib");
  CHECK(message_of([] { (void)first_host("gpu[3"); }) == "SLURM_JOB_NODELIST: no ']' in 'gpu[3'");
}

TEST_CASE("torchrun within Slurm is believed, and Slurm named as ignored") {
  const auto found =
      read_launch_environment(with(kTorchrun, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}));
  CHECK(found->rank == 3);
  CHECK(found->ignored == std::vector<std::string>{"Slurm"});
}

TEST_CASE("flags win, each for itself") {
  LaunchFlags flags;
  flags.rank = 5;
  const auto found = read_launch_environment(kTorchrun, flags);
  CHECK(found->believed == "the flags");
  CHECK(found->rank == 5);
  CHECK(found->ranks == 8);
  CHECK(found->host == "gpu7");
  flags.ranks = 6;
  flags.master = "a:1";
  CHECK(read_launch_environment(kTorchrun, flags)->ranks == 6);
  CHECK(read_launch_environment(kTorchrun, flags)->host == "a");
  const auto alone = read_launch_environment({}, flags);
  CHECK(alone->rank == 5);
  CHECK(!alone->serves_store);
}

TEST_CASE("what is missing or contradictory is said with its remedy") {
  const auto of = [](const Environment& environment, const LaunchFlags& flags = {}) {
    return message_of([&] { (void)read_launch_environment(environment, flags); });
  };
  CHECK(of({{"WORLD_SIZE", "2"}}) ==
        "WORLD_SIZE is set, but RANK is missing: set it, or give --rank");
  CHECK(of({{"RANK", "0"}}) ==
        "torchrun started this (RANK=0), but WORLD_SIZE is missing: set it, or give --ranks");
  CHECK(of({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}}) ==
        "torchrun started this (RANK=2): rank 2 of 2: ranks count from 0; see --rank and --ranks");
  CHECK(of({{"RANK", "one"}, {"WORLD_SIZE", "2"}}) ==
        "RANK: expected an integer from 0 to 1048576, got 'one'");
  LaunchFlags only_ranks;
  only_ranks.ranks = 2;
  CHECK(of({}, only_ranks) ==
        "--ranks was given, but which rank this is is missing: set it, or give --rank");
  LaunchFlags bad_port;
  bad_port.rank = 0;
  bad_port.ranks = 2;
  bad_port.master = "h:99999";
  CHECK(of({}, bad_port) ==
        "the port of --master: expected an integer from 1 to 65535, got '99999'");
}

}  // namespace
}  // namespace penstock
