#include "manager/job_file.h"

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr const char* kSmallest =
    R"({"format": "penstock.job/1", "book": "book.json", "steps": 300,
 "train": ["--data", "corpus.txt"], "checkpoints": "ckpt", "run_folder": "run"})";

JobFile read(const std::string& text) {
  return read_job_file(parse_json(text, "a/b.json"), "a/b.json");
}

std::string wrong(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
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

TEST_CASE("a whole job file survives being written and read") {
  const JobFile job = read(with(
      R"("name": "x", "machine_file": "machines", "address": "", "token_file": "t",
 "ranks": {"kind": "command", "start": "ssh {host} {command}",
           "environment": {"A": "b"}},
 "notices": [{"provider": "aws", "machine": "m"}, {"provider": "azure", "base": "http://x"}],
 "assumptions": {"write_s": 1.5, "storage_bytes_per_s": 2e9, "restart_s": 5, "notice_s": 0},
 "checkpoint_every_s": 60,
 "limits": {"start_s": 1, "exit_s": 2, "silence_s": 3, "attempts": 4, "pause_s": 5,
            "longest_pause_s": 6})"));
  CHECK(job.write == std::chrono::milliseconds(1500));
  CHECK(job.limits.attempts == 4);
  CHECK(job.notices[1].base == "http://x");
  CHECK(read_job_file(write_job_file(job), "w") == job);
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
