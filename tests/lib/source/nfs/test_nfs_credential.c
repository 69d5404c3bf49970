/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys and ticket caches with which nothing can be had, and the lines for that; a realm is the
 * integration tests'. */
#include "lib/source/nfs/nfs_credential.h"

#include <krb5.h>

#include "tests/retriever/backend_support.h"

static char dir[] = "/tmp/test-nfs-credential-XXXXXX";
static struct nfs_url url = {.host = (char *)"old.test"};
static struct nfs_credential credential;
static char *file;

/* A realm whose KDC is not there. */
static void setup(void)
{
	g_autofree char *config = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	config = g_strconcat(dir, "/krb5.conf", NULL);
	file = g_strconcat(dir, "/file", NULL);
	ck_assert(g_file_set_contents(config,
				      "[libdefaults]\ndefault_realm = QM.TEST\n"
				      "dns_lookup_kdc = false\ndns_canonicalize_hostname = false\n"
				      "[realms]\nQM.TEST = {\nkdc = 127.0.0.1:1\n}\n",
				      -1, NULL));
	g_setenv("KRB5_CONFIG", config, TRUE);
}

static void teardown(void)
{
	g_autofree char *config = g_strconcat(dir, "/krb5.conf", NULL);

	nfs_credential_clear(&credential);
	unlink(config);
	unlink(file);
	rmdir(dir);
	g_free(file);
}

static void write_file(const char *text, mode_t mode)
{
	ck_assert(g_file_set_contents(file, text, -1, NULL));
	ck_assert_int_eq(chmod(file, mode), 0);
}

static void write_keytab(const char *principal)
{
	g_autofree char *name = g_strconcat("WRFILE:", file, NULL);
	krb5_context context;
	krb5_keytab keytab;
	krb5_keytab_entry entry = {.vno = 1};

	ck_assert(!krb5_init_context(&context));
	ck_assert(!krb5_kt_resolve(context, name, &keytab));
	ck_assert(!krb5_parse_name(context, principal, &entry.principal));
	ck_assert(!krb5_c_make_random_key(context, ENCTYPE_AES256_CTS_HMAC_SHA1_96, &entry.key));
	ck_assert(!krb5_kt_add_entry(context, keytab, &entry));
	krb5_free_keyblock_contents(context, &entry.key);
	krb5_free_principal(context, entry.principal);
	krb5_kt_close(context, keytab);
	krb5_free_context(context);
	ck_assert_int_eq(chmod(file, 0600), 0);
}

/* As a context is begun: the words, or NULL. */
static char *objection(const struct nfs_config *config)
{
	static const char target[] = "nfs@old.test";
	gss_buffer_desc text = {.length = strlen(target), .value = (void *)target}, token;
	gss_ctx_id_t context = GSS_C_NO_CONTEXT;
	gss_cred_id_t got;
	gss_name_t name;
	OM_uint32 major, minor, ignored;
	char *why;

	nfs_credential_clear(&credential);
	nfs_credential_init(&credential, &url, config);
	got = nfs_credential_get(&credential, &why);
	if (!why) {
		gss_import_name(&ignored, &text, GSS_C_NT_HOSTBASED_SERVICE, &name);
		major = gss_init_sec_context(&minor, got, &context, name, GSS_C_NO_OID, 0, 0, NULL,
					     NULL, NULL, &token, NULL, NULL);
		if (GSS_ERROR(major))
			why = nfs_credential_explain(&credential, major, minor);
		gss_release_name(&ignored, &name);
		gss_release_buffer(&ignored, &token);
		gss_delete_sec_context(&ignored, &context, NULL);
	}
	gss_release_cred(&ignored, &got);
	return why;
}

static void check(const struct nfs_config *config, const char *words)
{
	g_autofree char *why = objection(config);

	ck_assert_msg(why && strstr(why, words), "%s", why);
	ck_assert_ptr_null(strchr(why, '\n'));
}

START_TEST(keys_that_are_of_no_use)
{
	struct nfs_config config = {.keytab = file};

	check(&config, "nfs-keytab = ");
	check(&config, "is not there: write keys into it");
	write_file("no keys", 0600);
	check(&config, "it has no key of the principal");
	unlink(file);
	write_keytab("nfs/new.test@QM.TEST");
	check(&config, "Cannot contact any KDC");
	check(&config, "see to /etc/krb5.conf");
	config.principal = (char *)"nfs/new.test@QM.TEST";
	check(&config, "Cannot contact any KDC");
	config.principal = (char *)"nfs/other.test";
	check(&config, "it has no key of the principal");
	chmod(file, 0640);
	check(&config, "can be read or changed by others");
}
END_TEST

START_TEST(tickets_that_are_of_no_use)
{
	struct nfs_config config = {.ccache = file};

	check(&config, "nfs-ccache = ");
	check(&config, "is not there: get a ticket");
	write_file("no tickets", 0600);
	check(&config, "it is no ticket cache");
	chmod(file, 0644);
	check(&config, "can be read or changed by others");
}
END_TEST

START_TEST(each_gets_what_to_do)
{
	static const struct {
		OM_uint32 minor;
		const char *words;
	} lines[] = {
		{(OM_uint32)KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, "write the name in the URL"},
		{(OM_uint32)KRB5KRB_AP_ERR_SKEW, "(NTP)"},
		{(OM_uint32)KRB5KRB_AP_ERR_TKT_EXPIRED, "renew the tickets"},
		{(OM_uint32)KRB5KRB_AP_ERR_BAD_INTEGRITY, "put the present ones into the keytab"},
		{(OM_uint32)KRB5KRB_ERR_GENERIC, "try kvno nfs/NAME"},
	};
	const struct nfs_config config = {.ccache = file};

	nfs_credential_init(&credential, &url, &config);
	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_autofree char *why =
			nfs_credential_explain(&credential, GSS_S_FAILURE, lines[i].minor);

		ck_assert_msg(strstr(why, lines[i].words), "%s", why);
		ck_assert(g_str_has_prefix(why, "no ticket for nfs/old.test from "));
	}
	ck_assert(!nfs_credential_is_old(&credential, (OM_uint32)KRB5KRB_AP_ERR_TKT_EXPIRED));
	nfs_credential_clear(&credential);
	nfs_credential_init(&credential, &url, NULL);
	ck_assert_str_eq(credential.keytab, "/etc/krb5.keytab");
	ck_assert(nfs_credential_is_old(&credential, (OM_uint32)KRB5KRB_AP_ERR_TKT_EXPIRED));
	ck_assert(!nfs_credential_is_old(&credential, (OM_uint32)KRB5_KDC_UNREACH));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, keys_that_are_of_no_use);
	tcase_add_test(tcase, tickets_that_are_of_no_use);
	tcase_add_test(tcase, each_gets_what_to_do);
	return run_tcase(tcase);
}
