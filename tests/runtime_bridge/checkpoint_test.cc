#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/checkpoint_writer.h"
#include "tests/core/messages.h"
#include "tests/runtime_bridge/fake_states.h"
#include "tests/runtime_bridge/memory_store.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using tests::FakeRank;
using tests::Layout;
using tests::message_of;

class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() / ("penstock_checkpoint_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::vector<std::string> names(const std::string& inside = "") const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_ / inside)) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  fs::path path_;
};

CheckpointInfo info_of(std::int64_t step) {
  CheckpointInfo info;
  info.step = step;
  info.model = "toy";
  info.sections = 4;
  info.plan_hash = "fnv1a64:0123456789abcdef";
  info.samples = step * 8;
  info.precision = Precision::kBFloat16;
  info.global_batch = 8;
  info.sequence_length = 12;
  info.data = {"corpus.txt", 4711, "xxh64:0123456789abcdef"};
  info.options.learning_rate = 3e-4;
  info.options.seed = 0xFFFF'FFFF'FFFF'FFFFU;
  info.shared_numbers = {{"optimizer_steps", 16.0}, {"loss_scale", 65536.0}};
  return info;
}

CheckpointOptions options_of(const Folder& folder, const Layout& layout, int rank) {
  CheckpointOptions options;
  options.folder = folder.path();
  options.rank = rank;
  options.ranks = layout.ranks();
  options.limit = std::chrono::seconds(20);
  return options;
}

// As all ranks together, the last one first.
void write(const Folder& folder, const Layout& layout, std::int64_t step) {
  std::vector<std::unique_ptr<CheckpointWriter>> writers;
  for (int rank = layout.ranks() - 1; rank >= 0; --rank) {
    writers.push_back(std::make_unique<CheckpointWriter>(options_of(folder, layout, rank)));
    FakeRank fake(layout, rank, true);
    writers.back()->begin(info_of(step), fake.states(), copy_in_host_memory());
    // What training does to them afterwards must not show.
    for (SectionState& state : fake.states()) state.parameters[0].buffer.data[0] = std::byte{1};
  }
  for (const auto& writer : writers) writer->finish();
}

// The sum of wrong elements over all ranks.
int wrong_after_loading(const Folder& folder, const Layout& layout) {
  const auto newest = newest_checkpoint(folder.path());
  REQUIRE(newest.checkpoint);
  int wrong = 0;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    FakeRank fake(layout, rank, false);
    load_checkpoint(*newest.checkpoint, "toy", fake.states(), copy_in_host_memory());
    wrong += fake.wrong_elements();
  }
  return wrong;
}

std::string loading_says(const std::string& path, const std::string& model = "toy",
                         FakeRank* rank = nullptr) {
  FakeRank whole({}, 0, false);
  return message_of([&] {
    load_checkpoint(open_checkpoint(path), model, (rank != nullptr ? *rank : whole).states(),
                    copy_in_host_memory());
  });
}

void flip_byte(const std::string& path, std::int64_t from_end) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(-from_end, std::ios::end);
  const int byte = file.get();
  file.seekp(-from_end, std::ios::end);
  file.put(static_cast<char>(byte ^ 1));
}

TEST_CASE("every layout reads what any other has written") {
  const std::vector<Layout> layouts{{1, 1, false}, {2, 2, false}, {4, 1, false}, {1, 4, false},
                                    {2, 2, true},  {1, 3, true},  {4, 2, true}};
  for (const Layout& written : layouts) {
    const Folder folder;
    write(folder, written, 17);
    for (const Layout& read : layouts) {
      CAPTURE(written.stages);
      CAPTURE(written.replicas);
      CAPTURE(written.zero1);
      CAPTURE(read.stages);
      CAPTURE(read.replicas);
      CAPTURE(read.zero1);
      CHECK(wrong_after_loading(folder, read) == 0);
    }
  }
}

TEST_CASE("a checkpoint is a folder of a file per section, kind and holder, and a manifest") {
  const Folder folder;
  write(folder, {2, 2, false}, 17);
  CHECK(folder.names() == std::vector<std::string>{"step-17"});
  // Tensor i of a section is written by holder i mod 2.
  const std::vector<std::string> names = folder.names("step-17");
  CHECK(names.size() == 4 * 2 * 2 + 1);
  CHECK(names[0] == "manifest.json");
  CHECK(names[1] == "section-0.optimizer-0-of-2.safetensors");
  CHECK(names[4] == "section-0.parameters-1-of-2.safetensors");
}

