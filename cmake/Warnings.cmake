# SPDX-License-Identifier: GPL-3.0-or-later
# Warnings are errors unless -DWERROR=OFF.
option(WERROR "Treat warnings as errors" ON)
add_compile_options(-Wall -Wextra $<$<C_COMPILER_ID:GNU>:-Wshadow=local> -Wvla -Wpointer-arith -Wstrict-prototypes
                    -Wmissing-prototypes -Wformat=2 -Wno-unused-parameter
                    -Wno-missing-field-initializers)
if(WERROR)
  add_compile_options(-Werror)
endif()
add_compile_definitions(_GNU_SOURCE _FILE_OFFSET_BITS=64)
