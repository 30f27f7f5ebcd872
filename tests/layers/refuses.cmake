# CheckLayers must refuse the files under tests/layers/refused, in these words and no others.
cmake_minimum_required(VERSION 3.25)
set(expected "\
cli/words/near_words.h:3: \"cli/options/options.h\": cli/words/ says what words mean, and knows of cli only io/
core/values/json.h:3: <nlohmann/json.hpp>: JSON goes through core/values/json.h; only .cc files of core/values/ may include it
core/values/plan.h:3: \"core/files/format.h\": the rooms of core: values know neither files nor check, and those two not each other
costmodel/prices.h:3: <fmt/core.h>: a header of costmodel/ may include the standard library and costmodel, core
costmodel/prices.h:6: \"tests/helpers.h\": not written from the repository root, or no folder that costmodel/ may include (costmodel, core)
costmodel/quote.h:4: struct Price {: core/values/price.h has a type of this name; give one of them another
report/table.cc:3: <boost/beast/http.hpp>: HTTP, Redis and cryptography stay in .cc files of manager/port/ and runtime_bridge/redis/
report/table.cc:4: <cuda_runtime.h>: only folders named torch/, gloo/, nccl/, cuda/ or gpu/ may include it
report/table.cc:5: <nlohmann/json.hpp>: JSON goes through core/values/json.h; only .cc files of core/values/ may include it
report/table.cc:8: \"rows.h\": not written from the repository root, or no folder that report/ may include (report, core)
simulator/simulate.cc:12: case ActionKind::kForward:: what a kind means is a row of core/values/action_rules.h; read it there
simulator/simulate.cc:20: return price.forward.duration + executor.per_action;: what an action takes is decoded by core/values/durations.h; ask duration_of()
simulator/simulate.cc:8: \"search/best_plan.h\": simulator/ may include simulator, core
")
execute_process(
  COMMAND ${CMAKE_COMMAND} -D ROOT=${CMAKE_CURRENT_LIST_DIR}/refused
          -P ${CMAKE_CURRENT_LIST_DIR}/../../cmake/CheckLayers.cmake
  RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "CheckLayers accepted what it must refuse")
endif()
string(FIND "${text}" "CMake Error" end)
string(SUBSTRING "${text}" 0 ${end} text)
if(NOT text STREQUAL expected)
  message(NOTICE "${text}instead of\n${expected}")
  message(FATAL_ERROR "CheckLayers refused with other words")
endif()
