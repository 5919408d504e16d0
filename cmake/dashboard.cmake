# The dashboard: builds web/ in the build directory and puts its files into careen_web. Without Node.js, or when its
# packages cannot be fetched, careen is built without a dashboard and says so.

set(dashboard_work ${PROJECT_BINARY_DIR}/dashboard-src)
set(node_missing "")

option(CAREEN_DASHBOARD "put the dashboard into the program" ON)

find_program(CAREEN_NODE node)
find_program(CAREEN_NPM npm)
if(NOT CAREEN_NODE OR NOT CAREEN_NPM)
  set(node_missing "node and npm are not found")
else()
  execute_process(COMMAND ${CAREEN_NODE} --version OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT node_version MATCHES "^v([0-9]+)" OR CMAKE_MATCH_1 LESS 18)
    set(node_missing "${CAREEN_NODE} is ${node_version}, and 18 or newer is needed")
  endif()
endif()

# Puts the locked packages of `source` into `work`, once for each version of the lock file; `missing` is set to why not.
function(careen_npm_packages source work missing)
  file(SHA256 ${source}/package-lock.json lock)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source}/package-lock.json)
  set(stamp ${work}/installed)
  set(installed "")
  if(EXISTS ${stamp})
    file(READ ${stamp} installed)
  endif()
  if(installed STREQUAL lock)
    return()
  endif()
  file(COPY ${source}/package.json ${source}/package-lock.json ${source}/.npmrc DESTINATION ${work})
  message(STATUS "Fetching the packages of ${source}")
  execute_process(COMMAND ${CAREEN_NPM} ci --prefer-offline --ignore-scripts --no-audit --no-fund --loglevel=error
                          --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000
                  WORKING_DIRECTORY ${work} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE npm_says)
  if(failed)
    message(WARNING "npm ci failed in ${work}:\n${npm_says}")
    set(${missing} "its packages could not be fetched" PARENT_SCOPE)
    return()
  endif()
  file(WRITE ${stamp} ${lock})
endfunction()

set(dashboard_missing ${node_missing})
if(NOT CAREEN_DASHBOARD)
  set(dashboard_missing "this build does without")
elseif(NOT dashboard_missing)
  careen_npm_packages(${PROJECT_SOURCE_DIR}/web ${dashboard_work} dashboard_missing)
endif()

if(dashboard_missing)
  message(STATUS "Dashboard left out: ${dashboard_missing}. The JSON API is served alone")
  set(dashboard_source ${PROJECT_SOURCE_DIR}/cmake/no_dashboard.cc)
else()
  set(dashboard_source ${PROJECT_BINARY_DIR}/generated/dashboard_files.cc)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
  file(GLOB_RECURSE dashboard_inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/src/*)
  add_custom_command(OUTPUT ${dashboard_source}
    DEPENDS ${dashboard_inputs} ${PROJECT_SOURCE_DIR}/web/build.mjs ${PROJECT_SOURCE_DIR}/web/tsconfig.json
            ${PROJECT_SOURCE_DIR}/web/package-lock.json ${PROJECT_SOURCE_DIR}/cmake/embed.mjs
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dashboard_work}/src ${PROJECT_BINARY_DIR}/dashboard
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/web/src ${dashboard_work}/src
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/web/build.mjs ${PROJECT_SOURCE_DIR}/web/tsconfig.json
            ${dashboard_work}
    COMMAND ${CAREEN_NODE} ${dashboard_work}/build.mjs ${PROJECT_BINARY_DIR}/dashboard
    COMMAND ${CAREEN_NODE} ${PROJECT_SOURCE_DIR}/cmake/embed.mjs ${PROJECT_BINARY_DIR}/dashboard ${dashboard_source}
    COMMENT "Building the dashboard"
    VERBATIM)
  # A target of its own: the page can be built, and is, before the libraries below careen_web.
  add_custom_target(dashboard DEPENDS ${dashboard_source})
  add_dependencies(careen_web dashboard)
endif()
target_sources(careen_web PRIVATE ${dashboard_source})
