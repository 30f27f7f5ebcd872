// The store of a job that outlives the process which serves it. Every rank remembers what it has
// told the store; once that does not answer any more, the rank tells a folder that all ranks see,
// all of it, and goes on there. So the survivors of a lost rank still agree on the last finished
// step when the store went with that rank, its launcher or its machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "training/key_value_store.h"

namespace penstock {

// Values as files of a folder that is made with the first; each has its name once it is complete.
// TransportFailure when the folder cannot be used.
class FolderStore : public KeyValueStore {
 public:
  explicit FolderStore(std::string path) : path_(std::move(path)) {}
  void set(const std::string& key, const std::string& value) override;
  [[nodiscard]] std::optional<std::string> get(const std::string& key) override;

 private:
  [[nodiscard]] std::string file_of(const std::string& key) const;
  std::string path_;
};

// One per rank. Its clients may be used by different threads, each by one at a time.
class LastingStore {
 public:
  // `folder`: this job's, the same for all ranks; empty: there is none, and what fails fails.
  explicit LastingStore(const std::string& folder);
  // Goes through `store` as long as that answers. May outlive this object.
  std::unique_ptr<KeyValueStore> client(std::unique_ptr<KeyValueStore> store);
  [[nodiscard]] bool has_moved() const;  // to the folder

 private:
  struct Told;
  class Client;
  std::shared_ptr<Told> told_;
};

// Where the survivors of an attempt meet, in the folder of its checkpoints.
std::string survivors_folder(const std::string& checkpoints, const std::string& attempt);
// Those of other attempts, which are of no use any more, are removed.
void remove_other_survivors_folders(const std::string& checkpoints, const std::string& attempt);
// Of the newest attempt that needed one, for who does not know which attempt runs.
std::optional<std::string> newest_survivors_folder(const std::string& checkpoints);

}  // namespace penstock
