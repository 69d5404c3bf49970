/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tickets come from the retriever, and are kept in this process, as the library takes no cache
 * from a file without a name.  The ticket for the server is got here and not by the log-on, which
 * would not tell why there is none.
 *
 * The library is the one that Samba brings (Heimdal).  Its headers are made only while Samba is
 * built, so the few functions that are used are declared here; structures are only handed from one
 * function to the next.
 */
#include "lib/source/smb/worker/kerberos.h"

#include <dlfcn.h>

#define CCACHE "MEMORY:migrate"

typedef struct krb5_context_data *context_t;
typedef struct krb5_storage_data *storage_t;
typedef struct krb5_ccache_data *ccache_t;
typedef struct Principal *principal_t;
struct krb5_creds;

__attribute__((visibility("default"))) int krb5_init_context(context_t *made);
__attribute__((visibility("default"))) int krb5_set_config_files(context_t which, char **files);
storage_t krb5_storage_from_readonly_mem(const void *data, size_t len);
int krb5_ret_principal(storage_t storage, principal_t *principal);
int krb5_ret_creds(storage_t storage, struct krb5_creds *creds);
int krb5_cc_resolve(context_t context, const char *name, ccache_t *ccache);
int krb5_cc_initialize(context_t context, ccache_t ccache, principal_t principal);
int krb5_cc_store_cred(context_t context, ccache_t ccache, struct krb5_creds *creds);
int krb5_free_cred_contents(context_t context, struct krb5_creds *creds);
int krb5_unparse_name(context_t context, principal_t principal, char **name);
const char *krb5_principal_get_realm(context_t context, principal_t principal);
int krb5_make_principal(context_t context, principal_t *principal, const char *realm, ...);
int krb5_get_creds(context_t context, void *options, ccache_t ccache, principal_t principal,
		   struct krb5_creds **creds);
char *smb_krb5_get_realm_from_hostname(TALLOC_CTX *mem, const char *host, const char *realm);

int krb5_copy_context(context_t context, context_t *copy);

static context_t context;

static void must(struct worker *worker, int ret)
{
	if (ret)
		worker_fail(worker, WIRE_F_TICKET, (uint32_t)ret);
}

/* What comes before the principal: a version, and a header with its length. */
static size_t header_length(const struct wire_start *start)
{
	return start->ccache_len < 4 ? start->ccache_len
				     : MIN(start->ccache_len, 4u + RSVAL(start->ccache, 2));
}

static principal_t fill_ccache(struct worker *worker, const struct wire_start *start,
			       ccache_t ccache)
{
	/* a struct krb5_creds has less than 200 bytes */
	_Alignas(max_align_t) char room[2048];
	struct krb5_creds *creds = (struct krb5_creds *)room;
	size_t begin = header_length(start);
	storage_t storage =
		krb5_storage_from_readonly_mem(start->ccache + begin, start->ccache_len - begin);
	principal_t user;

	must(worker, storage ? 0 : ENOMEM);
	must(worker, krb5_ret_principal(storage, &user));
	must(worker, krb5_cc_initialize(context, ccache, user));
	while (krb5_ret_creds(storage, creds) == 0) {
		must(worker, krb5_cc_store_cred(context, ccache, creds));
		krb5_free_cred_contents(context, creds);
	}
	return user;
}

void kerberos_begin(struct worker *worker)
{
	must(worker, krb5_init_context(&context));
}

/* In place of the library's: Samba makes a context in many places, and reads the configuration each
 * time; after sandbox_close() what is configured (realms, ciphers) would be missing there. */
int krb5_init_context(context_t *made)
{
	int (*init)(context_t *) = (int (*)(context_t *))dlsym(RTLD_NEXT, "krb5_init_context");

	return context ? krb5_copy_context(context, made) : init(made);
}

int krb5_set_config_files(context_t which, char **files)
{
	int (*set)(context_t, char **) =
		(int (*)(context_t, char **))dlsym(RTLD_NEXT, "krb5_set_config_files");

	return context ? 0 : set(which, files);
}

struct cli_credentials *kerberos_credentials(struct worker *worker, const struct wire_start *start)
{
	ccache_t ccache;
	principal_t user, server;
	struct krb5_creds *ticket;
	struct cli_credentials *creds;
	const char *realm;
	char *name, *server_realm;

	must(worker, krb5_cc_resolve(context, CCACHE, &ccache));
	user = fill_ccache(worker, start, ccache);
	must(worker, krb5_unparse_name(context, user, &name));
	realm = krb5_principal_get_realm(context, user);
	server_realm = smb_krb5_get_realm_from_hostname(worker, start->host, realm);
	must(worker, server_realm ? 0 : ENOMEM);
	must(worker,
	     krb5_make_principal(context, &server, server_realm, "cifs", start->host, NULL));
	must(worker, krb5_get_creds(context, NULL, ccache, server, &ticket));
	setenv("KRB5CCNAME", CCACHE, 1);
	creds = cli_session_creds_init(worker, name, *start->domain ? start->domain : NULL, realm,
				       NULL, true, false, false, false);
	return creds;
}
