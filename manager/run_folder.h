// Where the files of a managed job lie, under JobFile::run_folder.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// The plan file (penstock.plan/2) of a page (plan_page.h); written before ranks start.
inline std::string plan_path(const std::string& run_folder, int page) {
  return run_folder + "/plans/" + std::to_string(page) + ".json";
}
// penstock.run/1 of a generation, written by its rank 0.
inline std::string run_log_path(const std::string& run_folder, std::int64_t generation) {
  return run_folder + "/generations/" + std::to_string(generation) + "/run.jsonl";
}
// penstock.slow/1 of a generation, written by its rank 0.
inline std::string slow_ranks_path(const std::string& run_folder, std::int64_t generation) {
  return run_folder + "/generations/" + std::to_string(generation) + "/slow.json";
}
// Of one generation: logs, process ids, exit codes.
inline std::string generation_folder(const std::string& run_folder, std::int64_t generation) {
  return run_folder + "/generations/" + std::to_string(generation);
}
inline std::string state_path(const std::string& run_folder) { return run_folder + "/state.db"; }
inline std::string decisions_path(const std::string& run_folder) {
  return run_folder + "/decisions.jsonl";
}
// One line: the address at which the port listens.
inline std::string address_path(const std::string& run_folder) { return run_folder + "/address"; }

}  // namespace penstock
