# SPDX-License-Identifier: GPL-3.0-or-later
# What the distribution has installed decides of which release headers have to be.  No package has
# them: <name>-headers.sh makes them.

# <package>'s version, or "" if it is not installed.  <full>: as dpkg has it, with epoch and revision
# (2:4.17.12+dfsg-0+deb12u1); <upstream>: without them (4.17.12+dfsg).
function(installed_version package full upstream)
  execute_process(COMMAND dpkg-query -W -f "\${db:Status-Status} \${Version}" ${package}
                  OUTPUT_VARIABLE answer ERROR_QUIET)
  string(REGEX MATCH "^installed (([0-9]+:)?(.+))$" _ "${answer}")
  set(${full} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  string(REGEX REPLACE "-[^-]*$" "" version "${CMAKE_MATCH_3}")
  set(${upstream} "${version}" PARENT_SCOPE)
endfunction()

# <out>: the tree with the headers of a release, made if <probe> is not in it.  It is ${<NAME>_CACHE},
# or one below /var/cache/quickmigrate.
function(cached_headers name version upstream package probe out)
  string(TOUPPER ${name} upper)
  set(tree "${${upper}_CACHE}")
  if(NOT tree)
    set(tree "/var/cache/quickmigrate/${name}-${version}")
  endif()
  if(NOT EXISTS "${tree}/${probe}")
    message(STATUS "Making the headers of ${name} ${version} in ${tree} (once; some minutes)")
    execute_process(COMMAND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name}-headers.sh
                            ${upstream} ${package} ${tree}
                    RESULT_VARIABLE result ERROR_VARIABLE error)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "${error}")
    endif()
  endif()
  set(${out} "${tree}" PARENT_SCOPE)
endfunction()
