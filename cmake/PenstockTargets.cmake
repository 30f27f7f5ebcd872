# The verbs of this build: penstock_library (penstock_sources, penstock_check_sources, penstock_check_part), penstock_test, penstock_bench, penstock_fuzzer,
# penstock_group_sources, penstock_install.
include_guard(GLOBAL)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Every public header compiles alone. Where a .cc of the library includes it first, compiling that .cc proves it; target
# all_verify_interface_header_sets compiles the others.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ${PENSTOCK_DEV})

# penstock_proved_headers(RESULT SOURCE...): what the sources include first.
function(penstock_proved_headers result)
  set(proved)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(EXISTS ${source})
      file(STRINGS ${source} first REGEX "^[ \t]*#[ \t]*include" LIMIT_COUNT 1)
      if(first MATCHES "\"([^\"]+)\"")
        list(APPEND proved ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
  set(${result} ${proved} PARENT_SCOPE)
endfunction()

# A fused multiply-add rounds once where the separate instructions round twice, so predictions would
# differ between machines. It holds for everything built here and is not exported.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# Templates of others are compiled in nearly every file of ours, and watching them for undefined behaviour takes up to
# half of a file's time. Their memory is watched all the same. The path is relative (Ninja compiles in the build folder), so
# that a compiler cache serves any checkout.
if(CMAKE_GENERATOR STREQUAL "Ninja" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,-]*undefined")
  cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE to_sources)
  add_compile_options(-fsanitize-ignorelist=${to_sources}/cmake/others.ignore)
endif()

# Not exported either: warnings are for those who work on Penstock, and fatal only for them, since
# a user's compiler may be newer than ours and know warnings that ours does not.
add_library(penstock_warnings INTERFACE)
target_compile_options(penstock_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wreserved-identifier>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PENSTOCK_WERROR}>>:-Werror>
  # GCC 12 sees an overlap in std::string's operator+ at -O3 that is not there.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<CONFIG:Release>>:-Wno-restrict>)

# penstock_sources(RESULT PATTERN_OR_FILE... [EXCEPT a.cc ...]): what a target of this folder is made of, sorted, and
# remembered for penstock_check_sources. EXCEPT: what the caller puts into a target of its own.
function(penstock_sources result)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "EXCEPT")
  set(all)
  foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
    if(source MATCHES "[*]")
      file(GLOB source CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${source})
      list(FILTER source EXCLUDE REGEX "(^|/)[.][^/]*$")  # an editor's locks
    endif()
    list(APPEND all ${source})
  endforeach()
  list(SORT all)
  foreach(source IN LISTS all ARG_EXCEPT)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_property(GLOBAL APPEND PROPERTY penstock_known_sources ${source})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY penstock_known_folders ${CMAKE_CURRENT_SOURCE_DIR})
  list(REMOVE_ITEM all ${ARG_EXCEPT})
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# penstock_check_sources(FOLDER...): every source below these folders is in a target, or below a folder whose own
# CMakeLists.txt this build leaves out. A file that nobody compiles would be missed only where something links it.
function(penstock_check_sources)
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*.cc" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/[.][^/]*$")
  get_property(known GLOBAL PROPERTY penstock_known_sources)
  get_property(folders GLOBAL PROPERTY penstock_known_folders)
  list(REMOVE_ITEM sources ${known})
  set(missed)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    while(NOT EXISTS ${folder}/CMakeLists.txt)
      cmake_path(GET folder PARENT_PATH folder)
    endwhile()
    if(folder IN_LIST folders)
      string(APPEND missed "\n  ${source}")
    endif()
  endforeach()
  if(missed)
    message(FATAL_ERROR "In no target:${missed}")
  endif()
endfunction()

