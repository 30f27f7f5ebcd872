# Keeps the directions of includes, which the compiler cannot: every include line is written from the
# repository root, so any file could reach any other.
#
#   cmake -D ROOT=<repository> -P cmake/CheckLayers.cmake
#
# And one name, one type: two headers that declare a type of one name give the program two meanings
# of one symbol, of which the linker takes one without a word.
#
# And what a kind of action means is read from its row in core/values/action_rules.h, not told apart
# again by a switch; what an action takes is asked of core/values/durations.h, not looked up in the
# tables of prices again.
#
# Prints FILE:LINE: what is wrong and what is allowed, and fails when there was anything.
cmake_minimum_required(VERSION 3.25)

# Who may include whom; a folder may always include itself. Folders that are not named here (tests,
# bench) may include every module.
set(modules core estimator costmodel simulator training profiler runtime_bridge search spilling report trainers studies morphing multi manager cli)
set(may_include_core)
set(may_include_estimator core)
set(may_include_costmodel core)
set(may_include_simulator core)
set(may_include_training core)
set(may_include_report core)
set(may_include_profiler core training)
set(may_include_runtime_bridge core training)
set(may_include_search core costmodel simulator)
set(may_include_spilling core costmodel simulator search)
set(may_include_trainers core report)
set(may_include_studies core costmodel simulator search estimator report trainers morphing)
set(may_include_morphing core)
set(may_include_multi core)
set(may_include_manager core training morphing runtime_bridge report)
set(may_include_cli ${modules})

# The rooms of core: what reads files and what judges them are strangers, values know neither. And one of cli: what
# people's words mean is known without what verbs take and what is answered.
set(core/values_excludes "^core/(files|check)/")
set(core/files_excludes "^core/check/")
set(core/check_excludes "^core/files/")
set(cli/words_excludes "^cli/(answers|options|verbs|reports|parts)/")
set(core_rooms "the rooms of core: values know neither files nor check, and those two not each other")
set(cli_rooms "cli/words/ says what words mean, and knows of cli only io/")

# Libraries that only some folders may know.
set(device_libraries "^(cuda|cudnn|cublas|cupti|curand|nvml|nvToolsExt|nvtx3/|nccl|torch/|ATen/|c10/|c10d/|caffe2/|gloo/)")
set(device_folders "(^|/)(torch|gloo|nccl|cuda|gpu)/")
set(json_library "^nlohmann/")
set(json_files "^core/values/[^/]*\\.cc$")
# What talks to strangers stays where it is watched.
set(network_library "^(httplib|boost/(asio|beast)|hiredis|openssl)(/|\\.)")
set(network_files "^(manager/port|runtime_bridge/redis)/[^/]*\\.cc$")
# Who may tell kinds of actions apart by a switch: the checker, which judges the rows; LibTorch's compute, which calls
# a function for each; the words of PyTorch's CSV.
set(switch_on_kinds "^[ \t]*case ActionKind::")
set(switch_files "^(core/check/|training/torch/torch_work\\.cc$|trainers/pytorch/)")
# Who may name the time of one kind of action, or add a fixed cost of the executor: the decoder; the checker, which
# judges it; who makes prices, of sections and stages, or reads and writes them.
set(decodes_prices "[.>](forward|input_gradient|weight_gradient|fused_backward|recompute|activation|gradient|reduce_gradient|optimizer|unshard|load|store|reduce|norm)\\.(duration|spread)|[+*] ?[A-Za-z_.>-]*per_(action|transfer)")
set(price_files "^(core/(values/durations\\.(h|cc)$|files/|check/)|costmodel/|search/(section_sums|divided_tables)\\.cc$|spilling/spilled_prices\\.cc$|cli/(options/costs|verbs/fingerprint)\\.cc$)")
# What users of these modules include must not drag another library along.
set(clean_headers "^(core|estimator|costmodel|simulator|search|spilling|studies|morphing|multi|manager|report|trainers|training|profiler|runtime_bridge)/.*\\.h$")

function(refuse file include reason)
  file(READ ${ROOT}/${file} text)
  string(FIND "${text}" "${include}" position)
  string(SUBSTRING "${text}" 0 ${position} before)
  string(REGEX MATCHALL "\n" newlines "${before}")
  list(LENGTH newlines line)
  math(EXPR line "${line} + 1")
  string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*" "" include "${include}")
  message(NOTICE "${file}:${line}: ${include}: ${reason}")
  math(EXPR count "${refused} + 1")
  set(refused ${count} PARENT_SCOPE)
