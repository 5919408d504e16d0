# One CTest test for each suite of a test program: a process of its own for each of two thousand cases costs more than most of the cases
# do. The cases of suites named after APART are tests of their own, because they take long and can run side by side.
#
# Included by CMakeLists.txt it defines careen_discover_suites(); as a script it asks the program and writes down what it has.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${listed}")
  set(content "")
  macro(add name)
    string(APPEND content "add_test([==[${name}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${ARGN}]==] --gtest_brief=1)\n"
                          "set_tests_properties([==[${name}]==] PROPERTIES TIMEOUT 600)\n")
  endmacro()
  foreach(line ${lines})
    if(line MATCHES "^([^ ]+)\\.( |$)")
      set(suite ${CMAKE_MATCH_1})
      set(apart OFF)
      foreach(name ${APART})
        if(suite MATCHES "(^|/)${name}$")
          set(apart ON)
        endif()
      endforeach()
      if(NOT apart)
        add(${suite} ${suite}.*)
      endif()
    elseif(apart AND line MATCHES "^  ([^ ]+)")
      add(${suite}.${CMAKE_MATCH_1} ${suite}.${CMAKE_MATCH_1})
    endif()
  endforeach()
  file(WRITE ${OUTPUT} "${content}")
  return()
endif()

function(careen_discover_suites target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" APART)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  list(JOIN arg_APART "$<SEMICOLON>" apart)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> "-DAPART=${apart}" -DOUTPUT=${list}
            -P ${PROJECT_SOURCE_DIR}/cmake/suites.cmake)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${list})
endfunction()
