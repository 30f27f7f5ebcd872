#include "cli/parts/manager_of_job.h"

#include <chrono>
#include <filesystem>

#include "cli/io/files.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "manager/port/http_client.h"
#include "manager/port/open_port.h"
#include "manager/run_folder.h"

namespace penstock {

void ManagerOptions::declare(Options& options) {
  options.option("--manager", "HOST:PORT",
                 "address of the manager; default: the one that it wrote into the job's run folder",
                 manager);
  options.option("--key", "FILE",
                 "the manager's key, or a copy of that file; default: the job's token_file, or "
                 "token in the run folder",
                 key);
}

JobFile load_job(const std::string& path) { return read_job_file(load_job_file(path).value, path); }

std::optional<std::string> manager_address(const JobFile& job, const ManagerOptions& given) {
  if (given.manager) return given.manager;
  const std::string path = address_path(job.run_folder);
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::string text = read_file(path);
  return text.substr(0, text.find('\n'));
}

ManagerLine line_to_manager(const JobFile& job, const ManagerOptions& given) {
  const auto address = manager_address(job, given);
  if (!address) {
    throw Error(ErrorKind::kMissingResource,
                job.run_folder + ": no manager of '" + job.name +
                    "' has run here yet\nhelp: start one with penstock manage, or give its address "
                    "with --manager HOST:PORT");
  }
  const std::string source = given.manager ? "--manager" : address_path(job.run_folder);
  return {http_exchange(parse_http_address(source, *address)),
          read_port_key(given.key.value_or(token_path(job))), job.name};
}

UtcTime utc_now() {
  return UtcTime{
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())};
}

}  // namespace penstock