# penstock_check_part(SWITCH SOURCES a.cc ... PART b.cc ... STAND_INS c_none.cc ...): SOURCES are compiled always, PART
# only with SWITCH, STAND_INS without it. What SOURCES include of PART, a stand-in must include, too, or the build without
# SWITCH does not link. A file of PART that has no header of its own serves another's, and that must not be one of
# SOURCES. Said in every build, since few make that one. Headers are named from the root.
function(penstock_check_part switch)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;PART;STAND_INS")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  # The sources whose headers a source or its own header includes; headers without a source are not followed.
  function(included_by source result)
    string(REGEX REPLACE "cc$" "h" header ${source})
    set(all "")
    foreach(file IN ITEMS ${source} ${header})
      if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
        file(STRINGS ${file} includes REGEX "^#include \"${folder}/")
        list(APPEND all ${includes})
      endif()
    endforeach()
    list(TRANSFORM all REPLACE "^#include \"${folder}/(.*)\\.h\"$" "\\1.cc")
    set(${result} ${all} PARENT_SCOPE)
  endfunction()
  set(stood_in "")
  foreach(source IN LISTS ARG_STAND_INS)
    included_by(${source} others)
    list(APPEND stood_in ${others})
  endforeach()
  foreach(source IN LISTS ARG_SOURCES)
    included_by(${source} others)
    foreach(other IN LISTS others)
      if(other IN_LIST ARG_PART AND NOT other IN_LIST stood_in)
        message(FATAL_ERROR "${folder}/${source} includes the header of ${folder}/${other}, which is compiled only with "
                            "${switch}: compile it always, or let a stand-in include that header")
      endif()
    endforeach()
  endforeach()
  foreach(source IN LISTS ARG_PART)
    string(REGEX REPLACE "cc$" "h" own ${source})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${own})
      included_by(${source} served)
      set(always ${ARG_SOURCES})
      list(REMOVE_ITEM always ${stood_in} "")
      list(REMOVE_ITEM served ${always} "")
      if(NOT served)
        message(FATAL_ERROR "${folder}/${source} has no header and includes none of what is compiled only with ${switch}: "
                            "compile it always, as what it serves, or let a stand-in include the header that it serves")
      endif()
    endif()
  endforeach()
endfunction()

# penstock_library(NAME [NOT_INSTALLED] [SOURCES a.cc b/*.cc ...] [EXCEPT a.cc ...] HEADERS a.h ... LINK core ...
#                  PRIVATE_LINK fmt::fmt ...)
# A static library, penstock::NAME here and in the installed package, of the folder's sources (or of SOURCES) but for
# EXCEPT. HEADERS are the public ones. LINK names modules, PRIVATE_LINK
# targets of other packages; PACKAGE::TARGET makes penstockConfig.cmake look for PACKAGE, because a
# static library hands its private dependencies to whoever links it. NOT_INSTALLED: parts that link
# LibTorch or CUDA serve the program only.
function(penstock_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "NOT_INSTALLED" "" "SOURCES;EXCEPT;HEADERS;LINK;PRIVATE_LINK")
  set(target penstock_${name})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES *.cc)
  endif()
  penstock_sources(ARG_SOURCES ${ARG_SOURCES} EXCEPT ${ARG_EXCEPT})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(penstock::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Two sets, both installed: what a source proves to be complete, and what is compiled alone.
  penstock_proved_headers(proved ${ARG_SOURCES})
  set(proved_headers)
  set(other_headers)
  foreach(header IN LISTS ARG_HEADERS)
    cmake_path(ABSOLUTE_PATH header BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    if(name IN_LIST proved)
      list(APPEND proved_headers ${header})
    else()
      list(APPEND other_headers ${header})
    endif()
  endforeach()
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${proved_headers}
    FILE_SET compiled_alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${other_headers})
  set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY compiled_alone)
  list(TRANSFORM ARG_LINK PREPEND penstock::)
  target_link_libraries(${target} PUBLIC ${ARG_LINK}
                                  PRIVATE $<BUILD_INTERFACE:penstock_warnings> ${ARG_PRIVATE_LINK})
  if(ARG_NOT_INSTALLED)
    return()
  endif()
  install(TARGETS ${target} EXPORT penstockTargets
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock
          FILE_SET compiled_alone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock)
  list(FILTER ARG_PRIVATE_LINK INCLUDE REGEX "::")
  list(TRANSFORM ARG_PRIVATE_LINK REPLACE "::.*" "")
  set_property(GLOBAL APPEND PROPERTY penstock_packages ${ARG_PRIVATE_LINK})
endfunction()

