/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Takes the place of this folder's other files where WITH_TAKEOVER is off. */
#include "fsal_migrate/takeover/takeover.h"

#include "log.h"

int mg_takeover_open(struct mg_export *export, const char *file)
{
	if (!file || !*file)
		return 0;
	LogMajor(COMPONENT_FSAL,
		 "Volume %s: Takeover: this module was built with -DWITH_TAKEOVER=OFF: install one "
		 "that was not, or take the line out",
		 export->volume->name);
	return -EBADMSG;
}

void mg_takeover_refresh(struct mg_export *export)
{
	(void)export;
}

void mg_takeover_tick(struct mg_volume *volume)
{
	(void)volume;
}

void mg_takeover_close(struct mg_export *export)
{
	(void)export;
}

void mg_takeover_end(void)
{
}
