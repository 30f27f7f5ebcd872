// Three things make a folder with a manifest complete: every file is synced before its name appears
// in a list, lists appear by rename, and rank 0 renames the folder only when all lists are there
// and the manifest could be read back. A crash at any point leaves a folder that ends in .partial,
// which the next checkpoint removes. Two attempts of one job never share a folder, because the
// attempt's name is agreed upon in the job's store.
#include "runtime_bridge/checkpoint_writer.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/checkpoint_disk.h"
#include "training/steady_time.h"
#include "training/transport.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kMissingResource, path + ": " + what);
}

std::string list_name(int rank) { return "rank-" + std::to_string(rank) + ".json"; }
// In place of the list: why there is none.
std::string failed_name(int rank) { return "rank-" + std::to_string(rank) + ".failed"; }

// Gives `partial` the name `complete`. One of that name may be there, from before a restart from an
// older one; where the file system can, there is a complete one at every moment.
void put_in_place(const std::string& partial, const std::string& complete) {
  if (fs::exists(complete)) {
    if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, complete.c_str(), RENAME_EXCHANGE) == 0) {
      fs::remove_all(partial);
      return;
    }
    fs::remove_all(complete);
  }
  fs::rename(partial, complete);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(path, "cannot be made: " + error.message());
}

std::vector<fs::path> folders_in(const std::string& path) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory()) folders.push_back(entry->path());
  }
  return folders;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return "step-" + std::to_string(step); }

std::optional<std::int64_t> step_of_name(const std::string& name) {
  constexpr std::string_view kStart = "step-";
  if (!name.starts_with(kStart)) return std::nullopt;
  std::int64_t step = 0;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + kStart.size(), last, step);
  if (error != std::errc() || end != last || step < 0 || name != checkpoint_name(step)) {
    return std::nullopt;
  }
  return step;
}

