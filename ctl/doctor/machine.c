/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gnutls/x509.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

#include "ctl/doctor/looks.h"

#define EXPIRES_SOON (14 * 86400)
#define GIB	     (1 << 30)
#define SPACE_LEAST  ((uint64_t)256 << 20)

/* ---- the file system ------------------------------------------------------------------------- */

static uint64_t count_of(struct doctor *doctor, const char *key)
{
	return g_key_file_get_uint64(doctor->status, "counters", key, NULL);
}

static void look_at_space(struct doctor *doctor, const struct statvfs *vfs)
{
	const uint64_t room = (uint64_t)vfs->f_bavail * vfs->f_frsize;
	const uint64_t found = count_of(doctor, "bytes-found");
	const uint64_t left = found - MIN(found, count_of(doctor, "bytes-whole"));
	const gboolean all = g_key_file_get_boolean(doctor->status, "namespace", "complete", NULL);
	const gboolean inodes = all || !vfs->f_files || vfs->f_favail > vfs->f_files / 100;
	const enum finding_level level = room < SPACE_LEAST || !inodes ? FINDING_FAULT
					 : room < left		       ? FINDING_WARNING
								       : FINDING_OK;

	findings_add(doctor->findings, level, "Space",
		     level ? "grow the file system, or make room: what finds none fails" : NULL,
		     "%.1f GiB free%s; %s%.1f GiB to come", (double)room / GIB,
		     inodes ? "" : ", hardly any inodes", all ? "" : "at least ",
		     (double)left / GIB);
}

static void look_at_mount(struct doctor *doctor)
{
	const char *root = doctor->config->root;
	struct stat at, top;
	struct statvfs vfs;

	if (stat(root, &at) || statvfs(root, &vfs) || stat("/", &top)) {
		findings_add(doctor->findings, FINDING_FAULT, "Mount", "mount its file system",
			     "%s: %s", root, g_strerror(errno));
		return;
	}
	if (at.st_dev == top.st_dev)
		findings_add(doctor->findings,
			     doctor->config->guard == GUARD_NO ? FINDING_WARNING : FINDING_FAULT,
			     "Mount", "mount the volume's own, which the guard needs",
			     "%s is on the system's file system", root);
	else if (vfs.f_flag & ST_RDONLY)
		findings_add(doctor->findings, FINDING_FAULT, "Mount",
			     "look into the kernel's log, then mount it with write rights",
			     "%s cannot be written", root);
	else
		findings_add(doctor->findings, FINDING_OK, "Mount", NULL,
			     "%s is on a file system of its own", root);
	look_at_space(doctor, &vfs);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void look_at_secrets(struct doctor *doctor)
{
	const struct smb_config *smb = doctor->config->smb;
	const struct nfs_config *nfs = doctor->config->nfs;
	const char *const files[] = {
		smb ? smb->password_file : NULL, smb ? smb->ccache : NULL,
		nfs ? nfs->keytab : NULL,	 nfs ? nfs->ccache : NULL,
		nfs ? nfs->key : NULL,		 doctor->config->rollback_password_file,
		doctor->config->rollback_ccache};
	struct stat st;

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		if (!files[i])
			continue;
		if (stat(files[i], &st))
			findings_add(doctor->findings, FINDING_FAULT, "Secrets",
				     "write it anew, for root alone (chmod 600)", "%s: %s",
				     files[i], g_strerror(errno));
		else if (st.st_mode & 077 || st.st_uid)
			findings_add(doctor->findings, FINDING_FAULT, "Secrets",
				     "chown root and chmod 600 it", "%s: others can use it",
				     files[i]);
		else
			findings_add(doctor->findings, FINDING_OK, "Secrets", NULL,
				     "%s is for root alone", files[i]);
	}
}

/* When the first of the file's certificates ends, and *last: the last; -1: it has none that can be
 * read. */
static time_t first_end(const char *file, time_t *last)
{
	gnutls_x509_crt_t *list;
	g_autofree char *text = NULL;
	time_t first = -1;
	unsigned n;
	gsize len;

	if (!g_file_get_contents(file, &text, &len, NULL))
		return -1;
	const gnutls_datum_t datum = {(unsigned char *)text, (unsigned)len};
	if (gnutls_x509_crt_list_import2(&list, &n, &datum, GNUTLS_X509_FMT_PEM, 0) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		const time_t end = gnutls_x509_crt_get_expiration_time(list[i]);

		first = i && first < end ? first : end;
		*last = i && *last > end ? *last : end;
		gnutls_x509_crt_deinit(list[i]);
	}
	gnutls_free(list);
	return first;
}

/* several: of certificates in the file any one will do. */
static void look_at_certificate(struct doctor *doctor, const char *file, gboolean several,
				time_t now)
{
	time_t last = -1;
	const time_t end = first_end(file, &last);
	g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(end);
	g_autofree char *day = g_date_time_format(when, "%F");
	const enum finding_level level = (several ? last : end) < now ? FINDING_FAULT
					 : end < now + EXPIRES_SOON   ? FINDING_WARNING
								      : FINDING_OK;

	if (end < 0)
		findings_add(doctor->findings, level, "Certificates",
			     "put the certificate there, as PEM", "%s cannot be read as one", file);
	else
		findings_add(doctor->findings, level, "Certificates",
			     level ? "have a new one made" : NULL, "%s%s %s %s", file,
			     last > end ? ", one of several:" : "",
			     end < now ? "has ended" : "holds until", day);
}

void look_at_machine(struct doctor *doctor, time_t now)
{
	const struct nfs_config *nfs = doctor->config->nfs;
	struct timex timex = {0};
	const gboolean good = adjtimex(&timex) >= 0 && !(timex.status & STA_UNSYNC);

	look_at_mount(doctor);
	look_at_secrets(doctor);
	if (nfs && nfs->ca)
		look_at_certificate(doctor, nfs->ca, TRUE, now);
	if (nfs && nfs->certificate)
		look_at_certificate(doctor, nfs->certificate, FALSE, now);
	findings_add(doctor->findings, good ? FINDING_OK : FINDING_WARNING, "Clock",
		     good ? NULL : "install and start chrony, or start systemd-timesyncd",
		     good ? "is synchronised" : "is not synchronised");
}
