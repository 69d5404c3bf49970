/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "record.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint8_t boot_id[16];

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* A UUID in text, lower case: 16 bytes with dashes somewhere between them. */
static bool parse(const char *text, ssize_t len)
{
	size_t nibbles = 0;

	for (ssize_t i = 0; i < len && nibbles < 32; i++) {
		int digit = hex_digit(text[i]);

		if (text[i] == '-')
			continue;
		if (digit < 0)
			return false;
		boot_id[nibbles / 2] = boot_id[nibbles / 2] << 4 | digit;
		nibbles++;
	}
	return nibbles == 32;
}

static void read_boot_id(void)
{
	char text[64];
	ssize_t len = -1;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		len = read(fd, text, sizeof(text));
		close(fd);
	}
	/* Without /proc this process is a boot of its own: nobody's dirty ranges are believed. */
	if (!parse(text, len) && getrandom(boot_id, sizeof(boot_id), 0) != sizeof(boot_id))
		memset(boot_id, 0xff, sizeof(boot_id));
}

const uint8_t *migrate_boot_id(void)
{
	pthread_once(&once, read_boot_id);
	return boot_id;
}
