/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/source/say.h"
#include "tests/suite.h"

/* What is said is heard as it was. */
START_TEST(round_trip)
{
	const char *const fields[] = {"export", "", "/a b\xff\n", NULL};
	char data[SAY_MAX];
	int socks[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks), 0);
	ck_assert(say(socks[0], fields));
	const ssize_t n = recv(socks[1], data, sizeof(data), 0);
	ck_assert_int_gt(n, 0);
	g_auto(GStrv) heard = hear(data, (size_t)n);
	ck_assert(heard && g_strv_equal((const char *const *)heard, fields));
	/* of which every part is nothing */
	for (size_t len = 0; len < (size_t)n; len++) {
		g_auto(GStrv) less = hear(data, len);
		ck_assert(!less || g_strv_length(less) < 3);
	}
	close(socks[1]);
	ck_assert(!say(socks[0], fields));
	close(socks[0]);
}
END_TEST

START_TEST(too_long)
{
	g_autofree char *text = g_strnfill(SAY_MAX, 'x');
	const char *const fields[] = {text, NULL};

	ck_assert(!say(-1, fields));
}
END_TEST

static bool understood(const char *bytes, size_t len)
{
	g_auto(GStrv) heard = hear(bytes, len);

	return heard != NULL;
}

START_TEST(nonsense)
{
	const char *many[SAY_FIELDS + 2] = {NULL};
	g_autoptr(GRand) chance = g_rand_new_with_seed(1);

	ck_assert(!understood("", 0));
	ck_assert(!understood("abc", 3));
	ck_assert(!understood("abc\3", 4));    /* no NUL */
	ck_assert(!understood("a\0c\0\4", 5)); /* one inside */
	ck_assert(understood("abc\0\4", 5));
	ck_assert(!understood("abc\0\5", 5));	   /* beyond */
	ck_assert(!understood("abc\0d\0\6\3", 8)); /* backwards */
	for (unsigned i = 0; i <= SAY_FIELDS; i++)
		many[i] = "x";
	g_autoptr(GVariant) list = g_variant_ref_sink(g_variant_new_bytestring_array(many, -1));
	ck_assert(!understood(g_variant_get_data(list), g_variant_get_size(list)));
	for (unsigned round = 0; round < 20000; round++) {
		char bytes[64];
		const size_t len = (size_t)g_rand_int_range(chance, 0, sizeof(bytes));

		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)g_rand_int_range(chance, 0, 1 + (int)(round % 256));
		g_auto(GStrv) heard = hear(bytes, len);
		ck_assert(!heard || *heard);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("say");

	tcase_add_test(tcase, round_trip);
	tcase_add_test(tcase, too_long);
	tcase_add_test(tcase, nonsense);
	return run_tcase(tcase);
}
