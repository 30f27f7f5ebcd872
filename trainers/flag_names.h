// Which trainer has a flag or key of this name, of all that the files of facts list.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// "Megatron-LM" for "moe-grouped-gemm" and "moe_grouped_gemm"; empty where no trainer has it.
std::string trainer_with_flag(std::string_view typed);

}  // namespace penstock
