# Which files of a folder are compiled together. Those that the explorer's mistakes are put into (test/explore/mistakes.py) make a group of
# their own: its object can then be left in the library, and one with mistakes linked in its place.
execute_process(COMMAND python3 ${PROJECT_SOURCE_DIR}/test/explore/mistakes.py files OUTPUT_VARIABLE CAREEN_MISTAKEN_FILES
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/explore/mistakes.py)

function(careen_group_sources target)
  get_target_property(sources ${target} SOURCES)
  set(others 0)
  foreach(source ${sources})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src ${source})
    if(name IN_LIST CAREEN_MISTAKEN_FILES)
      set(group mistaken)
    else()
      math(EXPR group "${others} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
      math(EXPR others "${others} + 1")
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
