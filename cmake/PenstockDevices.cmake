# What PENSTOCK_TORCH and PENSTOCK_GPU ask for: found, or a fatal error with the remedy.
#   penstock_torch   LibTorch, 1.13 (Debian) to 2.x (CMAKE_PREFIX_PATH = torch.utils.cmake_prefix_path)
#   PENSTOCK_TORCH_HAS_CUDA   whether that LibTorch can work on a GPU (Debian's cannot)
#   penstock_cuda    the CUDA runtime; it opens the driver itself, so programs start without one
#   penstock_cupti, penstock_nccl
include_guard(GLOBAL)

if(PENSTOCK_TORCH)
  find_package(Torch 1.13 QUIET)
  if(NOT Torch_FOUND)
    message(FATAL_ERROR "PENSTOCK_TORCH=ON, but LibTorch was not found: apt-get install libtorch-dev "
                        "libopenblas0-pthread, or set CMAKE_PREFIX_PATH to what python3 -c "
                        "'import torch; print(torch.utils.cmake_prefix_path)' prints")
  endif()
  add_library(penstock_torch INTERFACE)
  target_include_directories(penstock_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(penstock_torch INTERFACE ${TORCH_LIBRARIES})
  set(PENSTOCK_TORCH_HAS_CUDA OFF)
  if(TARGET torch_cuda OR EXISTS "${TORCH_INSTALL_PREFIX}/lib/libtorch_cuda.so")
    set(PENSTOCK_TORCH_HAS_CUDA ON)
  endif()
endif()

# Where pip puts what belongs to torch: site-packages/nvidia/PART/{include,lib}, and torch's own
# prefix path is site-packages/torch/share/cmake. Such libraries lack the plain .so name.
function(penstock_pip_folders result)
  set(folders "")
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
    file(GLOB found LIST_DIRECTORIES true ${prefix}/../../../nvidia/* ${prefix}/nvidia/*)
    list(APPEND folders ${found})
  endforeach()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

if(PENSTOCK_GPU STREQUAL "CUDA")
  find_package(CUDAToolkit 13 QUIET)
  if(NOT CUDAToolkit_FOUND)
    message(FATAL_ERROR "PENSTOCK_GPU=CUDA, but no CUDA toolkit of version 13 was found: install one, or "
                        "name it with -D CUDAToolkit_ROOT=/usr/local/cuda; or set PENSTOCK_GPU=OFF")
  endif()
  add_library(penstock_cuda INTERFACE)
  # A LibTorch with CUDA brings the shared runtime, and a process should have one.
  if(PENSTOCK_TORCH AND PENSTOCK_TORCH_HAS_CUDA)
    target_link_libraries(penstock_cuda INTERFACE CUDA::cudart)
  else()
    target_link_libraries(penstock_cuda INTERFACE CUDA::cudart_static)
  endif()
  penstock_pip_folders(pip)
  set(hints ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} /usr/local/cuda ${pip})
  set(names_cupti cupti libcupti.so.13)
  set(names_nccl nccl libnccl.so.2)
  foreach(part cupti nccl)
    find_path(PENSTOCK_${part}_INCLUDE ${part}.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${hints}
              PATH_SUFFIXES include extras/CUPTI/include)
    find_library(PENSTOCK_${part}_LIBRARY NAMES ${names_${part}}
                 HINTS ${CUDAToolkit_LIBRARY_DIR} ${hints}
                 PATH_SUFFIXES lib lib64 extras/CUPTI/lib64)
    if(NOT PENSTOCK_${part}_INCLUDE OR NOT PENSTOCK_${part}_LIBRARY)
      message(FATAL_ERROR "PENSTOCK_GPU=CUDA, but ${part}.h or lib${part} was not found: set "
                          "PENSTOCK_${part}_INCLUDE and PENSTOCK_${part}_LIBRARY, or put what "
                          "python3 -c 'import torch; print(torch.utils.cmake_prefix_path)' prints "
                          "into CMAKE_PREFIX_PATH")
    endif()
    add_library(penstock_${part} INTERFACE)
    target_include_directories(penstock_${part} SYSTEM INTERFACE ${PENSTOCK_${part}_INCLUDE})
    target_link_libraries(penstock_${part} INTERFACE ${PENSTOCK_${part}_LIBRARY} penstock_cuda)
    message(STATUS "${part}: ${PENSTOCK_${part}_LIBRARY}")
  endforeach()
elseif(PENSTOCK_GPU)
  message(FATAL_ERROR "PENSTOCK_GPU=${PENSTOCK_GPU}: expected OFF or CUDA")
endif()
