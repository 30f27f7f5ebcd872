// The fields of a rank, in a job's state and in what is decided. Private to manager/.
#pragma once

#include "core/values/json_fields.h"
#include "manager/job_state.h"

namespace penstock {

inline constexpr int kMostGpusInFiles = 1 << 20;

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, PlacedRank>& rank) {
  fields("rank", rank.rank, 0, kMostGpusInFiles);
  fields("machine", rank.machine);
  fields("local_rank", rank.local_rank, 0, kMostGpusInFiles);
  fields("ended", rank.ended);
  fields.if_any("code", rank.code, -255, 255);
  fields("signal", rank.signal, 0, kMostGpusInFiles);
}

}  // namespace penstock