TEST_CASE("the manifest keeps step, position, options and the numbers of the optimizer") {
  const Folder folder;
  write(folder, {}, 17);
  const Checkpoint checkpoint = open_checkpoint(folder.path() + "/step-17");
  CHECK(checkpoint.manifest.info == info_of(17));
  CHECK(read_manifest(write_manifest(checkpoint.manifest), "x") == checkpoint.manifest);
}

TEST_CASE("a manifest that leaves a section out, or reaches elsewhere, is refused") {
  const Folder folder;
  write(folder, {}, 17);
  CheckpointManifest manifest = open_checkpoint(folder.path() + "/step-17").manifest;
  const auto says = [&manifest] {
    return message_of([&] { (void)read_manifest(write_manifest(manifest), "m.json"); });
  };
  manifest.files[0].name = "../x";
  CHECK(says() ==
        "m.json: /files/0/name: expected the name of a file in the same folder, got \"../x\"");
  manifest.files[0].name = "x";
  std::erase_if(manifest.files, [](const CheckpointFile& file) { return file.section == 2; });
  CHECK(says() == "m.json: no file holds the parameters of section 2");
}

TEST_CASE("the two newest stay, the ones before them and what was cut off go") {
  const Folder folder;
  fs::create_directories(folder.path() + "/step-9.other.partial");
  fs::create_directories(folder.path() + "/mine");
  for (const std::int64_t step : {8, 10, 12}) write(folder, {2, 1, false}, step);
  CHECK(folder.names() == std::vector<std::string>{"mine", "step-10", "step-12"});
  CHECK(newest_checkpoint(folder.path()).checkpoint->manifest.info.step == 12);
  // A restart from step 8 comes by step 10 again.
  write(folder, {1, 1, false}, 10);
  CHECK(folder.names("step-10").size() == 4 * 2 + 1);
}

TEST_CASE("what is not complete is passed over, with the reason") {
  const Folder folder;
  CHECK(!newest_checkpoint(folder.path()).checkpoint);
  CHECK(newest_checkpoint(folder.path()).passed_over.empty());
  write(folder, {}, 8);
  write(folder, {}, 10);
  const std::string file = folder.path() + "/step-10/section-1.parameters-0-of-1.safetensors";
  fs::resize_file(file, fs::file_size(file) - 1);
  fs::create_directories(folder.path() + "/step-12");
  const NewestCheckpoint newest = newest_checkpoint(folder.path());
  CHECK(newest.checkpoint->manifest.info.step == 8);
  REQUIRE(newest.passed_over.size() == 2);
  CHECK(newest.passed_over[0].starts_with(folder.path() + "/step-12/manifest.json: "));
  CHECK(newest.passed_over[1].starts_with(file + ": has "));
  CHECK(newest.passed_over[1].ends_with("; remove " + folder.path() +
                                        "/step-10 to resume from the checkpoint before it"));
  fs::remove(file);
  CHECK(newest_checkpoint(folder.path())
            .passed_over[1]
            .starts_with(file + ": No such file or directory"));
}

TEST_CASE("a damaged byte is found, in the data and in the header") {
  const Folder folder;
  write(folder, {}, 8);
  const std::string path = folder.path() + "/step-8";
  CHECK(loading_says(path).empty());
  const std::string file = path + "/section-2.optimizer-0-of-1.safetensors";
  flip_byte(file, 3);
  CHECK(loading_says(path) ==
        file + ": tensor 'b.exp_avg' does not match its checksum: the file is damaged");
  flip_byte(file, 3);
  CHECK(loading_says(path).empty());
  const auto bytes = static_cast<std::int64_t>(fs::file_size(file));
  flip_byte(file, bytes - 60);  // within the header
  CHECK(loading_says(path).starts_with(file));
}

TEST_CASE("a damaged checkpoint is set aside, and the one before it is the newest") {
  const Folder folder;
  write(folder, {}, 8);
  write(folder, {}, 10);
  const std::string path = folder.path() + "/step-10";
  flip_byte(path + "/section-2.optimizer-0-of-1.safetensors", 3);
  // Its sizes are right: only who reads it learns of the damage.
  CHECK(newest_checkpoint(folder.path()).checkpoint->manifest.info.step == 10);
  FakeRank rank({}, 0, false);
  CHECK_THROWS_AS(
      load_checkpoint(open_checkpoint(path), "toy", rank.states(), copy_in_host_memory()),
      DamagedCheckpoint);
  CHECK(!was_set_aside(path));
  CHECK(set_aside(path) == path + ".damaged");
  CHECK(set_aside(path) == path + ".damaged");  // by another rank
  CHECK(was_set_aside(path));
  CHECK(folder.names() == std::vector<std::string>{"step-10.damaged", "step-8"});
  const NewestCheckpoint newest = newest_checkpoint(folder.path());
  CHECK(newest.checkpoint->manifest.info.step == 8);
  CHECK(newest.passed_over ==
        std::vector<std::string>{path + ".damaged: it was set aside, since it is damaged"});
  // The run comes by the same step again.
  write(folder, {}, 10);
  CHECK(newest_checkpoint(folder.path()).checkpoint->manifest.info.step == 10);
  CHECK(newest_checkpoint(folder.path()).passed_over.empty());
}