endfunction()

set(refused 0)
set(checked 0)
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.h ${ROOT}/*.cc ${ROOT}/*.cu ${ROOT}/*.cuh)
list(FILTER files EXCLUDE REGEX "^(\\.|build/|tests/layers/|tests/install/)")
list(SORT files)
foreach(file IN LISTS files)
  math(EXPR checked "${checked} + 1")
  string(REGEX REPLACE "/.*" "" module "${file}")
  set(allowed ${modules})
  if(module IN_LIST modules)
    set(allowed ${module} ${may_include_${module}})
    list(REMOVE_DUPLICATES allowed)
  else()
    list(APPEND allowed ${module})
  endif()
  list(JOIN allowed ", " allowed_text)

  if(module IN_LIST modules AND file MATCHES "\\.h$")
    file(STRINGS ${ROOT}/${file} types REGEX "^(struct|class|enum class) [A-Za-z0-9_]+( final)?( : [^;]*)?( {.*)?$")
    foreach(type IN LISTS types)
      string(REGEX REPLACE "^(struct|class|enum class) ([A-Za-z0-9_]+).*" "\\2" name "${type}")
      if(DEFINED declared_${name} AND NOT declared_${name} STREQUAL file)
        refuse(${file} "${type}" "${declared_${name}} has a type of this name; give one of them another")
      endif()
      set(declared_${name} ${file})
    endforeach()
  endif()

  if(module IN_LIST modules AND NOT file MATCHES "${switch_files}")
    file(STRINGS ${ROOT}/${file} switches REGEX "${switch_on_kinds}")
    foreach(switch IN LISTS switches)
      string(STRIP "${switch}" switch)
      refuse(${file} "${switch}" "what a kind means is a row of core/values/action_rules.h; read it there")
    endforeach()
  endif()

  if(module IN_LIST modules AND NOT file MATCHES "${price_files}")
    file(STRINGS ${ROOT}/${file} decoded REGEX "${decodes_prices}")
    foreach(line IN LISTS decoded)
      string(STRIP "${line}" line)
      refuse(${file} "${line}" "what an action takes is decoded by core/values/durations.h; ask duration_of()")
    endforeach()
  endif()

  set(not_from_here "^$")
  if(file MATCHES "^(core/values|core/files|core/check|cli/words)/")
    set(not_from_here "${${CMAKE_MATCH_1}_excludes}")
  endif()

  file(STRINGS ${ROOT}/${file} includes REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^[^<\"]*([<\"])([^>\"]*).*" "\\1;\\2" parts "${include}")
    list(GET parts 0 quote)
    list(GET parts 1 path)
    string(REGEX REPLACE "/.*" "" folder "${path}")
    if(path MATCHES "${not_from_here}")
      refuse(${file} "${include}" "${${module}_rooms}")
    elseif(folder IN_LIST modules OR folder STREQUAL module)
      if(NOT folder IN_LIST allowed)
        refuse(${file} "${include}" "${module}/ may include ${allowed_text}")
      endif()
    elseif(quote STREQUAL "\"")
      refuse(${file} "${include}" "not written from the repository root, or no folder that ${module}/ may include (${allowed_text})")
    elseif(path MATCHES "${device_libraries}")
      if(NOT file MATCHES "${device_folders}")
        refuse(${file} "${include}" "only folders named torch/, gloo/, nccl/, cuda/ or gpu/ may include it")
      endif()
    elseif(path MATCHES "${json_library}" AND NOT file MATCHES "${json_files}")
      refuse(${file} "${include}" "JSON goes through core/values/json.h; only .cc files of core/values/ may include it")
    elseif(path MATCHES "${network_library}" AND NOT file MATCHES "${network_files}")
      refuse(${file} "${include}" "HTTP, Redis and cryptography stay in .cc files of manager/port/ and runtime_bridge/redis/")
    elseif(path MATCHES "[/.]" AND file MATCHES "${clean_headers}")
      refuse(${file} "${include}" "a header of ${module}/ may include the standard library and ${allowed_text}")
    endif()
  endforeach()
endforeach()

if(checked EQUAL 0)
  message(FATAL_ERROR "no sources under ${ROOT}")
elseif(refused GREATER 0)
  message(FATAL_ERROR "${refused} includes, names, switches or prices in ${checked} files are refused; docs/architecture.md says why")
endif()
message(STATUS "${checked} files, every include points the right way, every type has a name of its own")
