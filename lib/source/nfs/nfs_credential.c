/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_credential.h"

#include <errno.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>
#include <sys/stat.h>

#include "lib/base/private_file.h"

#define SYSTEM_KEYTAB "/etc/krb5.keytab"

void nfs_credential_init(struct nfs_credential *credential, const struct nfs_url *url,
			 const struct nfs_config *config)
{
	static const struct nfs_config none;

	if (!config)
		config = &none;
	*credential = (struct nfs_credential){
		.host = url->host,
		.keytab = config->ccache
				  ? NULL
				  : g_strdup(config->keytab ? config->keytab : SYSTEM_KEYTAB),
		.ccache = g_strdup(config->ccache),
		.principal = g_strdup(config->principal),
		.memory = g_strdup_printf("MEMORY:quickmigrate-%p", (void *)credential),
	};
	pthread_mutex_init(&credential->lock, NULL);
}

void nfs_credential_clear(struct nfs_credential *credential)
{
	if (!credential->host)
		return;
	nfs_credential_forget(credential);
	pthread_mutex_destroy(&credential->lock);
	g_free(credential->keytab);
	g_free(credential->ccache);
	g_free(credential->principal);
	g_free(credential->memory);
	credential->host = NULL;
}

void nfs_credential_forget(struct nfs_credential *credential)
{
	krb5_context context;
	krb5_ccache cache;

	if (!credential->keytab || krb5_init_context(&context))
		return;
	if (!krb5_cc_resolve(context, credential->memory, &cache))
		krb5_cc_destroy(context, cache);
	krb5_free_context(context);
}

/* ---- in words ---- */

static char *display(OM_uint32 value, int type)
{
	gss_OID_desc krb5 = *gss_mech_krb5;
	gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
	OM_uint32 ignored, more = 0;
	char *said = NULL;

	if (gss_display_status(&ignored, value, type, &krb5, &more, &text) == GSS_S_COMPLETE)
		said = g_strndup(text.value, text.length);
	gss_release_buffer(&ignored, &text);
	return said ? said : g_strdup_printf("error %u", value);
}

static const struct {
	OM_uint32 minor;
	const char *remedy;
} remedies[] = {
	{(OM_uint32)KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN,
	 "the realm has no nfs/NAME of that server: write the name in the URL that its keytab has"},
	{(OM_uint32)KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN,
	 "the realm does not know this host's principal: see to the keytab and nfs-principal"},
	{(OM_uint32)KRB5KRB_AP_ERR_BAD_INTEGRITY,
	 "its keys were changed: put the present ones into the keytab"},
	{(OM_uint32)KRB5KDC_ERR_PREAUTH_FAILED,
	 "its keys were changed: put the present ones into the keytab"},
	{(OM_uint32)KRB5KRB_AP_ERR_SKEW,
	 "set this host's clock and the KDC's to the same time (NTP)"},
	{(OM_uint32)KRB5KRB_AP_ERR_TKT_EXPIRED,
	 "renew the tickets (k5start, or kinit -k from a timer), or use nfs-keytab"},
	{(OM_uint32)KRB5_KDC_UNREACH,
	 "see to /etc/krb5.conf, the name service and the network to the KDC"},
	{(OM_uint32)KRB5_REALM_UNKNOWN, "see to /etc/krb5.conf"},
	{(OM_uint32)KRB5_REALM_CANT_RESOLVE, "see to /etc/krb5.conf and the name service"},
	{(OM_uint32)KRB5KDC_ERR_CLIENT_REVOKED, "the realm's administrator can unlock it"},
	{(OM_uint32)KRB5_FCC_NOFILE, "get a ticket (kinit -c FILE)"},
	{(OM_uint32)KRB5_CC_FORMAT, "it is no ticket cache: get a ticket (kinit -c FILE)"},
	{(OM_uint32)KRB5_CCACHE_BADVNO, "it is no ticket cache: get a ticket (kinit -c FILE)"},
};

static const char *remedy_of(const struct nfs_credential *credential, OM_uint32 major,
			     OM_uint32 minor)
{
	/* the library looks for a cache when it finds no key */
	if (credential->keytab && minor == (OM_uint32)KRB5_FCC_NOFILE)
		return "it has no key of the principal: see klist -k FILE, or name another one "
		       "with nfs-principal";
	for (size_t i = 0; i < G_N_ELEMENTS(remedies); i++)
		if (remedies[i].minor == minor)
			return remedies[i].remedy;
	if (GSS_ROUTINE_ERROR(major) == GSS_S_CREDENTIALS_EXPIRED)
		return "renew the tickets (k5start, or kinit -k from a timer), or use nfs-keytab";
	return "try kvno nfs/NAME with that keytab or ticket cache";
}

char *nfs_credential_explain(const struct nfs_credential *credential, OM_uint32 major,
			     OM_uint32 minor)
{
	g_autofree char *said =
		display(minor ? minor : major, minor ? GSS_C_MECH_CODE : GSS_C_GSS_CODE);

	return g_strdup_printf("no ticket for nfs/%s from %s: %s: %s", credential->host,
			       credential->keytab ? credential->keytab : credential->ccache, said,
			       remedy_of(credential, major, minor));
}

bool nfs_credential_is_old(const struct nfs_credential *credential, OM_uint32 minor)
{
	return credential->keytab && minor == (OM_uint32)KRB5KRB_AP_ERR_TKT_EXPIRED;
}

/* ---- the credential ---- */

static char *file_objection(const struct nfs_credential *credential)
{
	bool keys = credential->keytab;
	const char *path = keys ? credential->keytab : credential->ccache, *why;
	struct stat st;

	if (stat(path, &st) == 0)
		why = private_file_objection(&st);
	else if (errno != ENOENT)
		why = g_strerror(errno);
	else
		why = keys ? "is not there: write keys into it (ktadd -k FILE)"
			   : "is not there: get a ticket (kinit -c FILE)";
	return why ? g_strdup_printf("%s = %s: %s", keys ? "nfs-keytab" : "nfs-ccache", path, why)
		   : NULL;
}

static gss_name_t import_principal(const struct nfs_credential *credential)
{
	gss_buffer_desc text = {.value = credential->principal};
	gss_name_t name = GSS_C_NO_NAME;
	OM_uint32 minor;

	if (!credential->principal)
		return GSS_C_NO_NAME;
	text.length = strlen(credential->principal);
	gss_import_name(&minor, &text, (gss_OID)GSS_KRB5_NT_PRINCIPAL_NAME, &name);
	return name;
}

gss_cred_id_t nfs_credential_get(struct nfs_credential *credential, char **why)
{
	gss_OID_set_desc mechanisms = {.count = 1, .elements = (gss_OID)gss_mech_krb5};
	g_autofree char *file = g_strconcat("FILE:", credential->ccache, NULL);
	gss_key_value_element_desc places[2] = {{"ccache", file}};
	gss_key_value_set_desc store = {.count = 1, .elements = places};
	gss_cred_id_t got = GSS_C_NO_CREDENTIAL;
	gss_name_t name;
	OM_uint32 major, minor, ignored;

	*why = file_objection(credential);
	if (*why)
		return GSS_C_NO_CREDENTIAL;
	if (credential->keytab) {
		places[0].value = credential->memory;
		places[1] = (gss_key_value_element_desc){"client_keytab", credential->keytab};
		store.count = 2;
	}
	name = import_principal(credential);
	major = gss_acquire_cred_from(&minor, name, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE,
				      &store, &got, NULL, NULL);
	if (GSS_ERROR(major))
		*why = nfs_credential_explain(credential, major, minor);
	gss_release_name(&ignored, &name);
	return got;
}
