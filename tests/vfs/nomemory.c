/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into smbd: of the module's calls of calloc(), and of libmigrate's, which is in it, the
 * nth fails.  n is in the file that $NOMEMORY names, of 4 bytes; it is counted down, 0: none does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_calloc(size_t n, size_t size);

static uint32_t *left;

__attribute__((constructor)) static void map(void)
{
	const char *path = getenv("NOMEMORY");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		left = p;
}

void *calloc(size_t n, size_t size)
{
	Dl_info info;

	if (left && *left && dladdr(__builtin_return_address(0), &info) &&
	    strstr(info.dli_fname, "/migrate.so") && --*left == 0) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(n, size);
}
