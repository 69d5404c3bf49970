/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/ctl/doctor/told.h"

#define UNIT(name, active, enabled, mounts)                                                        \
	"Id=" name ".service\nActiveState=" active "\nResult=exit-code\nUnitFileState=" enabled    \
	"\nRequiresMountsFor=/x " mounts "\n\n"

START_TEST(all_run)
{
	const char *text = UNIT("migrate-retriever@v", "active", "enabled", "/proc")
		UNIT("migrate-guard@v", "active", "enabled-runtime", "/proc")
			UNIT("migrate-journal@v", "active", "disabled", "")
				UNIT("migrate-crawler@v", "inactive", "disabled", "")
					UNIT("nfs-ganesha", "active", "enabled", "/proc");

	begin_doctor("[volume]\nstate=migrating\n");
	look_at_units(&doctor, text, FALSE);
	end_doctor("ok       Units         run as they should\n");
}
END_TEST

START_TEST(each_that_does_not_is_a_line)
{
	const char *text = UNIT("migrate-retriever@v", "failed", "enabled", "/proc")
		UNIT("migrate-guard@v", "active", "disabled", "/proc")
			UNIT("migrate-journal@v", "inactive", "disabled", "")
				UNIT("migrate-crawler@v", "failed", "disabled", "")
					UNIT("smbd", "active", "enabled", "/procs");

	begin_doctor("");
	look_at_units(&doctor, text, FALSE);
	end_doctor(
		"fault    Units         migrate-retriever@v.service has failed (exit-code); "
		"journalctl\n"
		"warning  Units         migrate-guard@v.service is not started at boot; systemctl "
		"enable\n"
		"warning  Units         migrate-journal@v.service is not running; systemctl start\n"
		"warning  Units         migrate-crawler@v.service has failed\n"
		"warning  Units         smbd.service does not wait for the mount of /proc; "
		"systemctl edit\n");
	begin_doctor("");
	look_at_units(&doctor,
		      "Id=migrate-guard@v.service\nActiveState=activating\nSubState=auto-restart\n"
		      "Result=exit-code\n",
		      FALSE);
	end_doctor("fault    Units         migrate-guard@v.service has failed (exit-code)\n");
	begin_doctor("[journal]\nclosed=true\n");
	volume.guard = GUARD_NO;
	look_at_units(&doctor,
		      UNIT("migrate-retriever@v", "inactive", "enabled", "/proc")
			      UNIT("migrate-guard@v", "inactive", "disabled", "")
				      UNIT("migrate-journal@v", "inactive", "disabled", ""),
		      FALSE);
	end_doctor("fault    Units         migrate-retriever@v.service is not running; systemctl "
		   "start\n");
	volume.guard = GUARD_YES;
}
END_TEST

/* After the end, in a cluster, and without systemd. */
START_TEST(what_is_not_needed_is_none)
{
	const char *text = UNIT("migrate-retriever@v", "inactive", "disabled", "");

	begin_doctor("[volume]\nstate=finished\n");
	look_at_units(&doctor, text, FALSE);
	end_doctor("ok       Units\n");
	begin_doctor("");
	look_at_units(&doctor, UNIT("migrate-retriever@v", "active", "disabled", ""), TRUE);
	end_doctor("ok       Units\n");
	begin_doctor("");
	look_at_units(&doctor, NULL, FALSE);
	end_doctor("warning  Units         systemctl does not tell\n");
}
END_TEST

START_TEST(systemctl_is_asked)
{
	char bin[64];

	make_scratch(bin, "units");
	g_autofree char *program = g_build_filename(bin, "systemctl", NULL);
	g_autofree char *path = g_strconcat(bin, ":", g_getenv("PATH"), NULL);
	ck_assert(g_file_set_contents(program, "#!/bin/sh\nshift 2\necho \"$@\"\n", -1, NULL));
	ck_assert_int_eq(chmod(program, 0755), 0);
	g_setenv("PATH", path, TRUE);
	g_autofree char *text = units_ask("v");
	ck_assert_str_eq(text, "migrate-retriever@v.service migrate-guard@v.service "
			       "migrate-journal@v.service migrate-crawler@v.service "
			       "migrate-rollback@v.service nfs-ganesha.service smbd.service");
	unlink(program);
	rmdir(bin);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("units");

	tcase_add_test(tcase, all_run);
	tcase_add_test(tcase, each_that_does_not_is_a_line);
	tcase_add_test(tcase, what_is_not_needed_is_none);
	tcase_add_test(tcase, systemctl_is_asked);
	return run_tcase(tcase);
}
