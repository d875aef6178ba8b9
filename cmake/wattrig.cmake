# What every target of wattrig shares: flags on one interface target, one function for a library, one for a test.

option(WATTRIG_TESTS "Build the tests" ON)
option(WATTRIG_BENCHMARKS "Build the benchmark programs in tests/bench" OFF)
option(WATTRIG_FUZZ "Build the fuzz targets (clang only)" OFF)
set(WATTRIG_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Assertions stay on: a measuring instrument that goes on after its own bug gives false figures.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")

find_program(WATTRIG_CCACHE ccache)
if(WATTRIG_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${WATTRIG_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WATTRIG_CCACHE})
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)

add_library(wattrig_flags INTERFACE)
target_compile_features(wattrig_flags INTERFACE cxx_std_20)
target_compile_options(wattrig_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
target_include_directories(wattrig_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # CRC32C in hardware and nothing newer: any x86-64 machine with NVMe has it.
  target_compile_options(wattrig_flags INTERFACE -msse4.2)
endif()
if(WATTRIG_SANITIZE)
  target_compile_options(wattrig_flags INTERFACE -fsanitize=${WATTRIG_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  target_link_options(wattrig_flags INTERFACE -fsanitize=${WATTRIG_SANITIZE})
endif()
if(WATTRIG_FUZZ)
  target_compile_options(wattrig_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# wattrig_library(NAME SOURCES ... [DEPENDS ...])
# One folder of the flow is one library, wattrig_NAME. Without sources it is header-only.
function(wattrig_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  if(arg_SOURCES)
    add_library(wattrig_${name} STATIC ${arg_SOURCES})
    target_link_libraries(wattrig_${name} PUBLIC wattrig_flags ${arg_DEPENDS})
  else()
    add_library(wattrig_${name} INTERFACE)
    target_link_libraries(wattrig_${name} INTERFACE wattrig_flags ${arg_DEPENDS})
  endif()
endfunction()

# wattrig_test(NAME LABEL unit|golden|sim|... SOURCES ... [DEPENDS ...] [TIMEOUT seconds])
# A GoogleTest program; each of its tests is one test of CTest and carries the label.
include(GoogleTest)
function(wattrig_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;DEPENDS")
  if(NOT arg_LABEL)
    message(FATAL_ERROR "wattrig_test(${name}) needs a LABEL")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(WATTRIG_SANITIZE)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE wattrig_flags ${arg_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  # Only where it is used: a path on every command line would keep the compiler cache from serving another checkout.
  foreach(source ${arg_SOURCES})
    file(STRINGS ${source} uses REGEX "WATTRIG_SOURCE_DIR" LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS WATTRIG_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT})
endfunction()
