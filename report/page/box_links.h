// What every box of a timeline waited for, and which boxes the length of the step comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/program.h"
#include "report/page/timeline_rows.h"

namespace penstock {

inline constexpr std::uint32_t kNoBox = 0xFFFF'FFFFU;

struct BoxLinks {
  std::vector<std::uint32_t> waited_for;  // per box a box that ended before it began, or kNoBox
  std::vector<bool> critical;             // per box
};

// Of a prediction: `bounds` says per action of the Program which one let it start (bound_by() of
// simulator/critical_path.h). What is not shown, since it takes no time, is left out of the chain.
// The critical path goes from the box that ends last back to the start.
BoxLinks links_of(const StepTrace& trace, const TimelineRows& rows, const Program& program,
                  const std::vector<std::uint32_t>& bounds);

// Of a measured step, where only times are known: of the boxes that must come before (the one
// before on the row, for a send what makes its data, for what takes data the send) the one that
// ended last; what ended more than a microsecond after the box began is none. Other work of the
// machine leaves gaps.
BoxLinks measured_links_of(const StepTrace& trace, const TimelineRows& rows,
                           const Program& program);

}  // namespace penstock