TEST_CASE("another model is refused, by name, by tensors and by shapes") {
  const Folder folder;
  write(folder, {}, 8);
  const std::string path = folder.path() + "/step-8";
  CHECK(loading_says(path, "gpt") ==
        path +
            "/manifest.json: is a checkpoint of toy, this run trains gpt: give it its own "
            "checkpoint folder");
  FakeRank other({}, 0, false);
  other.states()[1].parameters[0].shape = {4, 3};
  CHECK(loading_says(path, "toy", &other) ==
        path +
            "/section-1.parameters-0-of-1.safetensors: tensor 'w' is float32 [3, 4], this model's "
            "is float32 [4, 3]");
  FakeRank fewer({}, 0, false);
  fewer.states()[1].parameters.pop_back();
  CHECK(loading_says(path, "toy", &fewer) ==
        path +
            "/section-1.parameters-0-of-1.safetensors: holds tensor 'b', which this model does not "
            "have");
  FakeRank more({}, 0, false);
  more.states()[3].optimizer[1].name = "b.exp_avg_sq";
  CHECK(
      loading_says(path, "toy", &more) ==
      path +
          ": no file holds all of tensor 'b.exp_avg_sq': written with another optimizer or model");
}

TEST_CASE("what the thread ran into is thrown by the next call") {
  const Folder folder;
  std::ofstream(folder.path()) << "a file where the folder should be";
  CheckpointWriter writer(options_of(folder, {}, 0));
  FakeRank rank({}, 0, true);
  writer.begin(info_of(3), rank.states(), copy_in_host_memory());
  CHECK(message_of([&] { writer.finish(); }).starts_with(folder.path() + "/step-3.0.partial: "));
  writer.finish();  // said once
}

// A file of the rank leads to a disk that is always full.
void fill_disk_for(const Folder& folder, std::int64_t step, const std::string& file) {
  const std::string partial = folder.path() + "/step-" + std::to_string(step) + ".0.partial";
  fs::create_directories(partial);
  fs::create_symlink("/dev/full", partial + "/" + file);
}

TEST_CASE("a full disk costs one checkpoint: it is removed, and the next one is written") {
  // On rank 0, and on rank 1 with rank 0 waiting for its part.
  for (const char* file :
       {"section-0.parameters-0-of-1.safetensors", "section-2.optimizer-0-of-1.safetensors"}) {
    CAPTURE(file);
    const Folder folder;
    const Layout layout{2, 1, false};
    write(folder, layout, 8);
    fill_disk_for(folder, 10, file);
    const bool first_fails = file[8] == '0';
    std::vector<std::unique_ptr<CheckpointWriter>> writers;
    std::vector<std::unique_ptr<FakeRank>> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      writers.push_back(std::make_unique<CheckpointWriter>(options_of(folder, layout, rank)));
      ranks.push_back(std::make_unique<FakeRank>(layout, rank, true));
    }
    // Rank 1 first where rank 0 fails, so that the folder is not removed under it.
    for (const int rank : {1, 0}) {
      writers[static_cast<std::size_t>(rank)]->begin(
          info_of(10), ranks[static_cast<std::size_t>(rank)]->states(), copy_in_host_memory());
      if (first_fails && rank == 1) writers[1]->finish();
    }
    const std::string said = message_of([&] { writers[0]->finish(); });
    CAPTURE(said);
    CHECK(said.find("No space left on device") != std::string::npos);
    CHECK((said.find("rank 1 could not write its part: ") != std::string::npos) == !first_fails);
    if (!first_fails) CHECK(!message_of([&] { writers[1]->finish(); }).empty());
    CHECK(folder.names() == std::vector<std::string>{"step-8"});
    // There is room again.
    for (const int rank : {1, 0}) {
      writers[static_cast<std::size_t>(rank)]->begin(
          info_of(12), ranks[static_cast<std::size_t>(rank)]->states(), copy_in_host_memory());
    }
    for (const auto& writer : writers) writer->finish();
    CHECK(folder.names() == std::vector<std::string>{"step-12", "step-8"});
    REQUIRE(writers[0]->cost());
    CHECK(writers[0]->cost()->write >= writers[0]->cost()->stall);
    CHECK(wrong_after_loading(folder, layout) == 0);
  }
}

