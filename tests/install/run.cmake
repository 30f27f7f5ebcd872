# Installs this build into an empty prefix and builds and runs tests/install/consumer against it.
cmake_minimum_required(VERSION 3.25)
set(work ${BINARY_DIR}/install-test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(NOTICE "${output}")
    message(FATAL_ERROR "${command}: exit ${result}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BINARY_DIR} --config ${CONFIG} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work}/build -G ${GENERATOR}
    -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${FLAGS}
    -D CMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/build --config ${CONFIG} --parallel 1)
run(${CMAKE_COMMAND} --build ${work}/build --config ${CONFIG} --target run_consumer)
file(READ ${work}/build/output.txt output)

# (micro-batches + stages - 1)(forward + backward) = (8 + 4 - 1)(1 ms + 2 ms)
set(expected "{\"step_time\": \"33 ms\"}\n")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the consumer printed ${output}instead of ${expected}")
endif()
