// The rows, each made in the folder of its trainer, in the order of all lists. Private to
// trainers/.
#pragma once

#include <array>

#include "trainers/trainer_row.h"

namespace penstock {

TrainerRow penstock_row();
TrainerRow pytorch_row();
TrainerRow torchtitan_row();
TrainerRow megatron_row();
TrainerRow megatron_bridge_row();
TrainerRow deepspeed_row();
TrainerRow varuna_row();
TrainerRow verl_row();

inline constexpr std::array kTrainerRows{
    penstock_row,        pytorch_row,   torchtitan_row, megatron_row,
    megatron_bridge_row, deepspeed_row, varuna_row,     verl_row};

}  // namespace penstock
