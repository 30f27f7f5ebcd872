# uPlot, which draws the curves of the HTML report: PENSTOCK_CURVES=AUTO|ON|OFF. npm puts it, in the
# version that report/page/package-lock.json names, into the build folder, never into the sources;
# with PENSTOCK_DEV what tests the page comes along.
#   penstock_npm      the folder with node_modules
#   penstock_uplot    uPlot's dist folder; empty: the report has tables in place of curves
include_guard(GLOBAL)
include(PenstockAutoOption)
penstock_auto_option(PENSTOCK_CURVES "Curves in the HTML report (uPlot, by npm)")

# Runs `npm ci` once per lock file. Sets `result` to the reason why it did not work, or to nothing.
function(penstock_npm_ci source folder result)
  set(${result} "" PARENT_SCOPE)
  file(SHA256 ${source}/package-lock.json hash)
  set(options --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=0)
  if(NOT PENSTOCK_DEV)
    list(APPEND options --omit=dev)
  endif()
  string(APPEND hash " ${options}")
  if(EXISTS ${folder}/done)
    file(READ ${folder}/done done)
    if(done STREQUAL hash)
      return()
    endif()
  endif()
  find_program(PENSTOCK_NPM npm)
  if(NOT PENSTOCK_NPM)
    set(${result} "there is no npm" PARENT_SCOPE)
    return()
  endif()
  file(COPY ${source}/package.json ${source}/package-lock.json DESTINATION ${folder})
  execute_process(COMMAND ${PENSTOCK_NPM} ci ${options} WORKING_DIRECTORY ${folder} TIMEOUT 120
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  if(failed)
    string(REGEX MATCH "npm (ERR!|error)[^\n]*" first "${said}")
    set(${result} "npm ci failed: ${first}" PARENT_SCOPE)
  else()
    file(WRITE ${folder}/done "${hash}")
  endif()
endfunction()

set(penstock_npm ${PROJECT_BINARY_DIR}/report/page/npm)
set(penstock_uplot "")
if(NOT PENSTOCK_CURVES STREQUAL "OFF")
  penstock_npm_ci(${PROJECT_SOURCE_DIR}/report/page ${penstock_npm} why_not)
  if(why_not STREQUAL "")
    set(penstock_uplot ${penstock_npm}/node_modules/uplot/dist)
    # It goes with every package of a program whose reports hold uPlot.
    set_property(GLOBAL PROPERTY penstock_uplot_license ${penstock_npm}/node_modules/uplot/LICENSE)
  elseif(PENSTOCK_CURVES STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_CURVES=ON, but ${why_not}: install npm and let it reach its registry "
                        "once, or set PENSTOCK_CURVES=OFF")
  else()
    message(STATUS "The HTML report will have tables in place of curves: ${why_not}")
  endif()
endif()
