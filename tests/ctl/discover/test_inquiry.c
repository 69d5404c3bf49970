/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "ctl/discover/inquiry.h"
#include "tests/suite.h"

static struct inventory found;

/* What the stand-in at that address answers. */
static gboolean look(const char *host, const char *user, const char *password)
{
	const struct inquiry how = {.program = FAKE_ASKER,
				    .host = host,
				    .wait = 60,
				    .user = user,
				    .password = password};

	inventory_init(&found);
	return inquire(&how, &found, NULL);
}

static bool noted(const char *words)
{
	for (unsigned i = 0; i < found.notes->len; i++)
		if (strstr(found.notes->pdata[i], words))
			return true;
	return false;
}

START_TEST(everything)
{
	ck_assert(look("127.0.0.1", "DOM\\user", "secret"));
	ck_assert_uint_eq(found.notes->len, 0);
	ck_assert(!found.incomplete);
	ck_assert_uint_eq(found.services->len, 3);
	ck_assert_uint_eq(found.nfs->len, 1);
	ck_assert_uint_eq(found.exports->len, 2);
	const struct inventory_export *a = found.exports->pdata[0], *b = found.exports->pdata[1];
	ck_assert_str_eq(a->path, "/vol/a");
	ck_assert_uint_eq(a->rules->len, 2);
	ck_assert_str_eq(((struct inventory_rule *)a->rules->pdata[1])->clients, "@net");
	ck_assert_str_eq(a->sec, "sys, krb5");
	ck_assert(a->has_space && a->space.bytes == 1000 && a->space.available == 500);
	ck_assert_uint_eq(a->space.free_files, 40);
	ck_assert(!b->has_space);
	ck_assert_str_eq(b->refused, "MNT3ERR_ACCES");
	ck_assert_uint_eq(b->rules->len, 0);
	ck_assert_uint_eq(found.shares->len, 2);
	const struct inventory_share *share = found.shares->pdata[0];
	ck_assert_str_eq(share->comment, "what we do");
	ck_assert_uint_eq(found.smb->len, 5);
	ck_assert_str_eq(found.smb->pdata[0], "2.0.2");
	ck_assert_str_eq(found.smb->pdata[4], "3.1.1");
	inventory_clear(&found);
}
END_TEST

/* What came before holds, and the rest is asked all the same. */
START_TEST(hostile)
{
	ck_assert(look("127.0.0.2", NULL, NULL));
	ck_assert(noted("exports: its reply broke") && found.incomplete);
	ck_assert_uint_eq(found.exports->len, 1);
	ck_assert_uint_eq(found.shares->len, 2);
	inventory_clear(&found);

	ck_assert(look("127.0.0.3", NULL, NULL)); /* an export that was not asked about */
	ck_assert(noted("/vol/a: its reply makes no sense"));
	inventory_clear(&found);

	ck_assert(look("127.0.0.4", NULL, NULL));
	ck_assert(noted("/vol/b: its reply broke"));
	ck_assert(((struct inventory_export *)found.exports->pdata[0])->has_space);
	inventory_clear(&found);

	ck_assert(look("127.0.0.6", NULL, NULL)); /* a port beyond all */
	ck_assert(noted("services: its reply makes no sense"));
	ck_assert_uint_eq(found.services->len, 0);
	inventory_clear(&found);
}
END_TEST

START_TEST(partly)
{
	ck_assert(look("127.0.0.5", NULL, NULL)); /* MOUNT by UDP */
	ck_assert(noted("does not offer MOUNT 3 by TCP") && !found.incomplete);
	ck_assert_uint_eq(found.exports->len, 0);
	inventory_clear(&found);

	ck_assert(look("127.0.0.7", NULL, NULL)); /* shares for known users */
	ck_assert(noted("give --smb-user") && found.incomplete);
	ck_assert_uint_eq(found.smb->len, 5);
	inventory_clear(&found);
}
END_TEST

START_TEST(nobody)
{
	const struct inquiry how = {.program = FAKE_ASKER, .host = "127.0.0.9", .wait = 60};
	g_autoptr(GError) error = NULL;

	inventory_init(&found);
	ck_assert(!inquire(&how, &found, &error));
	ck_assert_str_eq(error->message, "127.0.0.9: NFS: nobody\\012there; SMB: nobody\\012there");
	inventory_clear(&found);
	ck_assert(!look("no host.", NULL, NULL));
	inventory_clear(&found);
}
END_TEST

START_TEST(flavours)
{
	g_autofree char *krb5p = inquiry_flavour("390005"), *other = inquiry_flavour("7");

	ck_assert_str_eq(krb5p, "krb5p");
	ck_assert_str_eq(other, "7");
	ck_assert_ptr_null(inquiry_flavour("x\ny"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("inquiry");

	tcase_add_test(tcase, everything);
	tcase_add_test(tcase, hostile);
	tcase_add_test(tcase, partly);
	tcase_add_test(tcase, nobody);
	tcase_add_test(tcase, flavours);
	return run_tcase(tcase);
}
