// Files in the folder are complete from the moment when they have their name, and each has one
// writer: store.json the launcher of rank 0, ranks-FIRST-LAST.json the launcher of these ranks,
// given_up whoever started them. So nobody locks, and whoever is restarted reads where things are.
#include "runtime_bridge/meeting_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "core/values/error.h"
#include "core/values/json_fields.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();
constexpr std::string_view kRanksPrefix = "ranks-", kRanksSuffix = ".json";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kMissingResource, path + ": " + what);
}

// As write_file(), for a file that only its owner may read.
void write_private(const std::string& path, std::string_view text) {
  const std::string unfinished = path + ".tmp";
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string why = std::strerror(errno);
  if (file >= 0) close(file);
  if (!written) fail(path, "cannot be written: " + why);
  std::filesystem::rename(unfinished, path);
}

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, RankEnd>& end) {
  fields("rank", end.rank);
  fields("process", end.process, 1, kMost);
  fields("exit_code", end.exit_code, -1, 255);
  fields("signal", end.signal, 0, 255);
  fields("ended_by_launcher", end.ended_by_us);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, LaunchedRanks::Running>& running) {
  fields("rank", running.rank);
  fields("process", running.process, 1, kMost);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, LaunchedRanks>& ranks) {
  fields("running", ranks.running);
  fields("ended", ranks.ends);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, HostedStore>& store) {
  fields("host", store.host);
  fields("port", store.port, 1, 65535);
  fields("token", store.token);
}

namespace {

template <class Value>
Value read_from(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  return read_json<Value>(JsonReader(json, path));
}

}  // namespace

std::string to_text(const RanksHere& ranks) {
  const std::string first = std::to_string(ranks.first);
  return ranks.count == 1 ? first : first + "-" + std::to_string(ranks.first + ranks.count - 1);
}

void MeetingFolder::say_where(const HostedStore& store) const {
  write_private(store_file(), to_text(json_of(store)) + "\n");
}

std::optional<HostedStore> MeetingFolder::wait_for_store(
    Duration limit, const std::function<bool()>& is_stopped) const {
  const std::string path = store_file();
  const SteadyTime deadline = steady_now() + limit;
  while (!std::filesystem::exists(path)) {
    if (is_stopped()) return std::nullopt;
    if (is_given_up()) fail(path_, "this start was given up before it began");
    if (steady_now() > deadline) {
      fail(path,
           "the launcher with rank 0 has not said where the ranks meet\nhelp: see what it printed, "
           "and that all machines see the same folder");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return read_from<HostedStore>(path);
}

void MeetingFolder::say_ranks(const RanksHere& which, const LaunchedRanks& ranks) const {
  write_file(ranks_file(which), to_text(json_of(ranks)) + "\n");
}

std::optional<LaunchedRanks> MeetingFolder::read_ranks(const RanksHere& which) const {
  const std::string path = ranks_file(which);
  if (!std::filesystem::exists(path)) return std::nullopt;
  return read_from<LaunchedRanks>(path);
}

int MeetingFolder::ended_ranks() const {
  std::size_t ended = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(kRanksPrefix) && name.ends_with(kRanksSuffix)) {
      ended += read_from<LaunchedRanks>(entry->path()).ends.size();
    }
  }
  return static_cast<int>(ended);
}

void MeetingFolder::give_up() const { write_private(given_up_file(), "\n"); }

bool MeetingFolder::is_given_up() const {
  std::error_code error;
  return std::filesystem::exists(given_up_file(), error);
}

}  // namespace penstock
