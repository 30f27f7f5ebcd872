// The rows, each made in the folder of its trainer. Private to trainers/.
#pragma once

#include "trainers/trainer_row.h"

namespace penstock {

TrainerRow penstock_row();
TrainerRow pytorch_row();
TrainerRow torchtitan_row();
TrainerRow megatron_row();
TrainerRow megatron_bridge_row();
TrainerRow deepspeed_row();
TrainerRow varuna_row();

}  // namespace penstock