# penstock_test(NAME SOURCES a_test.cc ... LINK core ...): one doctest binary NAME_tests, ctest NAME,
# run from the repository root. LINK names modules, or targets of other packages in full. SECONDS is what it
# takes in `dev`: where ctest has no times yet, long tests start first. OPTIMIZED: it runs for longer than it compiles.
function(penstock_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "OPTIMIZED" "SECONDS" "SOURCES;LINK")
  list(TRANSFORM ARG_LINK PREPEND penstock:: REGEX "^[^:]+$")
  add_executable(${name}_tests ${ARG_SOURCES})
  target_link_libraries(${name}_tests PRIVATE penstock_test_main penstock_warnings ${ARG_LINK})
  # What is tested is optimized as it ships; to optimize the macros that test it would take longer than it saves.
  target_compile_options(${name}_tests PRIVATE $<$<CONFIG:Release>:-O1>)
  # Under the sanitizers of `dev` two thirds of a test file's time went into optimizing them. But templates that a test
  # and what it tests both have are then the test's, unoptimized ones: what runs for long would run twice as long.
  if(ARG_OPTIMIZED)
    target_compile_options(${name}_tests PRIVATE $<$<CONFIG:Debug>:-O1>)  # as what it tests: its folder says -O0
    target_link_libraries(${name}_tests PRIVATE penstock_malloc)
  else()
    target_compile_options(${name}_tests PRIVATE $<$<CONFIG:Debug>:-O0>)
  endif()
  # What is tested is watched for undefined behaviour, and shows fuzzers where they got; watching the macros
  # that test it, too, would double their time to compile. Addresses are watched in both.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,-]*undefined")
    target_compile_options(${name}_tests PRIVATE -fno-sanitize=undefined)
  endif()
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,-]*fuzzer-no-link")
    target_compile_options(${name}_tests PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
  add_test(NAME ${name} COMMAND ${name}_tests --no-intro=true
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(ARG_SECONDS)
    set_tests_properties(${name} PROPERTIES COST ${ARG_SECONDS})
  endif()
endfunction()

# penstock_bench(NAME SOURCE a_bench.cc LINK core ... [INSTANT regex]): one Google Benchmark binary,
# which ctest runs for an instant as bench.NAME, so that benches do not rot; INSTANT names the cases
# that are short enough for that under sanitizers (default: all).
function(penstock_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "SOURCE;INSTANT" "LINK")
  if(NOT ARG_INSTANT)
    set(ARG_INSTANT .)
  endif()
  list(TRANSFORM ARG_LINK PREPEND penstock:: REGEX "^[^:]+$")
  add_executable(${name} ${ARG_SOURCE})
  target_link_libraries(${name} PRIVATE benchmark::benchmark_main penstock_malloc penstock_warnings ${ARG_LINK})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)  # not run there
  add_test(NAME bench.${name} COMMAND ${name} --benchmark_min_time=0.001 --benchmark_filter=${ARG_INSTANT}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(bench.${name} PROPERTIES LABELS bench)
endfunction()

# penstock_fuzzer(NAME [SOURCES more.cc] LINK core ...): the libFuzzer target fuzz_NAME of fuzz_NAME.cc, with the
# dictionary NAME.dict and the seeds in corpus/NAME. ctest fuzz.NAME.corpus replays the seeds, and
# fuzz.NAME.new makes up inputs for PENSTOCK_FUZZ_SECONDS; what it finds stays in the build folder.
function(penstock_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK")
  list(TRANSFORM ARG_LINK PREPEND penstock:: REGEX "^[^:]+$")
  set(target fuzz_${name})
  add_executable(${target} ${target}.cc ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE penstock_fuzzing penstock_warnings ${ARG_LINK})
  set(found ${CMAKE_CURRENT_BINARY_DIR}/found/${name})
  file(MAKE_DIRECTORY ${found})
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  set(limits -max_len=16384 -timeout=30 -rss_limit_mb=2048 -artifact_prefix=${found}/failed-)
  add_test(NAME fuzz.${name}.corpus COMMAND ${target} ${limits} -runs=0 ${seeds})
  add_test(NAME fuzz.${name}.new
    COMMAND ${target} ${limits} -dict=${CMAKE_CURRENT_SOURCE_DIR}/${name}.dict -print_final_stats=1
            -seed=1 -max_total_time=${PENSTOCK_FUZZ_SECONDS} ${found} ${seeds})
  set_tests_properties(fuzz.${name}.corpus fuzz.${name}.new PROPERTIES LABELS fuzz)
endfunction()

# penstock_group_sources(): for PENSTOCK_GROUPS (OFF, ALL, or TESTS, which are tests and what includes LibTorch, whose
# headers take seconds), once all targets are declared. Files of one target are compiled several
# at a time, and one by one where they cannot be one file (tools/source_groups.py, tools/compile_group.py). For builds
# from nothing, as in CI: whoever changes one file waits for a group.
function(penstock_group_sources)
  if(NOT PENSTOCK_GROUPS)
    return()
  endif()
  find_program(PENSTOCK_PYTHON python3 HINTS /usr/bin REQUIRED)
  set(all "")
  penstock_targets_below(${PROJECT_SOURCE_DIR} targets)
  foreach(target IN LISTS targets)
    get_target_property(folder ${target} SOURCE_DIR)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    get_target_property(sources ${target} SOURCES)
    if(NOT sources OR (PENSTOCK_GROUPS STREQUAL "TESTS" AND NOT folder MATCHES "^tests|/(torch|gloo)$"))
      continue()
    endif()
    get_target_property(absolute ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${absolute} NORMALIZE)
      get_property(own SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY COMPILE_DEFINITIONS)
      # Of parts/ a program links one file of a pair; of CUDA's, tests link some, with an emulator for the rest.
      if(own OR source MATCHES "/cli/parts/" OR (source MATCHES "/(cuda|nccl)/" AND NOT folder MATCHES "^tests"))
        string(APPEND all "alone ")
      endif()
      string(APPEND all "${target} ${source}\n")
    endforeach()
    set_property(TARGET ${target} PROPERTY CXX_COMPILER_LAUNCHER
      ${PENSTOCK_PYTHON} ${PROJECT_SOURCE_DIR}/tools/compile_group.py ${CMAKE_CXX_COMPILER_LAUNCHER})
  endforeach()
  # Beside the build, so that builds with the same flags share a compiler cache.
  cmake_path(GET PROJECT_BINARY_DIR PARENT_PATH folder)
  file(WRITE ${PROJECT_BINARY_DIR}/grouped_files "${all}")
  execute_process(
    COMMAND ${PENSTOCK_PYTHON} ${PROJECT_SOURCE_DIR}/tools/source_groups.py ${folder}/groups
    INPUT_FILE ${PROJECT_BINARY_DIR}/grouped_files OUTPUT_FILE ${PROJECT_BINARY_DIR}/grouped_targets.cmake
    COMMAND_ERROR_IS_FATAL ANY)
  include(${PROJECT_BINARY_DIR}/grouped_targets.cmake)
endfunction()

# All targets of a folder and those below it.
function(penstock_targets_below folder result)
  get_property(all DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    penstock_targets_below(${below} more)
    list(APPEND all ${more})
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# penstock_install(): the package "penstock" (targets, headers and penstockConfig.cmake, once every
# library is declared) and the program.
function(penstock_install)
  if(TARGET penstock)
    install(TARGETS penstock COMPONENT program)
  endif()
  get_property(packages GLOBAL PROPERTY penstock_packages)
  list(SORT packages)
  list(REMOVE_DUPLICATES packages)
  set(PENSTOCK_FIND_DEPENDENCIES "")
  foreach(package IN LISTS packages)
    string(APPEND PENSTOCK_FIND_DEPENDENCIES "find_dependency(${package})\n")
  endforeach()
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/penstockConfig.cmake.in
    ${PROJECT_BINARY_DIR}/penstockConfig.cmake INSTALL_DESTINATION ${destination})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(EXPORT penstockTargets NAMESPACE penstock:: DESTINATION ${destination})
  install(FILES ${PROJECT_BINARY_DIR}/penstockConfig.cmake
                ${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
          DESTINATION ${destination})
endfunction()
