// Recordings for tests: those in data/availability, counts alone, and random ones.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/files/read_availability.h"
#include "core/values/json_reader.h"
#include "morphing/rungs.h"

namespace penstock {

inline constexpr const char* kRecordings[] = {
    "aws_g4dn_us-east-1c_2020-11-20.gpus",
    "aws_mixed_us-east-1b_2020-03-15.nodes",
    "aws_p2_us-east-1e_2020-11-23.gpus",
    "aws_p3_bamboo.nodes",
    "g4dn_oobleck.nodes",
    "gcp_mixed_us-east1-c_2020-03-04.nodes",
    "gcp_mixed_us-west1-b_2020-03-01.nodes",
    "gcp_mixed_us-west1-b_2020-03-04.nodes",
};

inline Availability recording_called(const std::string& name) {
  const std::string path = "data/availability/" + name + ".csv";
  return read_availability(read_file(path), path);
}

// The numbers of GPUs alone: idle ones are lost first.
inline Availability counts_of(Availability recording) {
  recording.machines.clear();
  std::vector<AvailabilityChange> kept;
  for (AvailabilityChange& change : recording.changes) {
    change.added.clear();
    change.lost.clear();
    if (kept.empty() || change.gpus != kept.back().gpus) kept.push_back(change);
  }
  recording.changes = kept;
  return recording;
}

inline Rung rung_of(int gpus, double steps_per_second) {
  return {gpus, Duration{static_cast<std::int64_t>(1e9 / steps_per_second + 0.5)}};
}

// One rung for every `by` GPUs, as fast as it has GPUs.
inline std::vector<Rung> linear_rungs(int most, int by = 1) {
  std::vector<Rung> rungs;
  for (int gpus = by; gpus <= most; gpus += by) {
    rungs.push_back(rung_of(gpus, static_cast<double>(gpus) / by));
  }
  return rungs;
}

inline int most_gpus(const Availability& recording) {
  int most = 0;
  for (const AvailabilityChange& change : recording.changes) most = std::max(most, change.gpus);
  return most;
}

// Up to `changes` changes on up to eight GPUs, machines of one or two GPUs when `named`.
inline Availability random_recording(std::mt19937& random, int changes, bool named) {
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  Availability recording;
  std::vector<int> there;
  Duration at{};
  for (int i = 0; i < changes; ++i) {
    AvailabilityChange change;
    change.at = at;
    change.gpus = recording.changes.empty() ? 0 : recording.changes.back().gpus;
    if (named) {
      while (!there.empty() && below(3) == 0) {
        const auto which = static_cast<std::size_t>(below(static_cast<int>(there.size())));
        change.lost.push_back(there[which]);
        change.gpus -= recording.machines[static_cast<std::size_t>(there[which])].gpus;
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(which));
      }
      while (change.gpus < 7 && below(2) == 0) {
        const int index = static_cast<int>(recording.machines.size());
        recording.machines.push_back({"m" + std::to_string(index), 1 + below(2)});
        change.added.push_back(index);
        there.push_back(index);
        change.gpus += recording.machines.back().gpus;
      }
      if (recording.machines.empty()) recording.machines.push_back({"none", 1});
    } else {
      change.gpus = below(9);
    }
    recording.changes.push_back(change);
    at += std::chrono::seconds(1 + below(200));
  }
  recording.end = at;
  return recording;
}

}  // namespace penstock
