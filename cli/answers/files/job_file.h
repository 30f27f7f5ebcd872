// The least files of jobs that verbs take, to be copied out of an answer or printed as an example.
#pragma once

namespace penstock {

// Of penstock manage, which prints it.
inline constexpr const char* kWriteJobFile = "penstock manage --example > job.json";
inline constexpr const char* kLeastJobFile =
    R"({"format": "penstock.job/1", "book": "book.json", "steps": 1000, )"
    R"("train": ["--data", "corpus.txt"], "checkpoints": "checkpoints", "run_folder": "run", )"
    R"("machine_file": "machines.txt"})";
inline constexpr const char* kMachineLines = "machines.txt has a line HOST GPUS for each machine";
// Of penstock multi.
inline constexpr const char* kLeastJobsFile =
    R"({"format": "penstock.jobs/1", "jobs": [{"name": "job-1", "model": "config.json", )"
    R"("global_batch": 512, "steps": 1000}]})";

}  // namespace penstock
