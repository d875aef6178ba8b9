# Run by the build: puts a file of a pinned npm package into the build folder, and installs the package first when nobody has
# (`./dev setup` does). Needs WEB (this folder), FILE (below node_modules) and OUT.
if(NOT EXISTS ${WEB}/node_modules/${FILE})
  find_program(NPM npm)
  if(NOT NPM)
    message(FATAL_ERROR "${FILE} is missing and there is no npm: install npm, or run ./dev setup")
  endif()
  execute_process(COMMAND ${NPM} ci --no-audit --no-fund --loglevel=error WORKING_DIRECTORY ${WEB} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "npm ci failed in ${WEB}: ${failed}")
  endif()
endif()
configure_file(${WEB}/node_modules/${FILE} ${OUT} COPYONLY)
