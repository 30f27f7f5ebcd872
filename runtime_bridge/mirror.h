// Every rank's part of a checkpoint, after every step, in its own memory and in that of one other
// rank, so that a rank that is lost takes nothing along that it alone had: where it held a stage
// alone, or with ZeRO-1 a part of the optimizer's state. As Gemini (SOSP'23) does with one copy.
//
// The copy of rank r of N is with rank r + N / 2: as far away as can be in the order of ranks, so
// on another machine wherever no machine has more than half of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.h"
#include "runtime_bridge/checkpoint_snapshot.h"
#include "runtime_bridge/last_step.h"
#include "training/rank_setup.h"
#include "training/rank_state.h"
#include "training/transport.h"

namespace penstock {

int keeper_of(int rank, int ranks);  // of its copy
int kept_by(int rank, int ranks);    // whose copy it keeps

// Of the survivors, by rank, of a job of `ranks`: the newest finished step that all of them have
// kept and whose lost parts they keep, too; else why there is none.
LastStep last_mirrored_step(const std::map<int, StepStanding>& survivors, int ranks);

// What mirroring has cost a rank.
struct MirrorCosts {
  std::size_t bytes = 0;  // that it sends in a step
  std::int64_t steps = 0;
  Duration time{};  // all of them together
};

// What a rank has to write when others are lost.
struct MirroredParts {
  std::vector<SnapshotFile> files;  // its own part, and that of the lost rank that it keeps
  std::vector<std::pair<std::string, double>> shared_numbers;
};

class Mirror {
 public:
  // `holdings`: rank_holdings() of the plan that runs. There is more than one rank. The transport
  // moves host memory. `costs` are added to, and outlive the mirror.
  Mirror(RankState& state, const std::vector<RankSetup>& holdings, Transport& transport,
         BufferCopy copy, MirrorCosts& costs);

  // On all ranks, when the updates of a step have ended: the state of `next_step` finished steps.
  // Returns once the copy is where it belongs. Until then the one before is there: two are kept,
  // and whoever begins a third knows that all ranks have the second.
  void keep(std::int64_t next_step);
  // Of the job's end: its transport may be another than that of the steps.
  void abort(const std::string& reason) { transport_.abort(reason); }
  [[nodiscard]] std::int64_t newest() const;  // kNotMirrored: none
  // Of last.next_step; Error{kInternal} where that is not kept.
  [[nodiscard]] MirroredParts parts(const LastStep& last) const;

 private:
  struct Copy {
    std::int64_t next_step = kNotMirrored;
    std::vector<std::byte> own, other;
    std::vector<std::pair<std::string, double>> shared_numbers;
  };
  using Layout = std::vector<SnapshotFile>;  // without data
  void pack(std::vector<std::byte>& bytes) const;

  RankState& state_;
  Transport& transport_;
  BufferCopy copy_;
  MirrorCosts& costs_;
  int keeper_, kept_;
  Layout own_, other_;
  std::array<Copy, 2> copies_;
  std::size_t newest_ = 0;
};

// Makes it for a plan; none when empty: nothing is mirrored.
using MakeMirror = std::function<std::unique_ptr<Mirror>(RankState& state,
                                                         const std::vector<RankSetup>& holdings)>;

}  // namespace penstock
