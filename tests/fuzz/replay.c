/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Runs a fuzz target once over every file of a corpus directory. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_MAX (1 << 20)

static int replay(int dir, const char *name)
{
	uint8_t *buf = malloc(INPUT_MAX), *exact;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 && buf ? read(fd, buf, INPUT_MAX) : -1;

	if (fd >= 0)
		close(fd);
	exact = len >= 0 ? malloc(len + !len) : NULL; /* its end is the block's end */
	if (exact) {
		memcpy(exact, buf, len);
		LLVMFuzzerTestOneInput(exact, len);
	} else {
		perror(name);
	}
	free(buf);
	free(exact);
	return exact ? 0 : -1;
}

int main(int argc, char **argv)
{
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *entry;
	unsigned n = 0, failed = 0;

	if (!dir) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		n++;
		failed += replay(dirfd(dir), entry->d_name) < 0;
	}
	closedir(dir);
	printf("%u inputs\n", n);
	/* An empty corpus tests nothing. */
	return n && !failed ? 0 : 1;
}
