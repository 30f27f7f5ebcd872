#include "runtime_bridge/plan_job.h"

#include <string>

#include <doctest/doctest.h>

#include "runtime_bridge/plan_store_address.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

PlanJob job() {
  PlanJob job;
  job.run = "pid 1 on host a";
  job.tool_version = "0.1.0";
  job.layout = "fnv1a64:1";
  job.profile = "fnv1a64:2";
  job.cluster = "fnv1a64:3";
  job.documents = "xxh64:4";
  job.tokens_per_batch = 4096;
  job.seed = 0xFFFF'FFFF'FFFF'FFFF;
  job.longest = 512;
  job.schedules = {"1f1b", "cyclic"};
  job.end_step = 100;
  return job;
}

TEST_CASE("what a job and a planner say is read as it was written") {
  PlanJob one = job();
  one.first_step = 7;
  one.first_taken = 70;
  one.wanted = 9;
  one.ended = true;
  CHECK(read_plan_job(write_plan_job(one), "job") == one);
  const PlannerSign sign{"pid 2 on host b", "pid 1 on host a", 12, "it \"failed\"\n"};
  CHECK(read_planner_sign(write_planner_sign(sign), "planner") == sign);
  CHECK(tests::refusal_of([] { (void)read_plan_job("{}", "job"); }).starts_with("job:"));
  CHECK(tests::refusal_of([] { (void)read_planner_sign("[", "planner"); }).starts_with("planner:"));
}

TEST_CASE("a job's fingerprint is of what decides its plans, and not of where it is") {
  const std::uint64_t one = fingerprint_of(job());
  PlanJob later = job();
  later.run = "another";
  later.first_step = later.wanted = 50;
  later.first_taken = 700;
  later.end_step = 1000;
  CHECK(fingerprint_of(later) == one);
  PlanJob other = job();
  other.seed = 1;
  CHECK(fingerprint_of(other) != one);
  other = job();
  other.documents = "xxh64:5";
  CHECK(fingerprint_of(other) != one);
  other = job();
  other.pad_to = 16;
  CHECK(fingerprint_of(other) != one);
}

TEST_CASE("a planner with other files is told which") {
  CHECK(tests::refusal_of([] { require_same_files(job(), job()); }) == "");
  PlanJob other = job();
  other.documents = "xxh64:5";
  CHECK(tests::refusal_of([&] { require_same_files(job(), other); })
            .starts_with("the planner has another set of documents than the job: xxh64:5, and the "
                         "job xxh64:4\nhelp: "));
  other = job();
  other.layout = "fnv1a64:9";
  CHECK(tests::refusal_of([&] {
          require_same_files(job(), other);
        }).starts_with("the planner has another plan, which gives model and layout, than"));
}

TEST_CASE("a job's name is plain") {
  CHECK(tests::refusal_of([] { require_job_name("--job", "gpt-7_b.2"); }) == "");
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a:b"),
                                  std::string(65, 'a'), std::string("a\n")}) {
    CHECK(tests::refusal_of([&] { require_job_name("--job", name); }).starts_with("--job: '"));
  }
  CHECK(PlanKeys("j").plan(12) == "penstock:j:plan:12");
}

PlanStoreAddress read(const std::string& text) { return read_store_address("--store", text); }
std::string refusal(const std::string& text) {
  return tests::refusal_of([&] { (void)read(text); });
}

TEST_CASE("an address of a store is read part by part") {
  PlanStoreAddress address;
  address.host = "10.0.0.1";
  CHECK(read("redis://10.0.0.1") == address);
  CHECK(read("redis://10.0.0.1/") == address);
  CHECK(read("redis://10.0.0.1:6379/0") == address);
  address.port = 7;
  address.database = 3;
  address.tls = true;
  address.user = "planner";
  CHECK(read("rediss://planner@10.0.0.1:7/3") == address);
  CHECK(words_of(address) == "rediss://planner@10.0.0.1:7/3");
  CHECK(read("redis://[::1]:7").host == "::1");
  CHECK(words_of(read("redis://[::1]:7/2")) == "redis://[::1]:7/2");
}

TEST_CASE("an address with a password is refused, and the password not said again") {
  const std::string words = refusal("redis://planner:secret@host");
  CHECK(words.starts_with("--store: holds a password"));
  CHECK(words.find("secret") == std::string::npos);
  CHECK(refusal("redis://:secret@host").starts_with("--store: holds a password"));
}

TEST_CASE("what is no address says what would be one") {
  CHECK(refusal("10.0.0.1").starts_with("--store: expected redis://HOST"));
  CHECK(refusal("redis://").starts_with("--store: names no host"));
  CHECK(refusal("redis://host:0").starts_with("--store: '0' is no port"));
  CHECK(refusal("redis://host:65536").starts_with("--store: '65536' is no port"));
  CHECK(refusal("redis://host/x").starts_with("--store: 'x' is no database"));
  CHECK(refusal("redis://[::1").starts_with("--store: has no ]"));
  CHECK(refusal("redis://host?db=3").starts_with("--store: has options behind its '?'"));
  CHECK(refusal("redis://a@b@host").starts_with("--store: has two @"));
  CHECK(refusal("redis://[::1]x").starts_with("--store: has something behind its ]"));
}

}  // namespace
}  // namespace penstock
