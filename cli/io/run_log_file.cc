#include "cli/io/run_log_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(ErrorKind::kMissingResource, path + ": cannot be written: " + std::strerror(errno) +
                                               "\nhelp: name another file with --log");
}

// What an earlier run says of the steps before this one begins.
RunLog kept_of(const std::string& path, const RunHeader& header) {
  if (header.first_step == 0 || !std::filesystem::exists(path)) return {};
  RunLog log = read_run_log(read_file(path), path);
  std::erase_if(log.steps,
                [&](const MeasuredStep& step) { return step.step >= header.first_step; });
  return log;
}

}  // namespace

RunLogFile::RunLogFile(const std::string& path, const RunHeader& header) : path_(path) {
  const RunLog kept = kept_of(path, header);
  file_.reset(std::fopen(path.c_str(), "w"));
  if (!file_) cannot_write(path_);
  RunHeader first = kept.steps.empty() ? header : kept.header;
  first.ranks = std::max(first.ranks, header.ranks);  // a later plan may have more
  write_line(write_run_header(first));
  for (const MeasuredStep& step : kept.steps) add(step);
  if (first.plan_hash == header.plan_hash) return;
  plan_ = header.plan;
  plan_hash_ = header.plan_hash;
}

void RunLogFile::add(const MeasuredStep& step) {
  last_step_ = step.step;
  if (plan_hash_.empty() || !step.plan_hash.empty()) return write_line(write_measured_step(step));
  MeasuredStep named = step;
  named.plan = plan_;
  named.plan_hash = plan_hash_;
  write_line(write_measured_step(named));
}

void RunLogFile::write_line(const std::string& line) {
  const bool written = std::fputs((line + '\n').c_str(), file_.get()) >= 0;
  if (!written || std::fflush(file_.get()) != 0) cannot_write(path_);
}

}  // namespace penstock
