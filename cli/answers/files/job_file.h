// The least job file that penstock manage takes, to be copied out of an answer.
#pragma once

namespace penstock {

inline constexpr const char* kLeastJobFile =
    R"({"format": "penstock.job/1", "book": "book.json", "steps": 1000, )"
    R"("train": ["--data", "corpus.txt"], "checkpoints": "checkpoints", "run_folder": "run", )"
    R"("machine_file": "machines.txt"}, where machines.txt has a line HOST GPUS for each machine)";

}  // namespace penstock