std::string agree_on_attempt(KeyValueStore& store, int rank, Duration limit) {
  const std::string key = "checkpoint_attempt";
  if (rank == 0) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    store.set(key, std::to_string(std::chrono::duration_cast<Duration>(now).count()));
  }
  const SteadyTime deadline = steady_now() + limit;
  for (;;) {
    if (auto attempt = store.get(key)) return *attempt;
    if (steady_now() > deadline) {
      throw TransportFailure(0, "rank 0 has not said how checkpoints are to be named");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

CheckpointWriter::CheckpointWriter(CheckpointOptions options) : options_(std::move(options)) {
  if (options_.attempt.find('/') != std::string::npos) {
    throw Error(ErrorKind::kInternal, "an attempt's name is part of a file's: " + options_.attempt);
  }
}

CheckpointWriter::~CheckpointWriter() {
  has_failed_ = true;
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::begin(const CheckpointInfo& info, const std::vector<SectionState>& states,
                             const BufferCopy& copy) {
  finish();
  const SteadyTime began = steady_now();
  std::vector<SnapshotFile> files = take_snapshot(states, copy);
  costs_.stall = steady_now() - began;
  begin_thread(info, began, std::move(files));
}

void CheckpointWriter::begin(const CheckpointInfo& info, std::vector<SnapshotFile> files) {
  finish();
  costs_.stall = Duration{};
  begin_thread(info, steady_now(), std::move(files));
}

void CheckpointWriter::begin_thread(const CheckpointInfo& info, SteadyTime began,
                                    std::vector<SnapshotFile> files) {
  ended_ = false;
  thread_ = std::thread([this, info, began, files = std::move(files)] {
    try {
      write(info, files);
      costs_.write = steady_now() - began;
    } catch (...) {
      failure_ = std::current_exception();
    }
    ended_ = true;
  });
}

void CheckpointWriter::finish() {
  if (!thread_.joinable()) return;
  thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  cost_ = costs_;
}

void CheckpointWriter::give_up() {
  gives_up_ = true;
  if (thread_.joinable()) thread_.join();
  failure_ = nullptr;
}

void CheckpointWriter::write(const CheckpointInfo& info,
                             const std::vector<SnapshotFile>& files) const {
  const std::string partial = options_.folder + "/" + checkpoint_name(info.step) + "." +
                              options_.attempt + std::string(kPartial);
  try {
    write_part(partial, files);
    if (options_.rank == 0) complete(info, partial);
  } catch (const std::exception& error) {
    say_failed(partial, files, error.what());
    throw;
  }
}

void CheckpointWriter::write_part(const std::string& partial,
                                  const std::vector<SnapshotFile>& files) const {
  make_folder(partial);
  std::vector<CheckpointFile> list;
  list.reserve(files.size());
  for (const SnapshotFile& file : files) list.push_back(write_snapshot_file(partial, file));
  // Renamed, so that rank 0 never reads half of it.
  const std::string path = partial + "/" + list_name(options_.rank);
  write_synced(path + ".tmp", to_text(write_checkpoint_files(list)) + "\n");
  fs::rename(path + ".tmp", path);
}

// Room first, since the disk may be full: on rank 0, which speaks for all, the whole checkpoint.
void CheckpointWriter::say_failed(const std::string& partial,
                                  const std::vector<SnapshotFile>& files,
                                  const std::string& why) const {
  std::error_code ignored;
  if (options_.rank == 0) {
    fs::remove_all(partial, ignored);
    return;
  }
  const std::string path = partial + "/" + failed_name(options_.rank);
  for (const SnapshotFile& file : files) fs::remove(partial + "/" + file.name, ignored);
  std::ofstream(path + ".tmp") << why;
  fs::rename(path + ".tmp", path, ignored);
}

std::vector<CheckpointFile> CheckpointWriter::wait_for_lists(const std::string& partial) const {
  SteadyTime deadline = steady_now() + options_.limit;
  bool had_failed = false;
  std::vector<CheckpointFile> all;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const std::string path = partial + "/" + list_name(rank);
    while (!fs::exists(path)) {
      if (fs::exists(partial + "/" + failed_name(rank))) {
        fail(path, "rank " + std::to_string(rank) + " could not write its part: " +
                       read_file(partial + "/" + failed_name(rank)));
      }
      if (!had_failed && has_failed_) {
        had_failed = true;
        deadline = std::min(deadline, steady_now() + options_.limit_after_failure);
      }
      if (options_.works && !options_.works(rank) && !fs::exists(path)) {
        fail(path, "rank " + std::to_string(rank) + " was lost before it had written its part");
      }
      if (gives_up_) deadline = SteadyTime{};
      if (steady_now() > deadline) {
        fail(path, "rank " + std::to_string(rank) +
                       " has not written its part of the checkpoint: see what it printed, and that "
                       "all ranks see the same folder");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const auto files = read_checkpoint_files(parse_json(read_file(path), path), path);
    all.insert(all.end(), files.begin(), files.end());
  }
  std::ranges::sort(all, {}, [](const CheckpointFile& file) {
    return std::pair(std::pair(file.section, file.kind), file.name);
  });
  return all;
}

void CheckpointWriter::complete(const CheckpointInfo& info, const std::string& partial) const {
  const CheckpointManifest manifest{info, wait_for_lists(partial)};
  const std::string text = to_text(write_manifest(manifest)) + "\n";
  const std::string path = partial + "/manifest.json";
  (void)read_manifest(parse_json(text, path), path);  // one that could not be read is no checkpoint
  write_synced(path, text);
  for (int rank = 0; rank < options_.ranks; ++rank) fs::remove(partial + "/" + list_name(rank));
  sync_folder(partial);
  put_in_place(partial, options_.folder + "/" + checkpoint_name(info.step));
  sync_folder(options_.folder);
  remove_old(info.step);
}

// What an attempt that was cut off has left, or a checkpoint of ours that has failed. Not what
// other ranks of this attempt may be writing now: an emergency checkpoint has another attempt's
// name that begins with ours.
bool CheckpointWriter::is_left_over(const std::string& name, std::int64_t newest) const {
  if (!name.starts_with("step-") || !name.ends_with(kPartial)) return false;
  const std::size_t dot = name.find('.');
  const std::string attempt = name.substr(dot + 1, name.size() - kPartial.size() - dot - 1);
  if (!attempt.starts_with(options_.attempt)) return true;
  const auto step = step_of_name(name.substr(0, dot));
  return attempt == options_.attempt && step && *step <= newest;
}

void CheckpointWriter::remove_old(std::int64_t newest) const {
  std::vector<std::int64_t> steps;
  for (const fs::path& folder : folders_in(options_.folder)) {
    const std::string name = folder.filename();
    const auto step = step_of_name(name);
    if (step && *step <= newest && fs::exists(folder / "manifest.json")) steps.push_back(*step);
    if (is_left_over(name, newest)) fs::remove_all(folder);
  }
  std::ranges::sort(steps, std::greater<>());
  for (std::size_t i = static_cast<std::size_t>(options_.keep); i < steps.size(); ++i) {
    fs::remove_all(options_.folder + "/" + checkpoint_name(steps[i]));
  }
}

}  // namespace penstock
