#include "manager/job_file.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

constexpr const char* kSmallest =
    R"({"format": "penstock.job/1", "book": "book.json", "steps": 300,
 "train": ["--data", "corpus.txt"], "checkpoints": "ckpt", "run_folder": "run"})";

JobFile read(const std::string& text) {
  return read_job_file(parse_json(text, "a/b.json"), "a/b.json");
}

std::string wrong(const std::string& text) {
  return tests::message_of([&] { (void)read(text); });
}

std::string with(const std::string& more) {
  std::string text = kSmallest;
  text.pop_back();
  return text + ", " + more + "}";
}

TEST_CASE("the smallest job file, and what it leaves open") {
  const JobFile job = read(kSmallest);
  CHECK(job.name == "b");
  CHECK(job.ranks.kind == RankStarter::Kind::kLocal);
  CHECK(job.address == "127.0.0.1:0");
  CHECK(job.train == std::vector<std::string>{"--data", "corpus.txt"});
  CHECK(!job.checkpoint_every);
}

TEST_CASE("every key of a job file is read") {
  const JobFile job = read(with(
      R"("name": "x", "machine_file": "machines", "address": "", "token_file": "t",
 "ranks": {"kind": "command", "start": "ssh {host} {command}",
           "environment": {"A": "b"}},
 "notices": [{"provider": "aws", "machine": "m"}, {"provider": "azure", "base": "http://x"}],
 "assumptions": {"write_s": 1.5, "storage_bytes_per_s": 2e9, "restart_s": 5, "notice_s": 0},
 "checkpoint_every_s": 60, "watch_slow_ranks": false, "search": false,
 "limits": {"start_s": 1, "exit_s": 2, "silence_s": 3, "attempts": 4, "pause_s": 5,
            "longest_pause_s": 6})"));
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  JobFile expected;
  expected.name = "x";
  expected.book = "book.json";
  expected.steps = 300;
  expected.train = {"--data", "corpus.txt"};
  expected.checkpoints = "ckpt";
  expected.run_folder = "run";
  expected.machine_file = "machines";
  expected.ranks = {RankStarter::Kind::kCommand, "ssh {host} {command}", {{"A", "b"}}};
  expected.address = "";
  expected.token_file = "t";
  expected.notices = {{NoticeSource::Provider::kAws, "", "m"},
                      {NoticeSource::Provider::kAzure, "http://x", ""}};
  expected.write = milliseconds(1500);
  expected.storage_bytes_per_s = 2e9;
  expected.restart = seconds(5);
  expected.notice = seconds(0);
  expected.checkpoint_every = seconds(60);
  expected.watch_slow_ranks = false;
  expected.search = false;
  expected.limits = {seconds(1), seconds(2), seconds(3), 4, seconds(5), seconds(6)};
  CHECK(job == expected);
}

TEST_CASE("mistakes are named with their place") {
  CHECK(wrong(with(R"("book_": 1)")).find("book_") != std::string::npos);
  CHECK(wrong(with(R"("ranks": {"kind": "ssh"})")).find(R"("local" or "command")") !=
        std::string::npos);
  CHECK(wrong(with(R"("ranks": {"kind": "command", "start": "ssh {host}"})")).find("{command}") !=
        std::string::npos);
  CHECK(wrong(with(R"("notices": [{"provider": "aws"}])")).find("\"machine\" is missing") !=
        std::string::npos);
  const std::string steps = R"({"format": "penstock.job/1", "book": "b", "steps": 0})";
  CHECK(wrong(steps).find("a/b.json:1: /steps") == 0);
  const std::string given =
      R"({"format": "penstock.job/1", "book": "b", "steps": 1, "train": ["--resume"]})";
  CHECK(wrong(given).find("the manager gives --resume itself") != std::string::npos);
}

}  // namespace
}  // namespace penstock
