// penstock.job/1: one job that `penstock manage` keeps running. docs/file_formats.md describes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"

namespace penstock {

// How ranks come to life.
struct RankStarter {
  enum class Kind { kLocal, kCommand };
  Kind kind = Kind::kLocal;  // kLocal: forked here, whatever the machines are called
  // Of kCommand: how a command is run on a machine, as "ssh -o BatchMode=yes {host} {command}"
  // (manager/hosts/command_template.h). Everything goes that way: starts, questions, signals.
  std::string start;
  std::map<std::string, std::string> environment;  // added for every rank
  bool operator==(const RankStarter&) const = default;
};

// Who announces that machines go.
struct NoticeSource {
  enum class Provider { kAws, kGcp, kAzure };
  Provider provider = Provider::kAws;
  std::string base;     // address; empty: the provider's own
  std::string machine;  // which the notices of AWS and Google are about
  bool operator==(const NoticeSource&) const = default;
};

struct JobLimits {
  // Until all ranks have met; doubles with each start in a row that took longer, up to 8 times.
  Duration start = std::chrono::minutes(10);
  Duration exit = std::chrono::seconds(60);  // for ranks to end after one has failed, or was told
  // Without a step, besides ten times the predicted one; 0: for ever.
  Duration silence = std::chrono::minutes(10);
  int attempts = 5;                          // without a new checkpoint, then the job has failed
  Duration pause = std::chrono::seconds(5);  // after the second in a row; doubles each time
  Duration longest_pause = std::chrono::minutes(5);
  bool operator==(const JobLimits&) const = default;
};

struct JobFile {
  std::string name;                // in tables and logs; default: the file's name
  std::string book;                // path of a penstock.book/1
  std::int64_t steps = 0;          // the run ends after so many
  std::vector<std::string> train;  // more arguments of `penstock train`, as "--data", "corpus.txt"
  std::string checkpoints;         // folder
  std::string run_folder;          // of the manager: state, logs, address
  std::string machine_file;        // watched; empty: machines join by command
  RankStarter ranks;
  std::string address = "127.0.0.1:0";  // of HTTP; empty: no port is opened
  std::string token_file;               // empty: run_folder/token, made when it is not there
  std::vector<NoticeSource> notices;
  // Assumptions, until they are measured.
  std::optional<Duration> write;  // of a checkpoint; none: its bytes / storage
  double storage_bytes_per_s = 1e9;
  Duration restart = std::chrono::seconds(30);  // until the first new step
  Duration notice = std::chrono::seconds(30);   // 0: losses are never announced
  std::optional<Duration> checkpoint_every;     // none: Daly's rule; 0: only when asked
  // Ranks are told to look for slow ones among them; on a GPU they then wait for every action.
  bool watch_slow_ranks = true;
  // A plan is searched for a number of GPUs that the book has no page for.
  bool search = true;
  JobLimits limits;
  bool operator==(const JobFile&) const = default;
};

// Relative paths stay as they are written: they count from where `manage` is called.
// Error{kBadInput} for everything malformed.
JobFile read_job_file(const Json& json, const std::string& file);

}  // namespace penstock
