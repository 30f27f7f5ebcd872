// What must hold: whoever reads a value of a rank in the folder finds all that the rank had told
// before, in the same order, since others conclude from a later value (a heartbeat that says that
// the rank saw a failure) that an earlier one (where it stands) is there or never comes. So all
// clients of a rank move together, and what was told is told again before anything new.
//
// Ranks move one by one, each when its own next call fails. Until then the others take one that has
// moved for silent, which is why everybody's heartbeat calls the store once a second. Where only
// the way of one rank to the store is cut, it moves alone; then there are two groups that do not
// see each other, neither of which has all ranks of its decision (survivors.cc).
#include "runtime_bridge/lasting_store.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "training/transport.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "survivors.";

std::vector<std::string> survivors_folders(const std::string& checkpoints) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(kPrefix)) names.push_back(name);
  }
  return names;
}

}  // namespace

void FolderStore::set(const std::string& key, const std::string& value) {
  std::error_code error;
  fs::create_directories(path_, error);
  try {
    write_file(file_of(key), value);
  } catch (const Error& failure) {
    throw TransportFailure(std::nullopt, failure.what());
  }
}

std::optional<std::string> FolderStore::get(const std::string& key) {
  const std::string path = file_of(key);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    return read_file(path);
  } catch (const Error& failure) {
    throw TransportFailure(std::nullopt, failure.what());
  }
}

std::string FolderStore::file_of(const std::string& key) const {
  std::string name = key;
  std::ranges::replace(name, '/', '-');
  return path_ + "/" + name;
}

struct LastingStore::Told {
  explicit Told(const std::string& path) : has_folder(!path.empty()), folder(path) {}

  void remember(const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex);
    if (moved) return folder.set(key, value);
    std::erase_if(values, [&](const auto& each) { return each.first == key; });
    values.emplace_back(key, value);
  }
  std::optional<std::string> in_folder(const std::string& key) {
    const std::lock_guard lock(mutex);
    return folder.get(key);
  }
  void move() {
    const std::lock_guard lock(mutex);
    if (moved) return;
    for (const auto& [key, value] : values) folder.set(key, value);
    moved = true;
  }
  bool has_moved() {
    const std::lock_guard lock(mutex);
    return moved;
  }

  const bool has_folder;
  std::mutex mutex;  // guards what follows
  FolderStore folder;
  std::vector<std::pair<std::string, std::string>> values;  // each key once, the newest last
  bool moved = false;
};

class LastingStore::Client : public KeyValueStore {
 public:
  Client(std::shared_ptr<Told> told, std::unique_ptr<KeyValueStore> store)
      : told_(std::move(told)), store_(std::move(store)) {}

  void set(const std::string& key, const std::string& value) override {
    told_->remember(key, value);  // before the store is asked, which may take its time
    if (told_->has_moved()) return;
    try {
      store_->set(key, value);
    } catch (const TransportFailure&) {
      if (!told_->has_folder) throw;
      told_->move();
    }
  }

  [[nodiscard]] std::optional<std::string> get(const std::string& key) override {
    if (told_->has_moved()) return told_->in_folder(key);
    try {
      return store_->get(key);
    } catch (const TransportFailure&) {
      if (!told_->has_folder) throw;
      told_->move();
    }
    return told_->in_folder(key);
  }

 private:
  std::shared_ptr<Told> told_;
  std::unique_ptr<KeyValueStore> store_;
};

LastingStore::LastingStore(const std::string& folder) : told_(std::make_shared<Told>(folder)) {}

std::unique_ptr<KeyValueStore> LastingStore::client(std::unique_ptr<KeyValueStore> store) {
  return std::make_unique<Client>(told_, std::move(store));
}

bool LastingStore::has_moved() const { return told_->has_moved(); }

std::string survivors_folder(const std::string& checkpoints, const std::string& attempt) {
  return checkpoints + "/" + std::string(kPrefix) + attempt;
}

void remove_other_survivors_folders(const std::string& checkpoints, const std::string& attempt) {
  std::error_code ignored;
  for (const std::string& name : survivors_folders(checkpoints)) {
    if (name.substr(kPrefix.size()) != attempt)
      fs::remove_all(fs::path(checkpoints) / name, ignored);
  }
}

// An attempt is named by when it began, so that a longer or greater name is a newer one.
std::optional<std::string> newest_survivors_folder(const std::string& checkpoints) {
  std::string newest;
  for (const std::string& name : survivors_folders(checkpoints)) {
    if (std::pair(newest.size(), newest) < std::pair(name.size(), name)) newest = name;
  }
  if (newest.empty()) return std::nullopt;
  return checkpoints + "/" + newest;
}

}  // namespace penstock