TEST_CASE("a checkpoint that is given up does not wait for the lost rank, and another is written") {
  const Folder folder;
  const Layout layout{2, 1, false};
  CheckpointOptions options = options_of(folder, layout, 0);
  options.limit = std::chrono::hours(1);
  CheckpointWriter writer(options);
  FakeRank rank(layout, 0, true);
  writer.begin(info_of(10), rank.states(), copy_in_host_memory());
  writer.give_up();
  // The emergency checkpoint is complete although an older one of the same attempt was under way.
  options.attempt += "-emergency-0";
  options.ranks = 1;
  FakeRank whole({}, 0, true);
  CheckpointWriter emergency(options);
  emergency.begin(info_of(11), whole.states(), copy_in_host_memory());
  emergency.finish();
  CHECK(newest_checkpoint(folder.path()).checkpoint->manifest.info.step == 11);
  CHECK(wrong_after_loading(folder, {}) == 0);
}

TEST_CASE("what other ranks of the attempt may be writing is not removed") {
  const Folder folder;
  for (const char* name : {"step-7.0.partial", "step-9.0-emergency-1.partial", "step-9.0.partial",
                           "step-9.other.partial"}) {
    fs::create_directories(folder.path() + "/" + name);
  }
  write(folder, {}, 8);
  CHECK(folder.names() ==
        std::vector<std::string>{"step-8", "step-9.0-emergency-1.partial", "step-9.0.partial"});
}

// A rank was killed while it wrote: the others learn of it by their transfers, and rank 0 ends too.
TEST_CASE("when the run fails, rank 0 does not wait long for the file of a rank that is lost") {
  const Folder folder;
  CheckpointOptions options = options_of(folder, {2, 1, false}, 0);
  options.limit = std::chrono::hours(1);
  options.limit_after_failure = std::chrono::milliseconds(50);
  FakeRank rank({2, 1, false}, 0, true);
  {
    CheckpointWriter writer(options);
    writer.begin(info_of(3), rank.states(), copy_in_host_memory());
  }
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/step-3"));
}

TEST_CASE("rank 0 names a rank that does not write its part") {
  const Folder folder;
  CheckpointOptions options = options_of(folder, {2, 1, false}, 0);
  options.limit = std::chrono::milliseconds(100);
  CheckpointWriter writer(options);
  FakeRank rank({2, 1, false}, 0, true);
  writer.begin(info_of(3), rank.states(), copy_in_host_memory());
  CHECK(message_of([&] { writer.finish(); })
            .starts_with(folder.path() +
                         "/step-3.0.partial/rank-1.json: rank 1 has not written its part"));
  // One that is known to be lost is not waited for.
  options.limit = std::chrono::minutes(5);
  options.works = [](int of) { return of != 1; };
  CheckpointWriter watching(options);
  watching.begin(info_of(3), rank.states(), copy_in_host_memory());
  CHECK(message_of([&] { watching.finish(); }) ==
        folder.path() +
            "/step-3.0.partial/rank-1.json: rank 1 was lost before it had written its part");
  CHECK(!newest_checkpoint(folder.path()).checkpoint);
}

TEST_CASE("all ranks of an attempt agree on its name, the next attempt on another") {
  tests::MemoryStore store(std::make_shared<tests::SharedMemory>());
  CHECK(message_of([&] { (void)agree_on_attempt(store, 1, std::chrono::milliseconds(10)); }) ==
        "rank 0 has not said how checkpoints are to be named");
  const std::string first = agree_on_attempt(store, 0, std::chrono::seconds(1));
  CHECK(agree_on_attempt(store, 1, std::chrono::seconds(1)) == first);
  CHECK(agree_on_attempt(store, 0, std::chrono::seconds(1)) != first);
}

TEST_CASE("names of checkpoints are exact") {
  CHECK(step_of_name("step-17") == 17);
  for (const char* name :
       {"step-", "step-017", "step-1x", "step--1", "stop-1", "step-17.partial"}) {
    CHECK(!step_of_name(name));
  }
}

}  // namespace
}  // namespace penstock
