/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "common/record.h"
#include "tests/ctl/doctor/told.h"

#define GUARDED "[guard]\nwanted=true\nguarded=true\n"
#define KNOWN	"[journal]\nrunning=true\nfull=false\ncomplete=true\n"

static void is_told(int answer, const char *status, const char *expected)
{
	begin_doctor(status);
	doctor.answer = answer;
	look_at_status(&doctor);
	end_doctor(expected);
}

START_TEST(all_is_well)
{
	is_told(0, "[volume]\nstate=migrating\n[doors]\npast=false\n" GUARDED KNOWN,
		"ok       Retriever     answers\nok       Guard         is on\nok       Doors\n"
		"ok       Journal       knows all changes\nok       Objects       0 failed\n");
	is_told(0, "[volume]\nstate=finished\n[guard]\nwanted=true\n[journal]\nclosed=true\n",
		"ok       Retriever\nok       Journal       is closed\nok       Objects\n");
}
END_TEST

START_TEST(what_is_wrong_has_its_remedy)
{
	char root[64];
	make_scratch(root, "doctor");
	g_autofree char *private = g_build_filename(root, MIGRATE_PRIVATE_DIR, NULL);
	ck_assert_int_eq(g_mkdir(private, 0700), 0);
	const int fd = open(private, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	close(fd);
	volume.root = root;
	is_told(-ENOTCONN, "[guard]\nwanted=true\nguarded=false\n",
		"fault    Retriever     is not running; systemctl start migrate-retriever@v\n"
		"fault    Guard         is not running: programs of this machine wait, or read "
		"zeros; "
		"systemctl start migrate-guard@v\n");
	is_told(-ETIME, "[guard]\nwanted=false\nguarded=false\n",
		"fault    Retriever     does not answer; journalctl -u migrate-retriever@v\n"
		"warning  Guard         is not wanted\n");
	volume.root = (char *)"/proc";
	ck_assert_int_eq(g_rmdir(private), 0);
	ck_assert_int_eq(g_rmdir(root), 0);
	is_told(-EPROTO, "", "fault    Retriever     is of another version; systemctl restart\n");
	is_told(0,
		"[volume]\nstate=migrating\nroot-replaced=true\n[doors]\npast=true\n"
		"[counters]\nerrors=2609\n[journal]\nrunning=true\ncomplete=false\n",
		"fault    Retriever     has another directory open\n"
		"fault    Doors         a file server serves it without the layer\n"
		"warning  Journal       has a gap: changes may be missing; migratectl changes "
		"--settle v\n"
		"warning  Objects       2609 failed; migratectl errors --summary v\n");
	is_told(0, "[volume]\nstate=whole\n[journal]\nrunning=true\nfull=true\n",
		"ok       Retriever\nfault    Journal       has no room\nok       Objects\n");
	is_told(0, "[volume]\nstate=migrating\n",
		"ok       Retriever\nwarning  Journal       there is none\nok       Objects\n");
	is_told(0, "[volume]\nstate=whole\n[journal]\nrunning=false\n",
		"ok       Retriever\nwarning  Journal       is not running\nok       Objects\n");
}
END_TEST

START_TEST(what_the_file_system_can_do)
{
	is_told(0,
		"[volume]\nstate=whole\n" KNOWN
		"[capabilities]\nhandles=yes\nleases=nothing is written\nholes=yes\n",
		"ok       Retriever\nok       Journal\nok       Objects\n"
		"ok       File system   has no leases (F_SETLEASE): nothing is written\n"
		"ok       File system   can do 2 of the \n");
}
END_TEST

/* Before attach nobody reads zeros; of a volume that is whole, neither. */
START_TEST(where_nothing_is_unfinished)
{
	is_told(0, "[volume]\nstate=unattached\n[guard]\nwanted=true\nguarded=false\n",
		"ok       Retriever\nwarning  Guard         is not running: it has to before "
		"attach; systemctl start migrate-guard@v\nok       Objects\n");
	is_told(0, "[volume]\nstate=unattached\n" GUARDED,
		"ok       Retriever\nok       Guard         is on\nok       Objects\n");
	is_told(0, "[volume]\nstate=whole\n[doors]\npast=true\n[guard]\nwanted=true\n" KNOWN,
		"ok       Retriever\nfault    Guard\nfault    Doors         a file server serves "
		"it without the layer: clients see .migrate; migratectl finalize v\n"
		"ok       Journal\nok       Objects\n");
	is_told(-ENOTCONN, "[guard]\nwanted=true\nguarded=false\n",
		"fault    Retriever     is not running\n");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("status");

	tcase_add_test(tcase, all_is_well);
	tcase_add_test(tcase, what_is_wrong_has_its_remedy);
	tcase_add_test(tcase, where_nothing_is_unfinished);
	tcase_add_test(tcase, what_the_file_system_can_do);
	return run_tcase(tcase);
}
