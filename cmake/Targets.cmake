# Targets are made from the folders themselves, so adding a file needs no CMake edit.

# Precompiled for every target: half of a file's compile time is reading these. Each file still
# includes what it uses (scripts/tidy.py --headers).
set(SHOAL_COMMON_HEADERS <algorithm> <cstdint> <functional> <map> <memory> <string> <vector>
    <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/synchronization/mutex.h>
    <absl/time/time.h>)

# "a/b" -> "shoal_a_b"
function(shoal_target_name folder out)
  string(REPLACE "/" "_" flat "${folder}")
  set(${out} "shoal_${flat}" PARENT_SCOPE)
endfunction()

# Health checking comes with grpc++; its message types are generated here so that a client can
# speak grpc.health.v1 as well.
function(shoal_add_proto_library)
  file(GLOB protos CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/proto/shoal/v1/*.proto"
       "${CMAKE_SOURCE_DIR}/proto/grpc/health/v1/*.proto")
  set(out "${CMAKE_BINARY_DIR}/gen")
  file(MAKE_DIRECTORY "${out}")
  set(sources)
  foreach(proto ${protos})
    file(RELATIVE_PATH relative "${CMAKE_SOURCE_DIR}/proto" "${proto}")
    string(REGEX REPLACE "\\.proto$" "" stem "${relative}")
    add_custom_command(
      OUTPUT "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h"
             "${out}/${stem}.grpc.pb.cc" "${out}/${stem}.grpc.pb.h"
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/proto --cpp_out=${out}
              --grpc_out=${out} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>
              ${proto}
      DEPENDS ${protos})
    list(APPEND sources "${out}/${stem}.pb.cc" "${out}/${stem}.grpc.pb.cc")
  endforeach()
  add_library(shoal_proto STATIC ${sources})
  target_include_directories(shoal_proto SYSTEM PUBLIC "${out}")
  target_link_libraries(shoal_proto PUBLIC protobuf::libprotobuf gRPC::grpc++)
endfunction()

# Applies the instruction set of the folder a source lives in (.../avx2/..., .../avx512/..., .../amx/...).
function(shoal_apply_isa sources)
  foreach(source ${sources})
    foreach(isa avx2 avx512 amx)
      if(source MATCHES "/${isa}/")
        set_source_files_properties("${source}" TARGET_DIRECTORY shoal_kernels
                                    PROPERTIES COMPILE_OPTIONS "${SHOAL_ISA_${isa}}"
                                               SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
  endforeach()
endfunction()

function(shoal_add_folder_libraries)
  set(folders)
  foreach(row ${SHOAL_DAG})
    string(REGEX REPLACE ":.*" "" folder "${row}")
    list(APPEND folders "${folder}")
  endforeach()
  foreach(row ${SHOAL_DAG})
    string(REGEX MATCH "^([^:]+):(.*)$" _ "${row}")
    set(folder "${CMAKE_MATCH_1}")
    separate_arguments(edges UNIX_COMMAND "${CMAKE_MATCH_2}")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${folder}/*.cc")
    foreach(other ${folders})
      if(other MATCHES "^${folder}/")
        list(FILTER sources EXCLUDE REGEX "/src/${other}/")
      endif()
    endforeach()
    if(folder STREQUAL "app")
      list(FILTER sources EXCLUDE REGEX "/src/app/main.cc$")
    endif()
    shoal_target_name("${folder}" target)
    if(sources)
      add_library(${target} STATIC ${sources})
      set(scope PUBLIC)
      target_compile_options(${target} PRIVATE ${SHOAL_WARNINGS})
      target_precompile_headers(${target} PRIVATE ${SHOAL_COMMON_HEADERS})
    else()
      add_library(${target} INTERFACE)
      set(scope INTERFACE)
    endif()
    target_include_directories(${target} ${scope} "${CMAKE_SOURCE_DIR}/src")
    foreach(edge ${edges})
      shoal_target_name("${edge}" dependency)
      target_link_libraries(${target} ${scope} ${dependency})
    endforeach()
    string(REPLACE "/" "_" flat "${folder}")
    target_link_libraries(${target} ${scope} ${SHOAL_LIBS_${flat}})
    if(folder STREQUAL "kernels")
      shoal_apply_isa("${sources}")
    endif()
  endforeach()
endfunction()

function(shoal_add_executable)
  if(EXISTS "${CMAKE_SOURCE_DIR}/src/app/main.cc")
    add_executable(shoal "${CMAKE_SOURCE_DIR}/src/app/main.cc")
    target_compile_options(shoal PRIVATE ${SHOAL_WARNINGS})
    target_compile_definitions(shoal_app PRIVATE SHOAL_VERSION="${PROJECT_VERSION}")
    target_link_libraries(shoal PRIVATE shoal_app)
    set_target_properties(shoal PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  endif()
endfunction()

# tests/<folder>/**/*_test.cc becomes one executable <folder>_tests; helpers beside the tests
# (tests/<folder>/**/*.cc without the suffix) are linked into it.
function(shoal_add_tests)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  foreach(folder base text scheduler kernels parallel model router worker app exactness contract
          cluster)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${folder}/*.cc")
    if(sources)
      add_executable(${folder}_tests ${sources})
      target_compile_options(${folder}_tests PRIVATE ${SHOAL_WARNINGS})
      if(SHOAL_SANITIZE STREQUAL "thread" AND folder MATCHES "^(router|worker|app)$")
        # Overrides functions of gRPC and abseil, for which an executable exports its own.
        target_sources(${folder}_tests PRIVATE
                       "${CMAKE_SOURCE_DIR}/tests/sanitizer/library_order.cc")
        set_target_properties(${folder}_tests PROPERTIES ENABLE_EXPORTS ON)
      endif()
      target_precompile_headers(${folder}_tests PRIVATE ${SHOAL_COMMON_HEADERS}
                                <gtest/gtest.h> <gmock/gmock.h>)
      target_include_directories(${folder}_tests PRIVATE "${CMAKE_SOURCE_DIR}/tests")
      target_compile_definitions(${folder}_tests PRIVATE
                                 SHOAL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      if(TARGET shoal_${folder})
        target_link_libraries(${folder}_tests PRIVATE shoal_${folder})
        if(folder STREQUAL "model" OR folder STREQUAL "worker")
          target_link_libraries(${folder}_tests PRIVATE shoal_model shoal_scheduler)
        endif()
      else()
        target_link_libraries(${folder}_tests PRIVATE shoal_app)
      endif()
      target_link_libraries(${folder}_tests PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
      add_test(NAME ${folder} COMMAND ${folder}_tests)
    endif()
  endforeach()
  # Real clients and the scripts' own tests, with the Python of scripts/setup.sh.
  if(TARGET shoal)
    foreach(folder clients scripts)
      add_test(NAME ${folder}
               COMMAND "${CMAKE_SOURCE_DIR}/.venv/bin/python" -m unittest discover -v -s
                       "${CMAKE_SOURCE_DIR}/tests/${folder}")
      set_tests_properties(${folder} PROPERTIES ENVIRONMENT "SHOAL_BINARY=$<TARGET_FILE:shoal>")
    endforeach()
  endif()
endfunction()

# bench/*_bench.cc: one executable each.
function(shoal_add_benches)
  find_package(benchmark REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*_bench.cc")
  foreach(source ${sources})
    get_filename_component(name "${source}" NAME_WE)
    add_executable(${name} "${source}")
    target_compile_options(${name} PRIVATE ${SHOAL_WARNINGS})
    target_link_libraries(${name} PRIVATE shoal_app benchmark::benchmark)
  endforeach()
endfunction()
