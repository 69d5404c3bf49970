/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A retriever whose new tree is a copy of the old one, made by cp: a volume that is finished. */
#ifndef TESTS_RETRIEVER_CORE_COPIED_H
#define TESTS_RETRIEVER_CORE_COPIED_H

#include "lib/report/omissions.h"
#include "tests/retriever/core_hook.h"

static inline void core_shell(struct core *core, const char *format)
{
	g_autofree char *command =
		g_strdup_printf("set -e; old=%s new=%s; %s", core->source, core->root, format);

	ck_assert_int_eq(system(command), 0);
}

/* a and b of 5000 bytes, d/c of 3 MiB and some, d/e empty; more: what a shell does to $old. */
static inline void core_copied(struct core *core, const char *more)
{
	core_make(core);
	core_source_file(core, "a", 5000, 1);
	core_source_file(core, "b", 5000, 2);
	core_source_file(core, "d/c", 3 * MIB + 17, 3);
	core_source_file(core, "d/e", 0, 4);
	if (more)
		core_shell(core, more);
	core_shell(core, "touch -d 2001-01-01 $old/d $old; cp -a $old/. $new/");
	int root = open(core->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(omissions_told(root, TOLD_KNOWN, true), 0); /* it was attached */
	close(root);
	core_open(core);
	ck_assert_int_eq(volume_state(core->retriever), VOLUME_FINISHED);
	core_run(core);
}

#endif
