# Compiler flags. The numerics contract forbids contraction and fast-math everywhere.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_program(SHOAL_CCACHE ccache)
if(SHOAL_CCACHE)
  # Independent of where the tree lies, so that a second clone compiles from the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${SHOAL_CCACHE}")
  add_compile_options(-fpch-preprocess)
endif()

add_compile_options(-ffp-contract=off -fno-fast-math)
set(SHOAL_WARNINGS -Wall -Wextra -Wshadow -Werror -Wno-unused-parameter)

set(SHOAL_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
if(SHOAL_SANITIZE)
  add_compile_options(-fsanitize=${SHOAL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SHOAL_SANITIZE})
  # GCC 12 sees uninitialised reads in code that the sanitizers themselves insert.
  list(APPEND SHOAL_WARNINGS -Wno-maybe-uninitialized)
endif()

# Sources under these folders are compiled for one instruction set and reached only through the
# run-time dispatch in kernels/cpu; every other file targets the x86-64 baseline.
set(SHOAL_ISA_avx2 -mavx2 -mfma -mf16c)
set(SHOAL_ISA_avx512 ${SHOAL_ISA_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni
    -mprefer-vector-width=512
    -Wno-maybe-uninitialized -Wno-uninitialized) # GCC 12 warns about its own _mm512_undefined_ps
set(SHOAL_ISA_amx ${SHOAL_ISA_avx512} -mamx-tile -mamx-int8 -mamx-bf16)
